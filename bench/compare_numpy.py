#!/usr/bin/env python3
"""ndfold beside NumPy and SciPy on one core, in one run: median CPU milliseconds of each and their ratio.

Usage: compare_numpy.py --ndfold PATH/TO/ndfold [--cases FILE.json] [--mebibytes 64] [--filter TEXT]
A cases file maps softmax and reduce to lists of [name, shape, axes]; shapes are halved along their longest axis until the
f32 input fits. CPU time is compared, so that a busy machine disturbs both sides alike.
"""
import argparse
import json
import statistics
import subprocess
import sys
import time

import numpy as np
from scipy import special

CASES = {
    "softmax": [
        ["rows of 64", [262144, 64], [1]],
        ["rows of 4096", [4096, 4096], [1]],
        ["long odd rows", [333, 50257], [1]],
        ["one row", [1, 16777216], [1]],
        ["columns", [4096, 4096], [0]],
        ["tall columns", [65536, 256], [0]],
        ["middle axis", [64, 512, 512], [1]],
        ["outer and inner", [128, 256, 512], [0, 2]],
        ["alternating", [16, 32, 16, 32, 16, 4], [1, 3, 5]],
        ["small", [256, 256], [1]],
    ],
    "reduce": [
        ["all", [16777216], [0]],
        ["inner", [4096, 4096], [1]],
        ["outer", [4096, 4096], [0]],
        ["short rows", [262144, 64], [1]],
        ["tall columns", [262144, 64], [0]],
        ["middle axis", [64, 512, 512], [1]],
        ["outer and inner", [128, 256, 512], [0, 2]],
        ["small", [256, 256], [1]],
    ],
}
REDUCTIONS = {
    "sum": np.sum, "max": np.max, "mean": np.mean, "argmax": np.argmax, "var": np.var, "logsumexp": special.logsumexp,
    "l2": lambda x, axis: np.sqrt(np.sum(x * x, axis=axis)),
}


def fitted(shape, limit):
    shape = list(shape)
    while np.prod(shape, dtype=np.int64) * 4 > limit:
        longest = shape.index(max(shape))
        shape[longest] = max(1, shape[longest] // 2)
    return shape


def median_cpu_ms(call):
    call()
    samples, start = [], time.perf_counter()
    while len(samples) < 5 or (time.perf_counter() - start < 0.3 and len(samples) < 1000):
        before = time.process_time()
        call()
        samples.append(time.process_time() - before)
    return statistics.median(samples) * 1e3


def ndfold_cpu_ms(program, op, shape, axes):
    text = subprocess.run(
        [program, "bench", "--op", op, "--shape", ",".join(map(str, shape)), "--axes", ",".join(map(str, axes)),
         "--threads", "1", "--json", "--repeat", "5", "--seconds", "0.05"],
        check=True, capture_output=True, text=True).stdout
    times = [b["cpu_time"] for b in json.loads(text)["benchmarks"]
             if b["name"].startswith("plan") and b["run_type"] == "iteration"]
    return statistics.median(times) / 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ndfold", required=True)
    parser.add_argument("--cases")
    parser.add_argument("--mebibytes", type=float, default=64)
    parser.add_argument("--filter", default="")
    options = parser.parse_args()
    cases = json.load(open(options.cases, encoding="utf-8")) if options.cases else CASES
    work = [("softmax", special.softmax, *case) for case in cases["softmax"]]
    work += [(op, call, *case) for case in cases["reduce"] for op, call in REDUCTIONS.items()]
    worst = 0.0
    print(f"{'op':10} {'case':16} {'shape':24} {'axes':8} {'ndfold ms':>10} {'NumPy ms':>10} {'ratio':>6}")
    for op, call, name, shape, axes in work:
        if options.filter not in f"{op} {name}":
            continue
        shape, axes = fitted(shape, options.mebibytes * 2**20), tuple(axes)
        if op == "argmax" and len(axes) > 1:
            continue  # NumPy has no argmax over several axes
        x = np.random.default_rng(7).normal(size=shape).astype(np.float32)
        axis = axes[0] if op == "argmax" else axes
        theirs = median_cpu_ms(lambda: call(x, axis=axis))
        ours = ndfold_cpu_ms(options.ndfold, op, shape, axes)
        worst = max(worst, ours / theirs)
        print(f"{op:10} {name:16} {'x'.join(map(str, shape)):24} {','.join(map(str, axes)):8} "
              f"{ours:10.3f} {theirs:10.3f} {ours / theirs:6.2f}", flush=True)
    print(f"worst ratio {worst:.2f}")


if __name__ == "__main__":
    sys.exit(main())
