"""Write laws.json: exact laws of two published samplers of private tokens, on small vocabularies.

Written from the papers' formulas alone, in 60 digits (needs mpmath). All logits are multiples of 1/64.

Amin et al. 2024, "Private prediction for large-scale synthetic text generation": each teacher's logits z become
max(-C, z - max z + C). InvisibleInk (Vinod et al. 2025): public + clip(z - public, -C, C), on the tokens whose
public logit is at least the K-th largest less 2C/B. Both: softmax of the mean over B teachers, divided by the
temperature.
"""

import json
import pathlib
import random

import mpmath

mpmath.mp.dps = 60


def softmax(scores, temperature):
    weights = [mpmath.exp(mpmath.mpf(s) / 64 / mpmath.mpf(temperature)) for s in scores]
    return [mpmath.nstr(w / mpmath.fsum(weights), 30) for w in weights]


def mean(rows):
    return [mpmath.mpf(sum(column)) / len(column) for column in zip(*rows)]


def case(draw, sampler, size, teachers, clip, temperature, k):
    public = [draw.randint(-600, 300) for _ in range(size)]
    rows = [[p + draw.randint(-250, 250) for p in public] for _ in range(teachers)]
    if sampler == "amin":
        clipped = [[max(-clip, z - max(row) + clip) for z in row] for row in rows]
        tokens = list(range(size))
    else:
        clipped = [[p + min(clip, max(-clip, z - p)) for z, p in zip(row, public)] for row in rows]
        least = sorted(public, reverse=True)[k - 1] - mpmath.mpf(2 * clip) / teachers
        tokens = [t for t in range(size) if public[t] >= least]
    middle = mean(clipped)
    return {
        "sampler": sampler, "clip": clip, "temperature": temperature, "k": k, "public": public, "teachers": rows,
        "tokens": tokens, "law": softmax([middle[t] for t in tokens], temperature),
    }


# Epsilon at delta 1e-6 by the function get_epsilon of invink 0.1.0: tokens, teachers B, C, temperature, epsilon.
INVINK = [
    [50, 7, 0.1, 0.8, 0.5510132477046569], [50, 7, 1, 1.2, 4.301711591300655], [50, 7, 4, 1.2, 22.260726139776096],
    [50, 63, 1, 0.8, 0.616437423151205], [50, 63, 4, 1.2, 1.7647535812756514], [50, 1023, 4, 1.2, 0.09037448447047587],
    [500, 7, 0.1, 0.8, 1.8937637172354664], [500, 7, 1, 1.2, 16.563017875310486], [500, 63, 1, 0.8, 2.123442911388582],
    [500, 63, 4, 1.2, 6.322460878945314], [500, 1023, 4, 0.8, 0.47253175048172563], [2000, 7, 0.1, 0.8, 4.055735047323206],
    [2000, 7, 1, 1.2, 40.754055213734965], [2000, 63, 1, 1.2, 2.9087404791624913], [2000, 1023, 4, 1.2, 0.641846307381544],
    [1, 1, 1, 1, 5.221534444530169], [1, 7, 1, 1, 0.6284197375596162], [5, 1, 2, 1, 32.221660949097604],
    [10, 7, 1, 1, 2.165625345277057], [100, 511, 20, 1, 1.8531231486645547], [1000, 15, 0.25, 1.1, 2.309069846080552],
    [1000, 127, 3, 1, 3.7648809059467117], [1000, 255, 10, 2, 3.0634261159616556],
    [1000, 511, 10, 1.5, 1.9621258009570433], [2000, 31, 0.1, 1.5, 0.41248143541064203],
]


def main():
    draw, cases = random.Random(37), []
    for sampler in ("amin", "invisibleink"):
        for size, teachers, clip, temperature, k in [
            (2, 1, 64, "1", 1), (3, 2, 32, "0.75", 2), (5, 4, 128, "1.25", 3), (8, 7, 16, "1", 4), (12, 16, 320, "2", 6),
        ]:
            cases.append(case(draw, sampler, size, teachers, clip, temperature, k))
    text = ",\n".join(json.dumps(c) for c in cases)
    note = "laws.py; logits and clips in units of 1/64; law is over tokens"
    pathlib.Path(__file__).with_suffix(".json").write_text(f'{{"provenance": "{note}", "cases": [\n{text}\n],\n"invink": {json.dumps(INVINK)}}}\n')


if __name__ == "__main__":
    main()
