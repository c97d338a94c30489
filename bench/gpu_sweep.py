"""The sweep on a GPU: ndfold on rows × length over powers of two and their neighbours, in both orientations, each point
beside what the bus allows for as many bytes. No point may be a cliff."""
import gc
import math
import time
from dataclasses import replace

import torch

from gpu_files import write_table
from gpu_points import BAR, ELEMENT, FLOOR, MOST, allowed_microseconds, coarse_points, fine_points
from gpu_timing import ROTATED_BYTES, Pace, median_microseconds

SECONDS = 240
QUICK = Pace(samples=3, sample_seconds=0.003, warm_calls=1, least_calls=1, dropped_replays=1)
CAREFUL = replace(QUICK, samples=7, sample_seconds=0.006, warm_calls=3)
DOUBTFUL = 12          # of the worst points are measured again at the end, with all care
WORST = 10             # are printed
COLUMNS = ("op", "orientation", "rows", "length", "bytes", "strategy", "us", "gigabytes_per_second", "ceiling_us",
           "share", "error")


class Sweep:
    def __init__(self, library):
        self.library, self.times = library, {}
        room = max(MOST, ROTATED_BYTES // ELEMENT) + 64
        self.source = torch.randn(room, device="cuda", dtype=torch.float32)
        self.target = torch.empty(room, device="cuda", dtype=torch.float32)
        self.scratch = torch.empty(256, device="cuda", dtype=torch.uint8)
        gc.freeze()  # a capture collects garbage: what is here by now is none

    def run(self, coarse, fine, seconds):
        """The coarse points, and the fine ones until so much time has gone; all by growing size."""
        end = time.monotonic() + seconds
        results = [self.measure(point, QUICK) for point in coarse]
        print(f"{len(results)} points of the coarse grid, {end - time.monotonic():.0f} s left", flush=True)
        for point in fine:
            if time.monotonic() > end:
                print(f"{len(coarse) + len(fine) - len(results)} points left out: {seconds:.0f} s are over", flush=True)
                break
            results.append(self.measure(point, QUICK))
        for result in worst_of(results, DOUBTFUL):
            result.update(self.measure(result["point"], CAREFUL))
        return sorted(results, key=lambda result: (result["point"].count.bit_length(), result["length"]))

    def measure(self, point, pace):
        """One row of the table; a refusal is one, too."""
        result = {"point": point, "op": point.op, "orientation": point.orientation, "rows": point.rows,
                  "length": point.length, "bytes": point.bytes_moved, "ceiling_us": self.ceiling(point)}
        try:
            strategy, queue = self.prepared(point)
            found = median_microseconds(queue, point.bytes_moved, pace)
        except RuntimeError as error:
            return result | {"error": str(error)}
        return result | {"strategy": strategy, "us": found, "gigabytes_per_second": point.bytes_moved / found * 1e-3,
                         "share": result["ceiling_us"] / found}

    def prepared(self, point):
        inputs = self.parts(self.source, point.count, point.shape, point.bytes_moved)
        outputs = self.parts(self.target, point.outputs, point.out_shape, point.bytes_moved)
        plan = self.library.plan(point.op, inputs[0], outputs[0], point.axes)
        if self.scratch.numel() < plan.workspace:
            self.scratch = torch.empty(plan.workspace, device="cuda", dtype=torch.uint8)
        scratch, turns = self.scratch, min(len(inputs), len(outputs))
        return plan.strategy, lambda i: plan.run(inputs[i % turns], outputs[i % turns], scratch)

    @staticmethod
    def parts(pool, count, shape, bytes_moved):
        """Views of as many elements, one behind the other, until more than a cache went by."""
        step = -(-count // 64) * 64  # each begins where an allocation of its own would be aligned
        turns = max(1, min(64, ROTATED_BYTES // bytes_moved, (pool.numel() - count) // step + 1))
        return [pool[i * step:i * step + count].view(shape) for i in range(turns)]

    def ceiling(self, point):
        """At the rates of the nearest power of two."""
        count = 2**round(math.log2(point.count))
        if count not in self.times:
            size = ELEMENT * count
            inputs = self.parts(self.source, count, (count,), size)
            targets = self.parts(self.target, count, (count,), size)
            turns, scratch = len(inputs), self.scratch
            read = median_microseconds(lambda i: self.library.read(inputs[i % turns], scratch), size, CAREFUL)
            copy = median_microseconds(lambda i: targets[i % turns].copy_(inputs[i % turns]), 2 * size, CAREFUL)
            self.times[count] = read, copy, size
        return allowed_microseconds(point, *self.times[count])


def worst_of(results, count):
    """Above FLOOR; what was refused comes first."""
    judged = [result for result in results if ELEMENT * result["point"].count > FLOOR]
    return sorted(judged, key=lambda result: result.get("share", 0))[:count]


def line(result):
    shape = "x".join(map(str, result["point"].shape))
    head = f"{result['op']:8} {result['orientation']:8} {shape:>20}"
    if "error" in result:
        return f"{head} {result['error']}"
    return (f"{head} {result['strategy']:19} {result['us']:10.1f} {result['gigabytes_per_second']:7.0f} "
            f"{result['ceiling_us']:9.1f} {result['share']:6.2f}")


def run(library, where, folder, seconds, coarse=None, fine=None):
    """Prints the worst points, writes sweep.csv where a folder is given; the number of points that were refused."""
    sweep = Sweep(library)
    results = sweep.run(coarse or coarse_points(), fine or fine_points(), seconds)
    for count, (read, copy, size) in sorted(sweep.times.items()):
        print(f"ceilings at {size / 2**20:.4g} MiB: read {size / read * 1e-3:.0f} GB/s, "
              f"copy {2 * size / copy * 1e-3:.0f} GB/s ({count} elements)")
    below = sum(result.get("share", 0) < BAR for result in worst_of(results, len(results)))
    print(f"{len(results)} points, {below} of them below {BAR} of the ceiling; the worst:")
    print(f"{'op':8} {'':8} {'shape':>20} {'strategy':19} {'us':>10} {'GB/s':>7} {'ceiling':>9} {'share':>6}")
    for result in worst_of(results, WORST):
        print(line(result))
    if folder:
        write_table(folder / "sweep.csv", where, COLUMNS, results)
    return sum("error" in result for result in results)
