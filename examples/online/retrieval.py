"""Retrieval: questions about private documents, each of which may vote at a few questions only.

`python retrieval.py private.csv public.csv questions.csv label text` asks `pate serve` for the topic of each
question, with one charge for all questions, and prints the share of right answers by epsilon. The documents
near a question vote for their own topic. Needs pandas and the program pate, or its path in PATE.
"""

import json
import os
import subprocess
import sys
import tempfile

import pandas as pd


def ask(paths, label, text, questions, classes, epsilon):
    """Return the answers to questions, and the line of pate about the quota and the noise."""
    private, public = paths
    size = round(len(pd.read_csv(private)), -2)  # public, and approximate
    requests = "\n".join(json.dumps({"query": i, "row": [words]}) for i, words in enumerate(questions))
    with tempfile.TemporaryDirectory() as folder:
        found = subprocess.run(
            [os.environ.get("PATE", "pate"), "serve", "--out", f"{folder}/run", "--mechanism", "quota", "--private", private, "--public", public,
             "--label", label, "--text", text, "--size", str(size), "--classes", ",".join(classes), "--queries", str(len(questions)),
             "--epsilon", str(epsilon), "--delta", "1e-5"],
            input=requests, capture_output=True, text=True, check=True)
    return [json.loads(line)["label"] for line in found.stdout.splitlines()], found.stderr.splitlines()[0]


def main(private, public, asked, label, text):
    table = pd.read_csv(asked)
    classes = sorted(table[label].unique())
    for epsilon in (1, 2, 4, 8):
        answers, terms = ask((private, public), label, text, list(table[text]), classes, epsilon)
        given = [a == right for a, right in zip(answers, table[label]) if a is not None]
        print(f"epsilon {epsilon}: {len(given)} of {len(answers)} answered, {100 * sum(given) / max(1, len(given)):.1f} % right; {terms}")


if __name__ == "__main__":
    main(*sys.argv[1:])
