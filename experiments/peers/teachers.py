"""Fits teachers by scikit-learn, an engine of turns.py.

    teachers.py FOLDER

FOLDER has what `ours teachers` writes: rows, labels, and the parameters of the learners. They
minimise what ours do. Logistic regression has a column of ones in place of an intercept, so
that the penalty is on the same parameters; C is one over rows times L2.
"""

import json
import sys
import time

import numpy
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression

import turns

CLASSES = 10


class Softmax:
    def __init__(self, params, rows):
        self.model = LogisticRegression(C=1 / (rows * params["L2"]), fit_intercept=False, max_iter=params["Iterations"])

    @staticmethod
    def widen(x):
        return numpy.hstack([x, numpy.ones((len(x), 1), x.dtype)])

    def fit(self, x, y):
        self.model.fit(self.widen(x), y)

    def predict(self, x):
        return self.model.predict(self.widen(x))


class Ridge:
    def __init__(self, params, _):
        self.model = KernelRidge(alpha=params["Lambda"], kernel="rbf", gamma=params["Gamma"])

    def fit(self, x, y):
        self.model.fit(x, numpy.where(y[:, None] == numpy.arange(CLASSES), numpy.float32(1), numpy.float32(-1)))

    def predict(self, x):
        return self.model.predict(x).argmax(1)


def main():
    folder = sys.argv[1]
    x, queries, y, truth = (numpy.load(f"{folder}/{name}.npy", mmap_mode="r") for name in ("x", "queries", "y", "truth"))
    with open(f"{folder}/learners.json") as f:
        learners = json.load(f)
    rows = learners.pop("rows")
    make = {"softmax": Softmax, "kernel-ridge": Ridge}
    queries, fitted, votes = numpy.array(queries), [], []

    def answer(q):
        if q["do"] == "score":
            right = numpy.array(votes) == truth
            counts = numpy.stack([(numpy.array(votes) == c).sum(0) for c in range(CLASSES)])
            return {"one": float(right.mean()), "plurality": float((counts.argmax(0) == truth).mean()),
                    "work": 0, "wall": 0, "processor": 0}
        wall, processor = time.perf_counter(), time.process_time()
        if q["do"] == "fit":
            fitted.clear()
            if q["from"] == 0:
                votes.clear()
            for t in range(q["from"], q["to"]):
                fitted.append(make[q["learner"]](learners[q["learner"]], rows))
                fitted[-1].fit(numpy.array(x[t * rows:(t + 1) * rows]), y[t * rows:(t + 1) * rows])
            work = len(fitted)
        else:
            votes.extend(model.predict(queries) for model in fitted)
            work = len(fitted) * len(queries)
        return {"work": work, "wall": time.perf_counter() - wall, "processor": time.process_time() - processor}

    turns.serve(answer)


if __name__ == "__main__":
    main()
