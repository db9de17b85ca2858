"""Takes turns with engines of a line or two, and checks what is kept."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from turns import Turns, repeat  # noqa: E402

HERE = "import sys, time; sys.path.insert(0, sys.argv[1]); import turns; turns.serve(lambda q: {})"


def engine(answer):
    return [sys.executable, "-B", "-c", HERE.format(answer), sys.path[0]]


def want(got, expected):
    if got != expected:
        raise SystemExit(f"{got!r}, want {expected!r}")


right = engine("{'work': q['n'], 'wall': 1, 'processor': 0.25, 'peak_mb': 7 / 3}")
commands = {
    "right": right,
    "broken": engine("{}['nothing']"),
    "refuses": engine("{'error': '> 8 GB'}"),
}
sys.stderr.flush()
with open(os.devnull, "w") as nowhere:
    os.dup2(nowhere.fileno(), 2)  # what "broken" says of its end
with Turns(commands, limit=600) as turns:
    turns.ask(None, {"n": 1})
    turns.join("late", right)
    turns.ask("cell", {"n": 2})
    turns.ask("cell", {"n": 3})
    want(sorted(turns.running), ["late", "right"])
kept = {"turns": [[2, 1, 0.25], [3, 1, 0.25]], "said": {"peak_mb": 2.33333}}
want(turns.cells["cell"], {
    "right": kept, "late": kept, "broken": {"why": "failed"}, "refuses": {"why": "> 8 GB"},
})
want(turns.running, {})

with Turns({"slow": engine("time.sleep(600)")}, limit=0.1) as turns:
    turns.ask("cell", {})
want(turns.cells["cell"], {"slow": {"why": "> 0.1 s"}})

with Turns({"one": right, "spent": right}, limit=600) as turns:
    turns.spent["spent"] = 601
    for n in (1, 2):
        turns.ask("cell", {"n": n})
want([len(turns.cells["cell"][name]["turns"]) for name in ("one", "spent")], [2, 1])

timing = repeat(0, lambda: 5)
want(timing["work"], 5)
