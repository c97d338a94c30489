#!/usr/bin/env python3
"""Measures ndfold on a GPU beside a device copy, a read-only stream, PyTorch eager and torch.compile.

One process, the same buffers for all, rotated beyond the L2 cache; medians of event-timed batches, small cases as nodes
of a CUDA graph. Needs PyTorch with CUDA and libndfold_bench_gpu.so (preset cuda with -DNDFOLD_BENCH=ON). Pictures of
what it writes: bench/gpu_pictures.py.
"""
import argparse
import json
import pathlib
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "bench"))
sys.dont_write_bytecode = True

import torch  # noqa: E402

import gpu_cases  # noqa: E402
import gpu_host  # noqa: E402
import gpu_sweep  # noqa: E402
from gpu_files import write_table  # noqa: E402
from gpu_library import Library  # noqa: E402
from gpu_timing import ROTATED_BYTES, median_microseconds  # noqa: E402

TYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64, "i32": torch.int32,
         "u8": torch.uint8}
STRATEGIES = ("rows_in_bundles", "rows_in_lanes", "rows_in_block", "rows_in_cluster", "rows_in_grid",
              "columns_in_bundles", "columns_in_lanes", "columns_in_block", "columns_in_cluster", "columns_in_grid", "split",
              "columns_first", "permute_then_rows")
COLUMNS = ("regime", "op", "name", "dtype", "shape", "axes", "layout", "strategy", "ndfold_us", "ceiling_us", "share",
           "torch_us", "compile_us", "times_best_peer", "difference", "error")
REGRET_COLUMNS = ("op", "name", "dtype", "shape", "axes", "layout", "chosen", "chosen_us", "best", "regret",
                  *STRATEGIES)


def laid_out(case, seed):
    """An input of random numbers in the case's layout."""
    generator = torch.Generator(device="cuda").manual_seed(seed)
    shape, dtype = list(case.shape), TYPES[case.dtype]

    def filled(sizes):
        if dtype.is_floating_point:
            return torch.randn(sizes, generator=generator, device="cuda", dtype=torch.float32).to(dtype)
        return torch.randint(0, 100, sizes, generator=generator, device="cuda").to(dtype)
    if case.layout == "transposed":
        return filled(shape[:-2] + [shape[-1], shape[-2]]).transpose(-1, -2)
    if case.layout == "sliced":
        return filled(shape[:-1] + [2 * shape[-1]])[..., ::2]
    if case.layout == "padded":
        return filled(shape[:-1] + [shape[-1] + 24])[..., :shape[-1]]
    if case.layout == "misaligned":
        return filled([gpu_cases.prod(shape) + 1])[1:].view(shape)
    return filled(shape)  # reversed: ndfold alone, see ndfold_of


def torch_function(case):
    """What a user of PyTorch writes."""
    axes = case.axes
    one = axes[0] if len(axes) == 1 else None

    def several(function, x):
        rest = [a for a in range(x.ndim) if a not in axes]
        order = rest + list(axes)
        flat = x.permute(order).reshape([x.shape[a] for a in rest] + [-1])
        back = [order.index(a) for a in range(x.ndim)]
        return function(flat, -1).reshape([x.shape[a] for a in order]).permute(back)

    def of_axes(function):
        return (lambda x: function(x, one)) if one is not None else (lambda x: several(function, x))

    def several_arg(x):
        rest = [a for a in range(x.ndim) if a not in axes]
        return torch.argmax(x.permute(rest + list(axes)).reshape([x.shape[a] for a in rest] + [-1]), -1)
    return {"softmax": of_axes(torch.softmax), "log_softmax": of_axes(torch.log_softmax),
            "sum": lambda x: torch.sum(x, axes), "max": lambda x: torch.amax(x, axes),
            "argmax": (lambda x: torch.argmax(x, one)) if one is not None else several_arg,
            "logsumexp": lambda x: torch.logsumexp(x, axes), "var": lambda x: torch.var(x, axes, correction=0)}[case.op]


def worst_difference(case, ours, x):
    """Of ndfold from PyTorch in f64 (softmax: of the first MiB of outputs' rows would not do for columns: all)."""
    reference = torch_function(case)(x.double() if x.numel() <= 1 << 26 else x.float())
    if case.op == "argmax":
        return 0.0 if torch.equal(ours.long(), reference) else 1.0
    # Relative to the largest: near 0 a sum cancels.
    difference = (ours.double() - reference.double()).abs().max()
    return float(difference / reference.double().abs().max().clamp_min(1e-30))


class Bench:
    def __init__(self, library, options):
        self.library, self.options = library, options
        self.ceilings = {}

    def ceiling(self, case):
        """Microseconds of a device copy (softmax) or of a read-only stream of as many bytes."""
        key = (case.writes_all, case.bytes_read)
        if key not in self.ceilings:
            count = self.rotations(case)
            sources = [torch.randint(0, 255, (case.bytes_read,), device="cuda", dtype=torch.uint8)
                       for _ in range(count)]
            if case.writes_all:
                targets = [torch.empty_like(source) for source in sources]
                queue = lambda i: targets[i % count].copy_(sources[i % count])  # noqa: E731
            else:
                scratch = torch.zeros(4, device="cuda", dtype=torch.uint8)
                queue = lambda i: self.library.read(sources[i % count], scratch)  # noqa: E731
            self.ceilings[key] = median_microseconds(queue, case.bytes_moved)
        return self.ceilings[key]

    @staticmethod
    def rotations(case):
        return max(1, min(64, -(-ROTATED_BYTES // case.bytes_moved)))

    def ndfold_of(self, case, inputs, strategy=""):
        views, outputs = inputs, []
        for x in views:
            if case.writes_all:
                outputs.append(torch.empty_like(x) if case.layout != "sliced" else torch.empty(x.shape, device="cuda",
                                                                                              dtype=x.dtype))
            else:
                shape = [n for a, n in enumerate(x.shape) if a not in case.axes]
                kind = torch.int64 if case.op == "argmax" else x.dtype
                outputs.append(torch.empty(shape, device="cuda", dtype=kind))
        flip = (len(case.shape) - 1,) if case.layout == "reversed" else ()
        plan = self.library.plan(case.op, views[0], outputs[0], case.axes, strategy, flip)
        scratch = torch.empty(max(plan.workspace, 1), device="cuda", dtype=torch.uint8).fill_(0xff)
        return plan, outputs, lambda i: plan.run(views[i % len(views)], outputs[i % len(views)], scratch)

    def measure(self, case):
        count = self.rotations(case)
        inputs = [laid_out(case, seed) for seed in range(count)]
        result = {"regime": case.regime, "name": case.name, "op": case.op, "dtype": case.dtype,
                  "shape": "x".join(map(str, case.shape)), "axes": ",".join(map(str, case.axes)),
                  "layout": case.layout, "ceiling_us": self.ceiling(case)}
        try:
            plan, outputs, queue = self.ndfold_of(case, inputs)
            queue(0)
            torch.cuda.synchronize()
            if case.layout != "reversed":
                result["difference"] = worst_difference(case, outputs[0], inputs[0])
            result["strategy"] = plan.strategy
            result["ndfold_us"] = median_microseconds(queue, case.bytes_moved)
            result["share"] = result["ceiling_us"] / result["ndfold_us"]
        except RuntimeError as error:
            result["error"] = str(error)
        if self.options.forced:
            result["forced_us"] = self.forced(case, inputs)
        if case.layout != "reversed" and self.options.peers != "none":
            self.measure_peers(case, inputs, result)
        del inputs
        return result

    def once(self, case):
        """One run, for a profiler that looks on."""
        inputs = [laid_out(case, 0)]
        _, _, queue = self.ndfold_of(case, inputs)
        queue(0)
        torch.cuda.synchronize()

    def forced(self, case, inputs):
        found = {}
        for strategy in STRATEGIES:
            try:
                _, _, queue = self.ndfold_of(case, inputs, strategy)
                found[strategy] = median_microseconds(queue, case.bytes_moved)
            except RuntimeError:
                continue
        return found

    def measure_peers(self, case, inputs, result):
        function = torch_function(case)
        count = len(inputs)
        peers = {"torch": function}
        if self.options.peers == "all":
            peers["compile"] = torch.compile(function, dynamic=False)
        for name, call in peers.items():
            try:
                with torch.no_grad():
                    result[f"{name}_us"] = median_microseconds(lambda i, call=call: call(inputs[i % count]),
                                                               case.bytes_moved)
            except Exception as error:  # whatever a peer throws is its own business
                result[f"{name}_error"] = f"{type(error).__name__}: {error}"[:200]
        torch._dynamo.reset()
        times = [result[f"{name}_us"] for name in peers if f"{name}_us" in result]
        if times and "ndfold_us" in result:
            result["times_best_peer"] = min(times) / result["ndfold_us"]


def told_by(*command):
    """What it prints; nothing where it is not here."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""


def context(commit):
    clocks = told_by("nvidia-smi", "--query-gpu=driver_version,clocks.sm,clocks.mem", "--format=csv,noheader")
    clocks = clocks.split("\n")[0]  # of the first GPU
    return {"device": torch.cuda.get_device_properties(0).name, "driver_and_clocks": clocks, "torch": torch.__version__,
            "commit": commit or told_by("git", "-C", str(TOP), "rev-parse", "--short", "HEAD")}


def line(result):
    def number(key, digits=1):
        return f"{result[key]:.{digits}f}" if key in result else "–"
    return (f"{result['op']:11} {result['name']:14} {result['dtype']:5} {result['layout'][:8]:8} "
            f"{result.get('strategy', ''):19} {number('ndfold_us'):>9} {number('ceiling_us'):>8} "
            f"{number('share', 2):>5} {number('torch_us'):>9} {number('compile_us'):>9} "
            f"{number('times_best_peer', 2):>6} {result.get('difference', 0):8.1e} {result.get('error', '')}")


def regret(result):
    """The chosen strategy's time over the best's, as a row of a table."""
    forced = result["forced_us"]
    best = min(forced, key=forced.get)
    ours = result.get("ndfold_us", forced.get(result.get("strategy")))
    return result | forced | {"chosen": result.get("strategy"), "chosen_us": ours, "best": best,
                              "regret": ours / forced[best] if ours else None}


def write(folder, results, where, name="gpu"):
    (folder / f"{name}.json").write_text(json.dumps({"context": where, "cases": results}, indent=1), encoding="utf-8")
    write_table(folder / f"{name}.csv", where, COLUMNS, results)
    regrets = [regret(result) for result in results if result.get("forced_us")]
    if regrets:
        write_table(folder / "regret.csv", where, REGRET_COLUMNS, regrets)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=pathlib.Path, default=TOP / "build/cuda/bench/libndfold_bench_gpu.so")
    parser.add_argument("--regime", action="append", metavar="NAME", help="only this one; may be given again")
    parser.add_argument("--filter", default="", metavar="TEXT", help="only cases whose name or operation holds this")
    parser.add_argument("--peers", choices=("all", "eager", "none"), default="all")
    parser.add_argument("--forced", action="store_true", help="also every strategy by name: the regret of the choice")
    parser.add_argument("--once", action="store_true", help="each case runs once and is not timed: for a profiler")
    parser.add_argument("--sweep", action="store_true",
                        help="instead of the cases: rows x length over powers of two and neighbours, both orientations")
    parser.add_argument("--seconds", type=float, default=gpu_sweep.SECONDS, metavar="N",
                        help="of a sweep: the coarse grid comes first, then finer ones while there is time; "
                        f"{gpu_sweep.SECONDS} by default")
    parser.add_argument("--random", type=int, metavar="SEED", help="instead of the cases: problems that nobody chose, "
                        "as many as --count says; random.json and random.csv")
    parser.add_argument("--count", type=int, default=200, metavar="N", help="of them; 200 by default")
    parser.add_argument("--host", action="store_true", help="instead of the cases: what calls cost the host")
    parser.add_argument("--commit", metavar="NAME", help="what was built, where this folder is no clone")
    parser.add_argument("--out", type=pathlib.Path, metavar="FOLDER",
                        help="also gpu.json and gpu.csv there, regret.csv (--forced), sweep.csv or host.csv")
    return parser.parse_args()


def measure_cases(library, options, where):
    bench = Bench(library, options)
    results = []
    print(f"{'op':11} {'case':14} {'dtype':5} {'layout':8} {'strategy':19} {'ndfold us':>9} {'ceiling':>8} "
          f"{'share':>5} "
          f"{'torch':>9} {'compile':>9} {'x peer':>6} {'differs':>8}")
    random = options.random is not None
    for case in gpu_cases.random_cases(options.random, options.count) if random else gpu_cases.all_cases():
        if case.regime not in (options.regime or [case.regime]):
            continue
        if options.filter not in case.name and options.filter not in case.op:
            continue
        if options.once:
            bench.once(case)
            continue
        results.append(bench.measure(case))
        print(line(results[-1]), flush=True)
        if options.out:
            write(options.out, results, where, "random" if random else "gpu")
    return sum("error" in result for result in results)


def main():
    options = parse()
    where = context(options.commit)
    print(*(f"{key}: {value}" for key, value in where.items()), sep="\n")
    library = Library(options.library)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
    refused = 0
    if options.host:
        gpu_host.run(library, where, options.out)
    if options.sweep:
        refused = gpu_sweep.run(library, where, options.out, options.seconds)
    if not options.host and not options.sweep:
        refused = measure_cases(library, options, where)
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
