"""Makes the tables of README.md from what table.py measured."""

import statistics

BEGIN, END = "<!-- table.py writes from here -->\n", "<!-- to here -->\n"
BUSY = 0.05  # a row has no ratio where others used more of the processors
TRAINING = {"plain": "plain", "torch": "PyTorch", "ghost": "ghost", "hooks": "hooks"}


def number(v):
    """Returns three digits at most, and no zero before the point."""
    digits = 2 if v < 9.95 else 1 if v < 99.5 else 0
    text = f"{v:,.{digits}f}"
    return text[1:] if text.startswith("0.") else text


def kilo(v):
    return f"{number(v / 1000)}k" if v >= 1000 else number(v)


def rates(cell, engine, result):
    """Returns work per second of the processor, or in training with more threads on the wall, in every turn."""
    wall = cell["part"] == "training" and result["options"]["threads"] > 1
    return [turn[0] / turn[1 if wall else 2] for turn in cell["engines"][engine]["turns"]]


def faster(cell, result):
    """Returns the faster of eager and compiled PyTorch."""
    have = [e for e in ("torch", "compiled") if "turns" in cell["engines"].get(e, {})]
    return max(have, key=lambda e: statistics.median(rates(cell, e, result)), default="torch")


def ratio(cell, engine, result):
    """Returns the median of ours over another's with its range, or why there is none."""
    theirs = cell["engines"].get(engine)
    if theirs is None:
        return "-"
    if "why" in theirs:
        return theirs["why"]
    if busy(cell):
        return "busy"
    each = [a / b for a, b in zip(rates(cell, "pate", result), rates(cell, engine, result))]
    middle = number(statistics.median(each))
    return middle if engine == "plain" else f"{middle} ({number(min(each))}-{number(max(each))})"


def rate(cell, result):
    return statistics.median(rates(cell, "pate", result))


def line(cell, result):
    """Returns a cell in words, for who waits."""
    names = [e for e in cell["engines"] if e != "pate" and cell.get("do") != "score"]
    words = [f"{e} {ratio({**cell, 'others': 0}, e, result)}" for e in names]
    return " | ".join([" ".join(str(cell[k]) for k in ("row", "batch", "do") if k in cell), *words, others([cell])])


def others(cells):
    """Returns what others used of the processors, in words."""
    shares = [c["others"] for c in cells if c["others"] is not None]
    if not shares:
        return "what others used of the processors is not known"
    least, most = f"{min(shares):.0%}", f"{max(shares):.0%}"
    return f"others used {least if least == most else least + '-' + most} of the processors"


def busy(cell):
    return (cell["others"] or 0) > BUSY


def table(header, rows):
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "\n".join("|" + "|".join(r) + "|" for r in lines)


def training_ratio(cell, engine, result):
    """Returns the ratio of a column, with a c after it where compiled PyTorch was the faster."""
    best = faster(cell, result) if engine == "torch" else engine
    return ratio(cell, best, result) + (" c" if best == "compiled" and not busy(cell) else "")


def training(cells, result):
    for batch in dict.fromkeys(c["batch"] for c in cells):
        rows = [[c["row"], kilo(rate(c, result)), *(training_ratio(c, e, result) for e in TRAINING)] for c in cells if c["batch"] == batch]
        yield table([f"batch {batch:,}", "samples/s", *TRAINING.values()], rows)
    largest = max(c["batch"] for c in cells)
    columns = {"pate": "pate", **TRAINING}

    def peak(c, e):
        engine = c["engines"].get(e, {})
        return engine.get("why") or (number(engine["said"]["peak_mb"]) if "said" in engine else "-")

    rows = [[c["row"], *(peak(c, e) for e in columns)] for c in cells if c["batch"] == largest]
    yield table([f"peak MB, batch {largest:,}", *columns.values()], rows)


def products(cells, result):
    yield table(["product", "GFLOP/s", "NumPy"], [[c["row"], number(rate(c, result)), ratio(c, "numpy", result)] for c in cells])


def teachers(cells, result):
    yield lessons(f"{result['options']['shares']} teachers", "plurality", cells, result)


def forests(cells, result):
    for kind in dict.fromkeys(c["kind"] for c in cells):
        yield lessons(kind, "one", [c for c in cells if c["kind"] == kind], result)


def lessons(title, score, cells, result):
    """Returns a table of fits, predictions and what they scored, in percent."""
    rows = []
    for row in dict.fromkeys(c["row"] for c in cells):
        by = {c["do"]: c for c in cells if c["row"] == row}
        if set(by) < {"fit", "predict"}:
            continue
        scored = by.get("score", by["predict"])["engines"]
        said = [scored.get(e, {}).get("said") for e in ("pate", "scikit-learn")]
        fit, predict = (ratio(by[do], "scikit-learn", result) for do in ("fit", "predict"))
        if score == "one":  # many rows, of few turns: medians alone
            fit, predict = fit.split()[0], predict.split()[0]
        rows.append([row, number(1e3 / rate(by["fit"], result)), fit, number(1e6 / rate(by["predict"], result)), predict,
                     "/".join(f"{100 * s[score]:.2f}" if s else "-" for s in said)])
    return table([title, "fit, ms", "scikit-learn", "query, µs", "scikit-learn", "right, %" if score == "one" else "plurality, %"], rows)


def accounting(cells, result):
    rows = [[c["row"], number(1e3 / rate(c, result)), ratio(c, "dp_accounting", result), ratio(c, "opake", result)] for c in cells]
    yield table(["accounting", "pate, ms", "dp_accounting", "opake"], rows)


def heading(result, before):
    """Returns what was measured, on what, and how, as far as the table before does not say."""
    o = result["options"]
    clock = "one thread, processor time" if o["threads"] == 1 else f"{o['threads']} threads in training and time on the wall"
    machine = ", ".join(x for x in (result["processor"], result["instructions"], f"{result['cores']} cores", result["system"]) if x)
    packages = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    told = f"pate {result['commit']}, {result['go']}; {packages}."
    lines = [
        f"**{result['date']}; {machine}; {clock}.**",
        *([] if before and told in before else [told]),
        f"Medians and ranges of {o['rounds']} turns; {others(result['cells'])}.",
    ]
    if result["checks"]:
        noise, error = [c["noise"] for c in result["checks"]], max(c["error"] for c in result["checks"])
        lines.append(f"Clipping of Opacus is within {error:.1g} of explicit gradients, "
                     f"its noise {min(noise):.3f} to {max(noise):.3f} of its deviation.")
    return "\n".join(lines)


def tables(results):
    """Returns everything as Markdown, one machine after the other."""
    out = []
    for result in results:
        out.append(heading(result, out[0] if out else ""))
        for make in (training, products, teachers, forests, accounting):
            cells = [c for c in result["cells"] if c["part"] == make.__name__]
            if cells:
                out += make(cells, result)
    return "\n\n".join(out) + "\n"


def write_into(path, text):
    """Puts the tables between the two marks of a page."""
    with open(path, encoding="utf-8") as f:
        before, rest = f.read().split(BEGIN)
    with open(path, "w", encoding="utf-8") as f:
        f.write(before + BEGIN + text + END + rest.split(END)[1])
