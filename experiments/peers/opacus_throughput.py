"""Times one DP-SGD step of Opacus, and of plain PyTorch, on the processor.

A step is: forget the old gradients, forward, backward, clip, noise, update. The
batch is in memory, gathered before the clock starts; --feed poisson goes through
Opacus' own loader and sampler instead. Every case runs in a process of its own,
so that none lives in another's memory; the cases take turns for --rounds rounds. A
timing during which other programs used more than --others of the processors is
done again when they are quiet, for --patience seconds at most (on Linux); what was
left of that is in the result.

Before anything is timed, the gradients of both kinds of clipping are compared
with explicit per-example gradients, and the noise with its standard deviation.

README.md beside this file says what to install.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
import warnings

MODELS = ["logistic-784-10", "mlp-784-128-10", "mlp-784-1000-10", "cnn", "linear-3969-10"]
METHODS = ["plain", "ghost", "hooks"]
CLASSES = 10
CLIP_NORM, NOISE_MULTIPLIER, LEARNING_RATE = 1.0, 1.0, 0.1
RECORDS = 16384  # for --feed poisson


def build(name):
    """Returns a fresh model and the shape of one record."""
    from torch import nn

    if name == "cnn":  # the network of the MNIST tutorials of DP-SGD
        return nn.Sequential(
            nn.Conv2d(1, 16, 8, stride=2, padding=3), nn.ReLU(), nn.MaxPool2d(2, 1),
            nn.Conv2d(16, 32, 4, stride=2), nn.ReLU(), nn.MaxPool2d(2, 1),
            nn.Flatten(), nn.Linear(32 * 4 * 4, 32), nn.ReLU(), nn.Linear(32, CLASSES),
        ), (1, 28, 28)
    widths = [int(w) for w in name.split("-")[1:]]
    layers = []
    for a, b in zip(widths, widths[1:]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers[:-1]), (widths[0],)


def wrap(model, method, batch, clip_norm, noise_multiplier, learning_rate):
    """Returns (model, optimiser, loss) for a method, as Opacus' engine makes them."""
    import torch
    from torch import nn

    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    loss = nn.CrossEntropyLoss()
    if method == "plain":
        return model, optimizer, loss
    from opacus import GradSampleModule
    from opacus.grad_sample import GradSampleModuleFastGradientClipping
    from opacus.optimizers import DPOptimizer, DPOptimizerFastGradientClipping
    from opacus.utils.fast_gradient_clipping_utils import DPLossFastGradientClipping

    how = dict(noise_multiplier=noise_multiplier, max_grad_norm=clip_norm, expected_batch_size=batch)
    if method == "hooks":
        return GradSampleModule(model), DPOptimizer(optimizer, **how), loss
    model = GradSampleModuleFastGradientClipping(model, max_grad_norm=clip_norm, use_ghost_clipping=True)
    optimizer = DPOptimizerFastGradientClipping(optimizer, **how)
    return model, optimizer, DPLossFastGradientClipping(model, optimizer, loss)


def step(model, optimizer, loss, x, y):
    optimizer.zero_grad(set_to_none=True)
    loss(model(x), y).backward()
    optimizer.step()


def records(shape, count):
    import torch

    g = torch.Generator().manual_seed(1)
    return torch.rand((count, *shape), generator=g), torch.randint(CLASSES, (count,), generator=g)


def fixed_batch(shape, batch):
    x, y = records(shape, batch)
    while True:
        yield x, y


def poisson_batches(shape, batch):
    """Opacus' loader over records in memory: each is in a batch with the same chance."""
    from opacus.data_loader import DPDataLoader
    from torch.utils.data import TensorDataset

    data = TensorDataset(*records(shape, RECORDS))
    while True:
        for x, y in DPDataLoader(data, sample_rate=batch / RECORDS):
            yield x, y


def time_case(args, name, method):
    """Returns (samples per second, share of the processors others used), one pair a repeat."""
    model, shape = build(name)
    model, optimizer, loss = wrap(model, method, args.batch, CLIP_NORM, NOISE_MULTIPLIER, LEARNING_RATE)
    if args.feed == "poisson":
        batches = poisson_batches(shape, args.batch)
    else:
        batches = fixed_batch(shape, args.batch)

    clock = time.process_time if args.clock == "processor" else time.perf_counter

    def run(seconds, least):
        samples, steps, start = 0, 0, clock()
        while steps < least or clock() - start < seconds:
            x, y = next(batches)
            step(model, optimizer, loss, x, y)
            samples, steps = samples + len(x), steps + 1
        return samples / (clock() - start)

    def watched(measure):
        before, start = busy(), time.perf_counter()
        rate = measure()
        after, seconds = busy(), time.perf_counter() - start
        return rate, max(0.0, (after - before) / seconds / os.cpu_count())

    run(args.warm_up, 2)
    if args.clock == "processor":
        return [(run(args.seconds, 1), 0.0) for _ in range(args.repeats)]
    give_up = time.monotonic() + args.patience
    timings = []
    while len(timings) < args.repeats or max(t[1] for t in timings) > args.others:
        while watched(lambda: time.sleep(0.3))[1] > args.others and time.monotonic() < give_up:
            pass
        timings.append(watched(lambda: run(args.seconds, 1)))
        timings = sorted(timings, key=lambda t: t[1])[: args.repeats]
        if time.monotonic() > give_up and len(timings) == args.repeats:
            break
    return timings


def busy():
    """Returns the processor seconds that others have used so far; 0 where the machine does not say."""
    own = os.times()
    try:
        with open("/proc/stat") as f:
            user, nice, system, _, _, irq, soft, steal = (int(t) for t in f.readline().split()[1:9])
    except OSError:
        return 0.0
    return (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK") - own.user - own.system


def memory_case(args, name, method):
    """Returns the peak of resident memory over three steps, above that before them, in MB."""
    def status(field):
        with open("/proc/self/status") as f:
            return next(int(line.split()[1]) for line in f if line.startswith(field)) * 1024 / 1e6

    model, shape = build(name)
    model, optimizer, loss = wrap(model, method, args.memory_batch, CLIP_NORM, NOISE_MULTIPLIER, LEARNING_RATE)
    # What a first step sets up once (threads, generated code) is not the batch's.
    step(model, optimizer, loss, *records(shape, 2))
    x, y = records(shape, args.memory_batch)
    with open("/proc/self/clear_refs", "w") as f:
        f.write("5")  # the peak starts again from here
    before = status("VmRSS")
    for _ in range(3):
        step(model, optimizer, loss, x, y)
    return status("VmHWM") - before


def check(name, method):
    """Compares a method's gradient with explicit per-example gradients. Raises if they differ."""
    import torch
    from torch import nn

    batch = 24
    torch.manual_seed(2)
    model, shape = build(name)
    x, y = records(shape, batch)
    each = []
    for i in range(batch):
        loss = nn.functional.cross_entropy(model(x[i : i + 1]), y[i : i + 1])
        each.append(torch.cat([g.flatten() for g in torch.autograd.grad(loss, list(model.parameters()))]))
    each = torch.stack(each)
    norms = each.norm(dim=1)
    clip_norm = float(norms.median())  # half of the records are clipped
    want = (each * (clip_norm / norms).clamp(max=1)[:, None]).mean(0)

    def gradient(noise_multiplier):
        copy, _ = build(name)
        copy.load_state_dict(model.state_dict())
        step(*wrap(copy, method, batch, clip_norm, noise_multiplier, 0.0), x, y)
        return torch.cat([p.grad.flatten() for p in copy.parameters()])

    got = gradient(0.0)
    error = float((got - want).norm() / want.norm())
    unclipped = float((each.mean(0) - want).norm() / want.norm())
    assert unclipped > 1e-2, f"{name}: the check cannot tell clipped from unclipped ({unclipped:.1e})"
    assert error < 1e-4, f"{name}, {method}: the gradient is off by {error:.1e} of its norm"
    sigma = float((gradient(3.0) - got).std()) * batch / (3.0 * clip_norm)
    assert abs(sigma - 1) < 0.05, f"{name}, {method}: the noise has {sigma:.3f} times its standard deviation"
    return error, sigma


def child(args):
    import torch

    warnings.filterwarnings("ignore")
    torch.set_num_threads(args.threads)
    kind, name, method = args.case.split(":")
    measure = {"time": time_case, "memory": memory_case}
    print(json.dumps(measure[kind](args, name, method)))


def ask(kind, name, method):
    """Runs one case in a process of its own, with the arguments of this one."""
    out = subprocess.run(
        [sys.executable, __file__, *sys.argv[1:], "--case", f"{kind}:{name}:{method}"],
        stdout=subprocess.PIPE, check=True, text=True,
    )
    return json.loads(out.stdout.splitlines()[-1])


def processor():
    try:
        with open("/proc/cpuinfo") as f:
            return next(line.split(":")[1].strip() for line in f if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def summary(timings, others):
    """Returns the medians of the timings that were not disturbed; of all, where all were."""
    rows = []
    for (name, method), all_timings in timings.items():
        quiet = [t for t in all_timings if t[1] <= others] or all_timings
        rates = [t[0] for t in quiet]
        rows.append({
            "model": name, "method": method, "samples_per_second": statistics.median(rates),
            "lowest": min(rates), "highest": max(rates),
            "timings": len(all_timings), "used": len(rates),
            "others": max(t[1] for t in quiet), "disturbed": max(t[1] for t in quiet) > others,
        })
    return rows


def save(path, result):
    result["load_after"] = os.getloadavg()[0]
    with open(path, "w") as f:
        json.dump(result, f, indent=1)
        f.write("\n")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--models", nargs="+", choices=MODELS, default=MODELS)
    p.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    p.add_argument("--batch", type=int, default=1024, help="records in a step (default 1024)")
    p.add_argument("--threads", type=int, default=2, help="threads of PyTorch (default 2)")
    p.add_argument("--rounds", type=int, default=3, help="processes for each case (default 3)")
    p.add_argument("--repeats", type=int, default=5, help="timings in each process (default 5)")
    p.add_argument("--seconds", type=float, default=0.3, help="least length of a timing (default 0.3)")
    p.add_argument("--warm-up", type=float, default=0.5, help="seconds before the first timing (default 0.5)")
    p.add_argument("--others", type=float, default=0.05,
                   help="share of the processors others may use in a timing (default 0.05)")
    p.add_argument("--patience", type=float, default=30,
                   help="seconds a process waits for that, warm-up not counted (default 30)")
    p.add_argument("--clock", choices=["wall", "processor"], default="wall",
                   help="processor: count what the process itself uses, for a busy machine, with --threads 1")
    p.add_argument("--feed", choices=["batch", "poisson"], default="batch",
                   help="one batch kept in memory, or Opacus' loader with Poisson sampling")
    p.add_argument("--memory-models", nargs="*", choices=MODELS, default=["cnn"],
                   help="models whose peak memory is measured (Linux; default cnn; nothing for none)")
    p.add_argument("--memory-batch", type=int, default=4096, help="batch for it (default 4096)")
    p.add_argument("--out", default="opacus.json", help="result file (default opacus.json)")
    p.add_argument("--case", help=argparse.SUPPRESS)
    args = p.parse_args()
    if args.case:
        return child(args)

    import opacus
    import torch

    warnings.filterwarnings("ignore")

    def say(*words):
        print(*words, file=sys.stderr, flush=True)

    result = {
        "schema": "peers.opacus/1",
        "date": time.strftime("%Y-%m-%d"),
        "torch": torch.__version__, "opacus": opacus.__version__, "python": platform.python_version(),
        "processor": processor(), "cores": os.cpu_count(), "threads": args.threads,
        "batch": args.batch, "feed": args.feed, "clock": args.clock,
        "load_before": os.getloadavg()[0],
        "check": [], "throughput": [], "memory": [],
    }
    for name in args.models:
        for method in args.methods:
            if method == "plain":
                continue
            error, sigma = check(name, method)
            say(f"check {name} {method}: gradient within {error:.1e}, noise {sigma:.3f} of its deviation")
            result["check"].append({"model": name, "method": method, "error": error, "noise": sigma})
    timings = {}
    for r in range(args.rounds):
        for name in args.models:
            for method in args.methods:
                new = ask("time", name, method)
                timings.setdefault((name, method), []).extend(new)
                say(f"round {r + 1} {name} {method}: {statistics.median(t[0] for t in new):,.0f} samples/s,"
                    f" others {max(t[1] for t in new):.0%}")
                result["throughput"] = summary(timings, args.others)
                save(args.out, result)
    for name in args.memory_models:
        for method in args.methods:
            peak = ask("memory", name, method)
            say(f"memory {name} {method} at batch {args.memory_batch}: {peak:.0f} MB")
            result["memory"].append({"model": name, "method": method, "batch": args.memory_batch, "peak_mb": peak})
            save(args.out, result)


if __name__ == "__main__":
    main()
