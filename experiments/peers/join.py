"""Joins the timings of Opacus with those of this module's benchmarks.

    join.py opacus.json [bench.txt]

opacus.json is what opacus_throughput.py wrote, bench.txt what go test -bench
printed. Prints the tables of README.md. Benchmarks that ran several times count
with the median. Needs Python's own library only.
"""

import argparse
import json
import re
import statistics

NAME = re.compile(r"Benchmark(?:Throughput|PeakMemory)/(?P<model>[^/]+)/batch-(?P<batch>\d+)/(?P<mode>private|non-private)(?:-\d+)?$")


def read_benchmarks(lines):
    """Returns {(model, mode, batch): {unit: median}}.

    A name is BenchmarkThroughput/MODEL/batch-N/MODE, or BenchmarkPeakMemory in its
    place; mode is private or non-private.
    """
    seen = {}
    for line in lines:
        fields = line.split()
        name = NAME.match(fields[0]) if len(fields) >= 4 else None
        if not name:
            continue
        key = name["model"], name["mode"], int(name["batch"])
        for value, unit in zip(fields[2::2], fields[3::2]):
            seen.setdefault(key, {}).setdefault(unit, []).append(float(value))
    return {key: {unit: statistics.median(v) for unit, v in units.items()} for key, units in seen.items()}


def number(v):
    if v is None:
        return "-"
    digits = 2 if v < 9.95 else 1 if v < 99.5 else 0
    return f"{v:,.{digits}f}"


def kilo(v):
    return "-" if v is None else number(v / 1000) + "k"


def ratio(a, b):
    return "-" if a is None or not b else number(a / b)


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|---|" + "---:|" * (len(header) - 1)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def join(opacus, benchmarks):
    """Returns the tables as Markdown."""
    theirs = {(t["model"], t["method"]): t["samples_per_second"] for t in opacus["throughput"]}
    models = list(dict.fromkeys(t["model"] for t in opacus["throughput"]))
    disturbed = {(t["model"], t["method"]) for t in opacus["throughput"] if t["disturbed"]}

    def star(text, model, method):
        return text + " *" if (model, method) in disturbed else text

    rows = []
    for m in models:
        private, plain = (benchmarks.get((m, mode, opacus["batch"]), {}).get("samples/s") for mode in ("private", "non-private"))
        ghost, hooks, torch = (theirs.get((m, method)) for method in ("ghost", "hooks", "plain"))
        rows.append([
            m, kilo(private), kilo(plain), ratio(plain, private),
            star(kilo(ghost), m, "ghost"), star(kilo(hooks), m, "hooks"), star(kilo(torch), m, "plain"),
            ratio(torch, ghost), ratio(torch, hooks),
            ratio(private, ghost), ratio(private, hooks),
        ])
    out = [table(
        ["samples/s", "pate", "plain", "plain/pate", "ghost", "hooks", "torch", "torch/ghost", "torch/hooks", "pate/ghost", "pate/hooks"], rows)]
    if disturbed:
        out.append("\\* Other programs were at work: the machine can do more.")
    peaks = {(t["model"], t["batch"], t["method"]): t["peak_mb"] for t in opacus["memory"]}
    cases = list(dict.fromkeys(key[:2] for key in peaks))
    rows = [[
        f"{m}, batch {b}", number(benchmarks.get((m, "private", b), {}).get("peak-MB")),
        *(number(peaks.get((m, b, method))) for method in ("ghost", "hooks", "plain")),
    ] for m, b in cases]
    if rows:
        out.append(table(["peak MB above the data", "pate", "ghost", "hooks", "torch"], rows))
    return "\n\n".join(out)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("opacus")
    p.add_argument("benchmarks", nargs="?")
    args = p.parse_args()
    with open(args.opacus) as f:
        opacus = json.load(f)
    benchmarks = {}
    if args.benchmarks:
        with open(args.benchmarks) as f:
            benchmarks = read_benchmarks(f)
        if not benchmarks:
            raise SystemExit(f"join.py: {args.benchmarks} has no benchmark of these")
    print(join(opacus, benchmarks))


if __name__ == "__main__":
    main()
