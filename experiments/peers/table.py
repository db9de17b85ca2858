#!/usr/bin/env python3
"""Measures this module beside PyTorch, Opacus, NumPy, scikit-learn, dp_accounting and opake, by
turns in one run, and prints the tables of README.md.

    table.py [--venv [DIR]] [--out table.json] [--readme]     measure
    table.py --from table.json... [--readme]                  print what was measured

Every engine is a process that waits between its turns; a ratio is the median over the turns. With
one thread it is of processor time, which other programs disturb less; with more, of time on the
wall. What is missing in the environment is left out and said. --out keeps every timing. --readme
also writes the tables of every table*.json beside this file, one for each machine, into README.md.
"""

import argparse
import glob
import json
import os
import platform
import subprocess
import sys
import tempfile
import time

import accountants
import render
from forests import TABLES
from training import METHODS, NETS, OPACUS
from turns import ONE_THREAD, Turns

HERE = os.path.dirname(os.path.abspath(__file__))
README = os.path.join(HERE, "README.md")
PARTS = ["training", "products", "teachers", "forests", "accounting"]
PRODUCTS = [
    ("forward", 256, 1000, 784), ("gradient", 1000, 784, 256), ("forward", 64, 128, 784),
    ("gradient", 128, 784, 64), ("forward", 512, 512, 512), ("gradient", 512, 512, 512),
]
ROWS = {"q": 0.01, "k": 0, "sigma": 1, "t": 1000, "delta": 1e-5, "epsilon": 0}
ACCOUNTING = {
    "RDP, 1,000 steps": {**ROWS, "method": "rdp"},
    "PLD, 1,000 steps": {**ROWS, "method": "pld"},
    "PLD, 10,000 steps": {**ROWS, "method": "pld", "t": 10_000},
    "PLD, 100,000 steps": {**ROWS, "method": "pld", "t": 100_000},
    "noise for ε 2, RDP": {**ROWS, "method": "rdp", "epsilon": 2},
    "noise for ε 2, PLD": {**ROWS, "method": "pld", "epsilon": 2},
    "random 1 of 100 steps": {**ROWS, "method": "pld", "q": 0, "k": 1, "t": 100},
}
SHARES, LESSONS = 250, 10
FORESTS = ["random forest", "extra trees"]
# PyTorch allocates large tensors anew in every step: glibc would ask the system for each, and clear its pages.
ALLOCATOR = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40)}
PACKAGES = ["torch", "opacus", "numpy", "scikit-learn", "dp-accounting"]


def say(*words):
    print(*words, file=sys.stderr, flush=True)


def cache_folder():
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "pate", "peers")


def environments(args):
    """Returns the Python of the peers and that of opake, made where --venv asks for it."""
    if not args.venv:
        return sys.executable, sys.executable
    home = os.path.abspath(args.venv)
    python = os.path.join(home, "bin", "python")
    if not os.path.exists(python):
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
    subprocess.run([python, "-m", "pip", "install", "-q", "-r", os.path.join(HERE, "requirements.txt")], check=True)
    return python, accountants.environment("opake", args.opake_python, os.path.join(home, "opake"))


def versions(python, packages):
    """Returns the versions of the packages that an interpreter finds."""
    code = ("import importlib.metadata as m, json, sys\nout = {}\nfor p in sys.argv[1:]:\n"
            " try: out[p] = m.version(p)\n except m.PackageNotFoundError: pass\nprint(json.dumps(out))")
    return json.loads(subprocess.run([python, "-c", code, *packages], check=True, capture_output=True, text=True).stdout)


def imports(python, module):
    return subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0


def processor():
    """Returns the processor with its caches, and the widest of its vector instructions that matter here."""
    name, widest, caches = platform.processor() or platform.machine(), "", ""
    try:
        with open("/proc/cpuinfo") as f:
            said = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in f)}
        name = f"{said['model name']} (family {said['cpu family']}, model {said['model']})"
        widest = next((w for flag, w in (("avx512f", "AVX-512"), ("avx2", "AVX2")) if flag in said["flags"].split()), "")
        for level in (2, 3):
            with open(f"/sys/devices/system/cpu/cpu0/cache/index{level}/size") as f:
                kilobytes = int(f.read().strip().rstrip("K"))
            caches += f", L{level} {kilobytes // 1024} MB" if kilobytes >= 1024 else f", L{level} {kilobytes} KB"
    except (OSError, KeyError, ValueError):
        pass
    return name + caches, widest


def training(args, ours, python):
    """Yields the cells of the networks."""
    have = versions(python, PACKAGES)
    methods = [m for m in args.methods if "torch" in have and (m not in OPACUS or "opacus" in have)]
    threads = ["--threads", str(args.threads)]
    environment = {**dict.fromkeys(ONE_THREAD, str(args.threads)), **ALLOCATOR}
    for batch in args.batches:
        for net in args.nets:
            own = [ours, "-threads", str(args.threads), "-net", net, "-batch", str(batch)]
            commands = {"pate": [*own, "-private", "train"], "plain": [*own, "train"]}
            script = os.path.join(HERE, "training.py")
            commands |= {m: [python, script, net, m, str(batch), *threads, "--feed", args.feed, "--memory", str(args.memory)] for m in methods}
            with Turns(commands, args.limit, environment) as turns:
                for r in range(args.rounds + 1):
                    turns.ask("cell" if r else None, {"seconds": args.seconds})
            yield {"part": "training", "row": net, "batch": batch, "others": turns.share(), "engines": turns.cells["cell"]}


def products(args, ours, python):
    """Yields the cells of the matrix products."""
    commands = {"pate": [ours, "products"]}
    if "numpy" in versions(python, PACKAGES):
        commands["numpy"] = [python, os.path.join(HERE, "products.py")]
    for kind, m, n, k in PRODUCTS:
        with Turns(commands, args.limit) as turns:
            for r in range(args.rounds + 1):
                turns.ask("cell" if r else None, {"kind": kind, "m": m, "n": n, "k": k, "seconds": args.seconds / 2})
        yield {"part": "products", "row": f"{kind} {m} x {n}, {k} terms", "others": turns.share(), "engines": turns.cells["cell"]}


def teachers(args, ours, python):
    """Yields the cells of the teachers: fits, predictions, accuracies."""
    have = "scikit-learn" in versions(python, PACKAGES)
    for extractor in ("pixels", "hog"):
        with tempfile.TemporaryDirectory() as folder:
            prepare = [ours, "-features", extractor, "-shares", str(args.shares), "-folder", folder, "teachers"]
            with Turns({"pate": prepare}, args.limit * LESSONS) as turns:
                if have:  # who needs the rows that ours has written by now
                    turns.join("scikit-learn", [python, os.path.join(HERE, "teachers.py"), folder])
                for learner in ("softmax", "kernel-ridge"):
                    turns.ask(None, {"learner": learner, "do": "fit", "from": 0, "to": 1})
                    turns.ask(None, {"do": "predict"})
                    for r in range(LESSONS):
                        share = {"learner": learner, "from": r * args.shares // LESSONS, "to": (r + 1) * args.shares // LESSONS}
                        turns.ask(learner + " fit", {**share, "do": "fit"})
                        turns.ask(learner + " predict", {"do": "predict"})
                    turns.ask(learner + " score", {"do": "score"})
                    for do in ("fit", "predict", "score"):
                        yield {"part": "teachers", "row": f"{extractor}, {learner}", "do": do, "others": turns.share(),
                               "engines": turns.cells[f"{learner} {do}"]}


def forests(args, ours, python):
    """Yields the cells of the forests: fits, predictions, accuracies."""
    if not args.tables or "scikit-learn" not in versions(python, PACKAGES):
        say("forests: no --tables or no scikit-learn: left out")
        return
    script = os.path.join(HERE, "forests.py")
    for table in TABLES:
        if not os.path.exists(os.path.join(args.tables, table + ".csv")):
            say(f"forests: no {table}.csv in {args.tables}: left out")
            continue
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([python, script, "prepare", args.tables, table, folder], check=True)
            with open(os.path.join(folder, "shape.json")) as f:
                most = json.load(f)["rows"]
            commands = {"pate": [ours, "-folder", folder, "forests"], "scikit-learn": [python, script, folder]}
            for rows in (50, 500, 5000):
                for kind in FORESTS:
                    with Turns(commands, args.limit) as turns:
                        for r in range(args.rounds + 1):
                            for do in ("fit", "predict"):
                                question = {"kind": kind, "do": do, "share": r, "rows": min(rows, most), "seconds": args.seconds / 2}
                                turns.ask(do if r else None, question)
                    for do in ("fit", "predict"):
                        yield {"part": "forests", "kind": kind, "row": f"{table} {min(rows, most):,}", "do": do,
                               "others": turns.share(), "engines": turns.cells[do]}


def accounting(args, ours, python, opake_python):
    """Yields the cells of the accountants."""
    commands = {"pate": [ours, "account"]}
    script = os.path.join(HERE, "accounting.py")
    if "dp-accounting" in versions(python, PACKAGES):
        commands["dp_accounting"] = [python, script, "dp_accounting"]
    if imports(opake_python, "opake.api.accounting.dpsgd"):
        commands["opake"] = [opake_python, script, "opake"]
    for row, question in ACCOUNTING.items():
        with Turns(commands, args.limit) as turns:
            for r in range(args.rounds + 1):
                turns.ask("cell" if r else None, {**question, "seconds": args.seconds / 2})
        yield {"part": "accounting", "row": row, "others": turns.share(), "engines": turns.cells["cell"]}


def measure(args):
    """Returns what was measured."""
    python, opake_python = environments(args)
    have = versions(python, PACKAGES)
    opake = versions(opake_python, ["opake-accounting"]) if imports(opake_python, "opake.api.accounting.dpsgd") else {}
    missing = [p for p in PACKAGES if p not in have] + (["opake (Python 3.13)"] if not opake else [])
    if missing:
        say(f"{python} lacks {', '.join(missing)}: left out. `--venv` installs requirements.txt beside this file.")
    name, widest = processor()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=HERE, capture_output=True, text=True).stdout.strip()
    result = {
        "schema": "peers.table/1", "date": time.strftime("%Y-%m-%d"), "processor": name, "instructions": widest,
        "cores": os.cpu_count(), "system": platform.system(), "commit": commit,
        "go": subprocess.run(["go", "env", "GOVERSION"], check=True, capture_output=True, text=True).stdout.strip(),
        "versions": {**versions_of_python(python), **have, **opake},
        "options": {k: getattr(args, k) for k in ("threads", "rounds", "seconds", "limit", "memory", "feed", "shares")},
        "checks": [], "cells": [],
    }
    if "training" in args.parts and "opacus" in have and set(args.methods) & set(OPACUS):
        done = subprocess.run([python, os.path.join(HERE, "training.py"), "check"], check=True, stdout=subprocess.PIPE, text=True)
        result["checks"] = json.loads(done.stdout.splitlines()[-1])
        say("checked: clipping within", max(c["error"] for c in result["checks"]), "of explicit gradients")
    with tempfile.TemporaryDirectory() as folder:
        ours = os.path.join(folder, "ours")
        subprocess.run(["go", "build", "-tags", "peers", "-o", ours, "./ours"], cwd=HERE, check=True)
        start = time.monotonic()
        parts = {"training": training, "products": products, "teachers": teachers, "forests": forests}
        for part in args.parts:
            cells = accounting(args, ours, python, opake_python) if part == "accounting" else parts[part](args, ours, python)
            for cell in cells:
                if "why" in cell["engines"]["pate"]:
                    raise SystemExit(f"{cell['row']}: our own engine: {cell['engines']['pate']['why']}")
                result["cells"].append(cell)
                say(f"{time.monotonic() - start:5.0f} s  {render.line(cell, result)}")
                if args.out:
                    save(result, args.out)
    return result


def versions_of_python(python):
    out = subprocess.run([python, "-c", "import platform; print(platform.python_version())"], check=True, capture_output=True, text=True)
    return {"Python": out.stdout.strip()}


def save(result, path):
    """Writes a line for every check and cell."""
    head = json.dumps({k: v for k, v in result.items() if k not in ("checks", "cells")}, indent=1)[:-2]
    with open(path, "w") as f:
        f.write(head)
        for key in ("checks", "cells"):
            f.write(f',\n "{key}": [\n' + ",\n".join("  " + json.dumps(one) for one in result[key]) + "\n ]")
        f.write("\n}\n")


def load(path):
    with open(path) as f:
        return json.load(f)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--venv", nargs="?", const=cache_folder(), metavar="DIR",
                   help=f"install requirements.txt into a virtual environment, made if need be (default {cache_folder()})")
    p.add_argument("--opake-python", default=sys.executable, metavar="PYTHON", help="a Python of 3.13 or later for opake's environment")
    p.add_argument("--out", metavar="FILE.json", help="keep everything here")
    p.add_argument("--from", dest="recorded", nargs="+", metavar="FILE.json", help="print what was kept")
    p.add_argument("--readme", action="store_true", help="write the tables into README.md, too")
    p.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    p.add_argument("--threads", type=int, default=1, help="of training on either side (default 1)")
    p.add_argument("--rounds", type=int, default=7, help="turns that count, after one that does not (default 7)")
    p.add_argument("--seconds", type=float, default=0.3, help="least length of a turn (default 0.3)")
    p.add_argument("--limit", type=float, default=20, help="seconds for an answer, and for the turns of an engine in a cell (default 20)")
    p.add_argument("--memory", type=float, default=8, help="GB of data for PyTorch and Opacus (default 8)")
    p.add_argument("--nets", nargs="+", choices=NETS, default=NETS)
    p.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    p.add_argument("--batches", nargs="+", type=int, default=[1024, 4096])
    p.add_argument("--feed", choices=["batch", "poisson"], default="batch", help="Opacus' data: one batch kept in memory, or its loader")
    p.add_argument("--tables", metavar="DIR", help="tables of tables.py as CSV files, for forests")
    p.add_argument("--shares", type=int, default=SHARES, help=f"teachers (default {SHARES})")
    args = p.parse_args()
    if not args.recorded:
        result = measure(args)
        if args.out:
            save(result, args.out)
    print(render.tables([load(path) for path in args.recorded] if args.recorded else [result]), end="")
    if args.readme:
        render.write_into(README, render.tables([load(path) for path in sorted(glob.glob(os.path.join(HERE, "table*.json")))]))


if __name__ == "__main__":
    main()
