"""Active learning: a student asks `pate serve` about the public rows at which it is least certain.

`python active.py letter.csv letter` prints the student's accuracy on held-out rows after each round, and its
accuracy with as many random questions. Needs scikit-learn, pandas and the program pate, or its path in PATE.
"""

import collections
import json
import os
import subprocess
import sys
import tempfile
import urllib.request

import numpy as np
import pandas as pd
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC

TEACHERS, ROUNDS, QUESTIONS, EPSILON = 250, 8, 25, 2


class Labeller:
    """A run of `pate serve`, charged for all questions when it starts."""

    def __init__(self, folder, classes):
        self.server = subprocess.Popen(
            [os.environ.get("PATE", "pate"), "serve", "--out", folder, "--listen", "127.0.0.1:0", "--mechanism", "gnmax",
             "--teachers", str(TEACHERS), "--queries", str(ROUNDS * QUESTIONS), "--epsilon", str(EPSILON), "--delta", "1e-5", "--classes", ",".join(classes)],
            stderr=subprocess.PIPE, text=True)
        line = next(text for text in self.server.stderr if "listening on " in text)
        self.url = line.split("listening on ")[1].strip() + "/answer"

    def ask(self, votes):
        """Return the noisy labels of questions, given the votes of each: {id: {class: count}}."""
        body = "\n".join(json.dumps({"query": str(i), "votes": v}) for i, v in votes.items())
        with urllib.request.urlopen(urllib.request.Request(self.url, body.encode())) as reply:
            return [json.loads(line)["label"] for line in reply]

    def close(self):
        self.server.terminate()
        self.server.communicate()


def main(path, label):
    table = pd.read_csv(path, dtype={label: str}).sample(frac=1, random_state=37)
    y, x = table.pop(label).to_numpy(), table.to_numpy(float)
    private, pool, test = np.split(np.arange(len(y)), [len(y) // 2, len(y) * 4 // 5])
    teachers = [KNeighborsClassifier(1).fit(x[part], y[part]) for part in np.array_split(private, TEACHERS)]
    votes = np.array([t.predict(x[pool]) for t in teachers]).T
    scale = FunctionTransformer(lambda rows: rows / x[pool].std())  # by public rows
    with tempfile.TemporaryDirectory() as folder:
        for name in ("random", "uncertain"):
            draw, labeller = np.random.default_rng(1), Labeller(f"{folder}/{name}", np.unique(y))
            asked, labels, accuracy = [], [], []
            for _ in range(ROUNDS):
                rest = np.setdiff1d(np.arange(len(pool)), asked)
                chosen = draw.choice(rest, QUESTIONS, replace=False)
                if labels and name == "uncertain":
                    best = np.sort(student.decision_function(x[pool[rest]]), axis=1)
                    chosen = rest[np.argsort(best[:, -1] - best[:, -2])[:QUESTIONS]]
                labels += labeller.ask({i: collections.Counter(votes[i]) for i in map(int, chosen)})
                asked += list(chosen)
                student = make_pipeline(scale, SVC()).fit(x[pool[asked]], labels)
                accuracy.append(student.score(x[test], y[test]))
            labeller.close()
            print(f"{name:10}", *(f"{100 * a:6.1f}" for a in accuracy))


if __name__ == "__main__":
    main(*sys.argv[1:])
