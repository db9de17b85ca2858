"""Times one-thread training here and by PyTorch and Opacus, by turns, and prints ratios.

    interleaved.py [--products]

Every engine has a process of its own that waits between its turns. A turn trains for
--seconds; the engines take turns for --rounds rounds, and a ratio is the median over the
rounds. Time is processor time, which other programs on the machine disturb less. With
--products it multiplies matrices in place of that: here and by numpy, with one thread of
its OpenBLAS. README.md beside this file says what to install.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = ["logistic-784-10", "mlp-784-128-10", "mlp-784-1000-10", "cnn", "linear-3969-10"]
PRODUCTS = [
    ("forward", 256, 1000, 784), ("gradient", 1000, 784, 256), ("forward", 64, 128, 784),
    ("gradient", 128, 784, 64), ("forward", 512, 512, 512), ("gradient", 512, 512, 512),
]


def serve(model, method, batch):
    """Answers lines as the program in steps does, by PyTorch or Opacus."""
    import warnings

    warnings.filterwarnings("ignore")
    import opacus_throughput as peers
    import torch

    torch.set_num_threads(1)
    net, shape = peers.build(model)
    net, optimizer, loss = peers.wrap(net, method, batch, 1.0, 1.0, 1e-3)
    x, y = peers.records(shape, batch)
    peers.step(net, optimizer, loss, x, y)
    for line in sys.stdin:
        seconds, done, wall, own = float(line), 0, time.perf_counter(), time.process_time()
        while not done or time.perf_counter() - wall < seconds:
            peers.step(net, optimizer, loss, x, y)
            done += batch
        print(done / (time.perf_counter() - wall), done / (time.process_time() - own), flush=True)


def serve_products():
    """Answers lines as the program in steps does, by numpy."""
    import numpy

    rng = numpy.random.default_rng(1)

    def random(rows, cols):
        return rng.standard_normal((rows, cols), dtype=numpy.float32)

    for line in sys.stdin:
        kind, *sizes, seconds = line.split()
        m, n, k = map(int, sizes)
        a, b = (random(m, k), random(n, k).T) if kind == "forward" else (random(k, m).T, random(k, n))
        out = numpy.empty((m, n), numpy.float32)
        numpy.matmul(a, b, out=out)
        done, wall, own = 0.0, time.perf_counter(), time.process_time()
        while not done or time.perf_counter() - wall < float(seconds):
            numpy.matmul(a, b, out=out)
            done += 2 * m * n * k / 1e9
        print(done / (time.perf_counter() - wall), done / (time.process_time() - own), flush=True)


def take_turns(commands, line, rounds):
    """Returns, for each name, what its command answered in every round but the first."""
    one = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", GOMAXPROCS="1")
    running = {
        name: subprocess.Popen(c, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=one)
        for name, c in commands.items()
    }
    answers = {name: [] for name in commands}
    for _ in range(rounds + 1):
        for name, p in running.items():
            p.stdin.write(line + "\n")
            p.stdin.flush()
            answers[name].append(float(p.stdout.readline().split()[1]))
    for p in running.values():
        p.stdin.close()
        p.wait()
    return {name: a[1:] for name, a in answers.items()}


def row(title, answers, base):
    """Prints a row: the medians, and the median ratio of the first to the base."""
    first = next(iter(answers))
    ratio = statistics.median(a / b for a, b in zip(answers[first], answers[base]))
    print("|", title, "|", " | ".join(f"{statistics.median(a):,.1f}" if statistics.median(a) < 1000 else f"{statistics.median(a):,.0f}" for a in answers.values()), f"| {ratio:.2f} |", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--models", nargs="+", choices=MODELS, default=MODELS)
    p.add_argument("--methods", nargs="*", choices=["plain", "ghost", "hooks"], default=["plain", "ghost", "hooks"])
    p.add_argument("--batches", nargs="+", type=int, default=[1024, 4096])
    p.add_argument("--rounds", type=int, default=9)
    p.add_argument("--seconds", type=float, default=0.4)
    p.add_argument("--products", action="store_true", help="multiply matrices")
    p.add_argument("--serve", nargs="+", help=argparse.SUPPRESS)
    args = p.parse_args()
    if args.serve == ["products"]:
        return serve_products()
    if args.serve:
        return serve(args.serve[0], args.serve[1], int(args.serve[2]))
    with tempfile.TemporaryDirectory() as folder:
        steps = os.path.join(folder, "steps")
        subprocess.run(["go", "build", "-o", steps, "."], cwd=os.path.join(HERE, "steps"), check=True)
        peer = [sys.executable, __file__, "--serve"]
        if args.products:
            print("| GFLOP/s | pate | numpy | pate/numpy |\n|---|---:|---:|---:|")
            for kind, m, n, k in PRODUCTS:
                commands = {"pate": [steps, "-products"], "numpy": [*peer, "products"]}
                row(f"{kind} {m} x {n}, {k} terms", take_turns(commands, f"{kind} {m} {n} {k} {args.seconds}", args.rounds), "numpy")
            return
        print("| samples/s | pate | not private |", " | ".join(args.methods), f"| pate/{args.methods[0]} |")
        print("|---|" + "---:|" * (3 + len(args.methods)))
        for model in args.models:
            for batch in args.batches:
                ours = [steps, "-model", model, "-batch", str(batch)]
                commands = {"pate": [*ours, "-private"], "not private": ours}
                commands |= {m: [*peer, model, m, str(batch)] for m in args.methods}
                row(f"{model}, {batch}", take_turns(commands, str(args.seconds), args.rounds), args.methods[0])


if __name__ == "__main__":
    main()
