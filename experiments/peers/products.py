"""Multiplies matrices by numpy, an engine of turns.py. Work is in GFLOP."""

import numpy

import turns


def main():
    rng = numpy.random.default_rng(1)

    def answer(q):
        m, n, k = q["m"], q["n"], q["k"]

        def random(rows, cols):
            return rng.standard_normal((rows, cols), dtype=numpy.float32)

        a, b = (random(m, k), random(n, k).T) if q["kind"] == "forward" else (random(k, m).T, random(k, n))
        out = numpy.empty((m, n), numpy.float32)

        def once():
            numpy.matmul(a, b, out=out)
            return 2 * m * n * k / 1e9

        once()
        return turns.repeat(q["seconds"], once)

    turns.serve(answer)


if __name__ == "__main__":
    main()
