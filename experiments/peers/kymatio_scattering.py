"""Times Kymatio's 2-D scattering of 28 x 28 images: J = 2, L = 8, 81 x 7 x 7 coefficients.

README.md beside this file says what to install.
"""

import argparse
import json
import os
import statistics
import sys
import time


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--images", type=int, default=256, help="images in a call (default 256)")
    p.add_argument("--repeats", type=int, default=7, help="calls; the median counts (default 7)")
    p.add_argument("--threads", type=int, default=1, help="threads of PyTorch (default 1)")
    p.add_argument("--backends", nargs="+", choices=["numpy", "torch"], default=["numpy", "torch"])
    args = p.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(args.threads)

    import kymatio
    import numpy as np

    images = np.random.default_rng(1).random((args.images, 28, 28), dtype=np.float32)
    result = {"schema": "peers.kymatio/1", "kymatio": kymatio.__version__, "threads": args.threads,
              "images": args.images, "milliseconds_per_image": {}}
    coefficients = {}
    for backend in args.backends:
        if backend == "torch":
            import torch
            from kymatio.torch import Scattering2D

            torch.set_num_threads(args.threads)
            x = torch.from_numpy(images)
        else:
            from kymatio.numpy import Scattering2D

            x = images
        scattering = Scattering2D(J=2, shape=(28, 28), L=8)
        coefficients[backend] = np.asarray(scattering(x))  # warm-up
        assert coefficients[backend].shape == (args.images, 81, 7, 7)
        seconds = []
        for _ in range(args.repeats):
            start = time.perf_counter()
            scattering(x)
            seconds.append(time.perf_counter() - start)
        result["milliseconds_per_image"][backend] = 1000 * statistics.median(seconds) / args.images
    if len(coefficients) == 2:
        a, b = coefficients.values()
        assert np.abs(a - b).max() < 1e-5 * np.abs(a).max(), "the backends disagree"
    result["load"] = os.getloadavg()[0]
    json.dump(result, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
