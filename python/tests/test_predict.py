"""docs/predict.py answers as the program does, for every form that a column may have."""

import csv
import importlib.util
import random
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd

import pate_go

DATES = {
    "2006-01-02": "%Y-%m-%d", "2006-01-02 15:04:05": "%Y-%m-%d %H:%M:%S", "2006-01-02T15:04:05": "%Y-%m-%dT%H:%M:%S",
    "2006-01-02T15:04:05Z07:00": "%Y-%m-%dT%H:%M:%S+01:00", "2006-01-02 15:04": "%Y-%m-%d %H:%M", "2006/01/02": "%Y/%m/%d",
    "02.01.2006": "%d.%m.%Y", "02/01/2006": "%d/%m/%Y", "01/02/2006": "%m/%d/%Y", "02-01-2006": "%d-%m-%Y",
    "2 Jan 2006": "%e %b %Y", "02-Jan-2006": "%d-%b-%Y", "Jan 2, 2006": "%b %e, %Y",
}

WORDS = ["Herz", "fever", "Übelkeit", "12", "and", "x", "第二章", "naïve_cough"]
ODD = ["", "unheard", "HERZ herz fever", "n.a.", "ÜBELKEIT-12!", "fever " * 10_001 + "12", "a" * 41 + " Herz"]


def test_predict_py_answers_as_the_program(tmp_path: Path) -> None:
    draw = random.Random(1)

    def row() -> list[str]:
        out = []
        for form in DATES.values():
            day = datetime(2024, 1, 13) + timedelta(days=draw.randrange(300), seconds=draw.randrange(86400))
            if form.startswith("%m/"):
                day = day.replace(day=draw.randrange(13, 28))  # or it would be a date with the day first
            out.append(day.strftime(form).strip().replace("  ", " "))
        return [*out, f"{draw.gauss(1700, 400):.1f}", f"{draw.gauss(1700, 400):,.1f}".translate(str.maketrans(",.", ".,")), draw.choice(["heart", "surgery", ""]), f"{draw.gauss(9, 3):.1f}", " ".join(draw.choices(WORDS, k=6))]

    table = [row() for _ in range(60)]
    table[3][-2], table[5][-2], table[7][-2] = "<0,6", "n.a.", "-"
    with open(tmp_path / "rows.csv", "w", newline="") as file:
        csv.writer(file).writerows([[*DATES, "number", "comma", "ward", "lab", "note"], *table])
    with open(tmp_path / "labels.csv", "w", newline="") as file:
        csv.writer(file).writerows([["query", "label"], *([i, int(cells[0] > "2024-06")] for i, cells in enumerate(table))])
    new = [row() for _ in range(40)] + [["5.1.2024"] * len(DATES) + ["1.700,5", "1700.5", "other", lab, note] for lab, note in zip(("14,5", "> 20", "≤5", "n.a.", "-", "1,234", "word"), ODD, strict=True)] + [["?"] * (len(DATES) + 5)]
    with open(tmp_path / "new.csv", "w", newline="") as file:
        csv.writer(file).writerows([[*DATES, "number", "comma", "ward", "lab", "note"], *new])
    model = tmp_path / "student.model"
    pate_go.run("student", tmp_path / "rows.csv", labels=[tmp_path / "labels.csv"], header="yes", classes=2, missing="n.a.", text="note", out=model, export=tmp_path / "student.json", verbose=False)
    answers = pate_go.run("predict", model, tmp_path / "new.csv", probability=True, verbose=False)["predictions"]
    frame = pd.read_csv(tmp_path / "new.csv", dtype=str, keep_default_na=False)
    np.testing.assert_array_equal(pate_go.predict(model, frame), [a["label"] for a in answers])
    np.testing.assert_array_equal(pate_go.predict(model, frame, probability=True), [a["probabilities"] for a in answers])
    spec = importlib.util.spec_from_file_location("predict", Path(__file__).parents[2] / "docs" / "predict.py")
    assert spec is not None and spec.loader is not None
    predict = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(predict)
    for path in (model, tmp_path / "student.json"):
        document = predict.load(path)
        columns = document["rows"]["encoder"]
        assert [c["date"] for c in columns if "date" in c] == list(DATES) and [c["name"] for c in columns if c.get("decimal_comma")] == ["comma"]
        np.testing.assert_allclose(predict.predict(document, str(tmp_path / "new.csv")), [a["probabilities"] for a in answers], atol=1e-6)


def test_predict_py_adds_cosines(tmp_path: Path) -> None:
    draw = np.random.default_rng(1)
    rows = draw.normal(size=(900, 2))
    frame = pd.DataFrame({"a": rows[:, 0], "b": rows[:, 1], "ring": np.where(np.hypot(*rows.T) < 1.2, "in", "out")})
    frame[:700].to_csv(tmp_path / "private.csv", index=False)
    frame[["a", "b"]][700:].to_csv(tmp_path / "new.csv", index=False)
    report = pate_go.run("publish", tmp_path / "private.csv", public=tmp_path / "new.csv", label="ring", class_names="in,out", unit="none", size=700, epsilon=8, seed=1, method="dpsgd", out=tmp_path / "run", verbose=False)
    assert report["training"]["features"].startswith("raw+cosines:")
    model = next((tmp_path / "run").rglob("student.model"))
    answers = pate_go.run("predict", model, tmp_path / "new.csv", probability=True, verbose=False)["predictions"]
    assert np.mean(frame["ring"][700:].to_numpy() == [a["label"] for a in answers]) > 0.85  # a constant: 0.51
    spec = importlib.util.spec_from_file_location("predict", Path(__file__).parents[2] / "docs" / "predict.py")
    assert spec is not None and spec.loader is not None
    predict = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(predict)
    np.testing.assert_allclose(predict.predict(predict.load(model), str(tmp_path / "new.csv")), [a["probabilities"] for a in answers], atol=1e-6)
