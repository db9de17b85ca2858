"""Trains networks by PyTorch and Opacus, an engine of turns.py.

    training.py NET METHOD BATCH [--threads N] [--feed poisson] [--memory GB]
    training.py check

A step is: forget the old gradients, forward, backward, clip, noise, update. METHOD is torch
(without privacy), compiled (the same by torch.compile), ghost or hooks. Without privacy images are
channels_last: Opacus 1.6.0 computes wrong gradients of such convolutions, as the check shows. The batch is in memory, gathered before the clock starts;
--feed poisson goes through Opacus' own loader and sampler instead. More than --memory GB of
data are refused, and said.

The second form compares the gradients of both kinds of clipping with explicit per-example
gradients, and the noise with its standard deviation. It fails if one is wrong.
"""

import argparse
import json
import warnings

import turns

NETS = ["784-10", "784-128-10", "784-1000-10", "cnn", "3969-10"]
OPACUS = ["ghost", "hooks"]
METHODS = ["torch", "compiled", *OPACUS]
CLASSES = 10
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
    widths = [int(w) for w in name.split("-")]
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
    if method not in OPACUS:
        model = model.to(memory_format=torch.channels_last)
        return torch.compile(model) if method == "compiled" else model, optimizer, loss
    from opacus import GradSampleModule
    from opacus.grad_sample import GradSampleModuleFastGradientClipping
    from opacus.optimizers import DPOptimizer, DPOptimizerFastGradientClipping
    from opacus.utils.fast_gradient_clipping_utils import DPLossFastGradientClipping

    how = {"noise_multiplier": noise_multiplier, "max_grad_norm": clip_norm, "expected_batch_size": batch}
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


def batches(shape, batch, feed):
    """Yields batches: the same one, or by Opacus' loader, where each record has the same chance."""
    if feed == "batch":
        x, y = records(shape, batch)
        while True:
            yield x, y
    from opacus.data_loader import DPDataLoader
    from torch.utils.data import TensorDataset

    data = TensorDataset(*records(shape, RECORDS))
    while True:
        yield from DPDataLoader(data, sample_rate=batch / RECORDS)


def resident(field):
    """Returns a size from the status of this process in MB; 0 where there is none."""
    try:
        with open("/proc/self/status") as f:
            return next(int(line.split()[1]) for line in f if line.startswith(field)) * 1024 / 1e6
    except OSError:
        return 0.0


def train(args):
    """Answers how many records one run takes in a number of seconds or a little more."""
    import resource

    import torch

    warnings.filterwarnings("ignore")
    torch.set_num_threads(args.threads)
    resource.setrlimit(resource.RLIMIT_DATA, (int(args.memory * 1e9),) * 2)
    model, shape = build(args.net)
    parts = wrap(model, args.method, args.batch, 1.0, 1.0, 1e-3)
    # What a first step sets up once is not the batch's. Compiled code is for one size of a batch.
    step(*parts, *records(shape, args.batch if args.method == "compiled" else 2))
    feed = batches(shape, args.batch, args.feed)
    x, y = next(feed)
    try:
        with open("/proc/self/clear_refs", "w") as f:
            f.write("5")  # the peak starts again from here
    except OSError:
        pass
    before = resident("VmRSS")

    def once():
        nonlocal x, y
        step(*parts, x, y)
        count = len(x)
        x, y = next(feed)
        return count

    def answer(question):
        try:
            timing = turns.repeat(question["seconds"], once)
        except (MemoryError, RuntimeError) as e:
            if "allocate" not in str(e) and not isinstance(e, MemoryError):
                raise
            return {"error": f"> {args.memory:g} GB"}
        return {**timing, "peak_mb": resident("VmHWM") - before}

    turns.serve(answer)


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
        loss = nn.functional.cross_entropy(model(x[i:i + 1]), y[i:i + 1])
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
    sigma = float((gradient(3.0) - got).std()) * batch / (3.0 * clip_norm)
    for holds, why in [
        (unclipped > 1e-2, f"the check cannot tell clipped from unclipped ({unclipped:.1e})"),
        (error < 1e-4, f"the gradient is off by {error:.1e} of its norm"),
        (abs(sigma - 1) < 0.05, f"the noise has {sigma:.3f} times its standard deviation"),
    ]:
        if not holds:
            raise SystemExit(f"{name}, {method}: {why}")
    return {"net": name, "method": method, "error": float(f"{error:.2g}"), "noise": round(sigma, 3)}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("net", choices=[*NETS, "check"])
    p.add_argument("method", nargs="?", choices=METHODS, default="torch")
    p.add_argument("batch", nargs="?", type=int, default=1024)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--feed", choices=["batch", "poisson"], default="batch")
    p.add_argument("--memory", type=float, default=8)
    args = p.parse_args()
    if args.net != "check":
        return train(args)
    warnings.filterwarnings("ignore")
    print(json.dumps([check(net, method) for net in NETS for method in OPACUS]))


if __name__ == "__main__":
    main()
