#!/usr/bin/env python3
"""Asks accountants of other libraries for the epsilon of the settings that ours answers, and
writes one table: answer, side, width, time, and whether it lies outside our interval.

    python3 experiments/peers/accountants.py --out experiments/peers/accountants.md

It makes a virtual environment for each peer below --venvs, installs the pinned versions there,
and runs itself in it. What cannot be installed or imported is said, and its column is empty.
opake needs a newer Python than some have (3.13.0 does; 3.11.7 and 3.12.1 do not): give one with --opake-python.
"""
import argparse
import csv
import importlib.metadata
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT = 60  # seconds for one answer

# What is installed for each peer, and the package whose version the table names.
PEERS = {
    "dp_accounting": (["dp-accounting==0.6.0"], "dp-accounting"),
    "prv_accountant": (["prv-accountant==0.2.0"], "prv-accountant"),
    # The accountant's formulas alone: without PyTorch, which it would bring 2 GB of.
    "opacus": (["--no-deps", "opacus==1.6.0"], "opacus"),
    # The same: what it asks for besides is PyTorch.
    "opake": (["--no-deps", "opake-base==0.16.1", "opake-accounting==0.16.1", "opake-dpsgd==0.16.1"], "opake-accounting"),
    "pld_accounting": (["PLD_accounting==2.0"], "PLD_accounting"),
}


def dp_event(s):
    import dp_accounting as dp

    return dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(s["q"], dp.GaussianDpEvent(s["sigma"])), s["t"])


def dp_end(s, upper):
    """Returns one end of epsilon by dp_accounting's loss distributions."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    step = pld.from_gaussian_mechanism(s["sigma"], sampling_prob=s["q"], pessimistic_estimate=upper)
    return step.self_compose(s["t"]).get_epsilon_for_delta(s["delta"])


def dp_renyi(s):
    from dp_accounting import rdp

    return rdp.RdpAccountant().compose(dp_event(s)).get_epsilon(s["delta"])


def dp_accounting_answers(s):
    if s["k"]:
        return
    yield "dp_accounting pld", lambda: (dp_end(s, False), dp_end(s, True))
    yield "dp_accounting rdp", lambda: (None, dp_renyi(s))


def prv_accountant_answers(s):
    import prv_accountant as prv

    if s["k"]:
        return

    def interval():
        mechanism = prv.PoissonSubsampledGaussianMechanism(noise_multiplier=s["sigma"], sampling_probability=s["q"])
        account = prv.PRVAccountant(prvs=mechanism, max_self_compositions=s["t"], eps_error=0.01, delta_error=s["delta"] / 1000)
        lower, _, upper = account.compute_epsilon(s["delta"], [s["t"]])
        return lower, upper

    yield "prv_accountant", interval


def opacus_answers(s):
    import importlib.util

    if s["k"]:
        return
    spec = importlib.util.find_spec("opacus")
    path = os.path.join(spec.submodule_search_locations[0], "accountants", "analysis", "rdp.py")
    one = importlib.util.spec_from_file_location("opacus_rdp", path)
    rdp = importlib.util.module_from_spec(one)
    one.loader.exec_module(rdp)
    orders = [1 + x / 10 for x in range(1, 100)] + list(range(12, 64))  # RDPAccountant.DEFAULT_ALPHAS

    def renyi():
        cost = rdp.compute_rdp(q=s["q"], noise_multiplier=s["sigma"], steps=s["t"], orders=orders)
        return None, float(rdp.get_privacy_spent(orders=orders, rdp=cost, delta=s["delta"])[0])

    yield "opacus rdp", renyi


def opake_process(dpsgd, s):
    noise = dpsgd.gaussian(s["sigma"])
    if s["k"]:
        return dpsgd.k_out_of_t(noise, k=s["k"], t=s["t"], allocation="block")
    return dpsgd.poisson(noise, sample_rate=s["q"]) * s["t"]


def opake_answers(s):
    from opake.api.accounting import dpsgd

    yield "opake", lambda: (None, opake_process(dpsgd, s).epsilon_at(s["delta"]))


def pld_accounting_answers(s):
    import PLD_accounting
    from dp_accounting.pld import privacy_loss_distribution as pld

    def allocation():
        upper, lower = PLD_accounting.gaussian_allocation_epsilon_range(
            delta=s["delta"], sigma=s["sigma"], num_steps=s["t"], num_selected=s["k"])
        return lower, upper

    def sampled():
        whole = pld.from_gaussian_mechanism(s["sigma"])
        return None, PLD_accounting.subsample_pld(pld=whole, sampling_probability=s["q"]).self_compose(s["t"]).get_epsilon_for_delta(s["delta"])

    yield "PLD_accounting", allocation if s["k"] else sampled


ANSWERS = {"dp_accounting": dp_accounting_answers, "prv_accountant": prv_accountant_answers, "opacus": opacus_answers,
           "opake": opake_answers, "pld_accounting": pld_accounting_answers}


class TooLong(Exception):
    pass


def too_long(*_):
    raise TooLong(f"no answer within {LIMIT} s")


def timed(ask):
    """Returns one answer with the processor seconds that it took."""
    signal.signal(signal.SIGALRM, too_long)
    signal.alarm(LIMIT)
    start = time.process_time()
    try:
        lower, upper = ask()
        out = {end: None if x is None or not math.isfinite(x) else float(x) for end, x in (("lower", lower), ("upper", upper))}
        if out["upper"] is None:
            out["error"] = f"it answers {upper}"
    except Exception as e:  # what a peer raises is its answer
        out = {"lower": None, "upper": None, "error": f"{type(e).__name__}: {e}"[:200]}
    finally:
        signal.alarm(0)
    return dict(out, seconds=time.process_time() - start)


def worker(peer):
    """Answers the settings of standard input, a line of JSON each."""
    warnings.simplefilter("ignore")
    rows = json.load(sys.stdin)
    warm = dict(rows[0], sigma=1.5, t=10)
    for _, ask in ANSWERS[peer](warm):  # imports and caches are in nobody's time
        timed(ask)
    for s in rows:
        print(json.dumps([dict(timed(ask), name=name) for name, ask in ANSWERS[peer](s)]), flush=True)
    print(json.dumps(importlib.metadata.version(PEERS[peer][1])), flush=True)


def environment(peer, interpreter, home):
    """Makes a virtual environment for a peer, where there is none yet, and returns its Python."""
    python = os.path.join(home, "bin", "python")
    if not os.path.exists(python):
        subprocess.run([interpreter, "-m", "venv", home], check=True, capture_output=True, text=True)
    needs = PEERS[peer][0]
    if "--no-deps" in needs:
        subprocess.run([python, "-m", "pip", "install", "-q", "numpy", "scipy"], check=True, capture_output=True, text=True)
    subprocess.run([python, "-m", "pip", "install", "-q", *needs], check=True, capture_output=True, text=True)
    return python


def run_peer(peer, interpreter, venvs, rows):
    """Returns a peer's answers to each setting and its version, or why there are none."""
    try:
        python = environment(peer, interpreter, os.path.join(venvs, peer))
        command = [python, os.path.abspath(__file__), "--worker", peer]
        done = subprocess.run(command, input=json.dumps(rows), check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as e:
        why = (getattr(e, "stderr", "") or str(e)).strip().splitlines()
        return None, why[-1] if why else type(e).__name__
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return lines[:-1], f"{lines[-1]} on Python {python_version(python)}"


def python_version(python):
    return subprocess.run([python, "-c", "import platform; print(platform.python_version())"], capture_output=True, text=True).stdout.strip()


def number(x):
    return "" if x is None else f"{x:.6g}"


def verdict(a, ours):
    """Says where an answer lies by our certified interval."""
    if a["upper"] is None:
        return a.get("error", "")
    if a["name"].startswith("pate"):
        return ""
    if a["upper"] < ours["lower"]:
        return f"**below the truth** by at least {ours['lower'] - a['upper']:.2g}"
    if a["lower"] is not None and a["lower"] > ours["upper"]:
        return f"**lower end above the truth** by at least {a['lower'] - ours['upper']:.2g}"
    if a["upper"] > ours["upper"] * 1.01:
        return f"above by {100 * (a['upper'] / ours['lower'] - 1):.0f} %"
    return ""


def setting(s):
    if s["k"]:
        return f"{s['k']} of {s['t']:,} steps, σ {s['sigma']:g}, δ {s['delta']:g}"
    if s["q"] == 1:
        return f"all, σ {s['sigma']:g}, {s['t']:,} steps, δ {s['delta']:g}"
    return f"q {s['q']:g}, σ {s['sigma']:g}, {s['t']:,} steps, δ {s['delta']:g}"


def flat(ours, answered):
    """Returns a line for each setting and accountant: what the CSV file holds."""
    lines = []
    for i, row in enumerate(ours["rows"]):
        answers = list(row["answers"])
        for rows in answered.values():
            answers += rows[i] if rows else []
        lines += [{"n": i + 1, "setting": setting(row), "accountant": a["name"], "lower": number(a["lower"]), "upper": number(a["upper"]),
                   "seconds": f"{a['seconds']:.3g}", "note": verdict(a, row["answers"][0])} for a in answers]
    return lines


def table(lines, versions):
    """Returns the page: a summary of each accountant, and the answers that are wrong."""
    names = list(dict.fromkeys(line["accountant"] for line in lines))
    out = ["# Epsilon by six accountants", "",
           "Written by `python3 experiments/peers/accountants.py --out experiments/peers/accountants.md`; [README.md](README.md) explains it.",
           "All answers to the thirty settings are in [accountants.csv](accountants.csv). \"None\" counts settings without an answer within a minute.", ""]
    out += ["Versions: " + "; ".join(f"{name} {text}" for name, text in versions.items()) + ".", ""]
    out += ["| accountant | answers | none | wrong side | upper end over ours, median | worst | seconds in all |", "|---|---|---|---|---|---|---|"]
    mine = {line["n"]: float(line["upper"]) for line in lines if line["accountant"] == "pate pld"}
    for name in names:
        of = [line for line in lines if line["accountant"] == name]
        above = sorted(float(line["upper"]) / mine[line["n"]] - 1 for line in of if line["upper"] and mine[line["n"]]) or [math.nan]
        seconds = sum(x for x in (float(line["seconds"]) for line in of) if math.isfinite(x))
        out.append(f"| {name} | {len(of)} | {sum(not line['upper'] for line in of)} | {sum(line['note'].startswith('**') for line in of)} | "
                   f"{100 * above[len(above) // 2]:.2g} % | {100 * above[-1]:.3g} % | {seconds:.3g} |")
    wrong = [line for line in lines if line["note"].startswith("**")]
    out += [""] + [f"{line['accountant']}, {line['setting']}: {line['upper']}, {line['note']}." for line in wrong]
    return "\n".join(out) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", help="the table; standard output if it is left out")
    parser.add_argument("--venvs", help="where the virtual environments are made (default: a temporary folder)")
    parser.add_argument("--opake-python", default=sys.executable, help="the Python that opake runs on")
    parser.add_argument("--ours", help="answers that were written before, in place of running `go run -tags peers ./ours settings`")
    parser.add_argument("--worker", choices=sorted(PEERS), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        return worker(args.worker)
    if args.ours:
        with open(args.ours) as f:
            ours = json.load(f)
    else:
        ours = json.loads(subprocess.run(["go", "run", "-tags", "peers", "./ours", "settings"], cwd=HERE, check=True, capture_output=True, text=True).stdout)
    rows = [{key: row[key] for key in ("q", "k", "sigma", "t", "delta")} for row in ours["rows"]]
    answered, versions = {}, {}
    with tempfile.TemporaryDirectory() as temporary:
        for peer in PEERS:
            print(f"{peer} ...", file=sys.stderr, flush=True)
            interpreter = args.opake_python if peer == "opake" else sys.executable
            answered[peer], text = run_peer(peer, interpreter, args.venvs or temporary, rows)
            versions[peer] = text if answered[peer] else f"absent: {text}"
    lines = flat(ours, answered)
    text = table(lines, {"pate": f"{ours['version']}, {ours['go']}", **versions})
    if args.out:
        with open(os.path.splitext(args.out)[0] + ".csv", "w", newline="") as f:
            writer = csv.DictWriter(f, lines[0].keys(), lineterminator="\n")
            writer.writeheader()
            writer.writerows(lines)
        with open(args.out, "w") as f:
            f.write(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
