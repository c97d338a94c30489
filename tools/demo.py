"""A softmax over both image axes of a photograph: computed by ndfold, on a GPU where there is one, checked against
SciPy, explained and timed.

Usage: demo.py --ndfold PATH [--keep]
"""
import argparse
import bz2
import json
import math
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
import scipy
import scipy.special

SHAPE = (768, 1024, 3)  # of the photograph that SciPy ships
AXES = (0, 1)
SCALE = 0.125  # 1/temperature: a pixel 8 levels brighter weighs e times as much
COLOURS = ("red", "green", "blue")


def photograph():
    """A raccoon in Mississippi, public domain, out of Debian's python3-scipy, as f32."""
    stored = pathlib.Path(scipy.__file__).parent / "misc" / "face.dat"
    return numpy.frombuffer(bz2.decompress(stored.read_bytes()), "u1").reshape(SHAPE).astype("f4")


def softmax_bound(scaled, axes):
    """The relative error that docs/numerics.md allows each element, in f32: see softmax_bound() in tests/support."""
    u = 2.0**-24
    n = math.prod(scaled.shape[axis] for axis in axes)
    log_n, merges = math.log(n), math.ceil(math.log2(n)) + 4
    height = min(n, 80) + merges
    largest = scaled.max(axis=axes, keepdims=True)
    distance = largest - scaled
    exponential = 4 * u
    scaling = u * (abs(scaled) + abs(largest) + distance) + 2 * u * (abs(largest) + log_n)
    total = 2 * u * log_n + exponential + merges * (exponential + u) + height * u / (1 - height * u)
    return u * distance + scaling + exponential + total + 5 * u


def median_seconds(work, repeats=7):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


class Command:
    """The command line, run in a folder."""

    def __init__(self, path, folder):
        self.path, self.folder = path, folder

    def run(self, *arguments):
        done = subprocess.run([self.path, *arguments], cwd=self.folder, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"ndfold {' '.join(arguments)}: exit code {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def device(self):
        """The option that names this machine's first GPU; none where there is no GPU."""
        names = self.run("devices").splitlines()[0].split()
        return ("--device", "cuda:0") if any(name.startswith("cuda:") for name in names) else ()

    def bench(self, *arguments):
        """Medians of a plan's run and of a copy, without the process and the files around them: seconds and bytes/s."""
        report = json.loads(self.run("bench", *arguments, "--json"))
        unit = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}
        return {row["name"].split("/")[0]: (row["real_time"] * unit[row["time_unit"]], row["bytes_per_second"])
                for row in report["benchmarks"] if row.get("aggregate_name") == "median"}

    def bench_seconds(self, *arguments):
        return self.bench(*arguments)["plan"][0]


def check(photo, result):
    """Prints how far `result` is from SciPy's softmax in float64; ends the demo when that is too far."""
    scaled = photo.astype("f8") * SCALE
    expected = scipy.special.softmax(scaled, axis=AXES)
    error = abs(result - expected) / expected
    bound = softmax_bound(scaled, AXES)
    total = abs(result.sum(axis=AXES, dtype="f8") - 1).max()
    peer = abs(scipy.special.softmax(photo * numpy.float32(SCALE), axis=AXES) - expected) / expected
    print(f"checked    {result.size} numbers against SciPy in float64: the worst relative error is {error.max():.1e}")
    print(f"           the documented bound is {bound.min():.1e} to {bound.max():.1e}, of which at most "
          f"{100 * (error / bound).max():.1f} % is used; SciPy in f32 errs by {peer.max():.1e}")
    print(f"           the weights of each colour add up to 1 within {total:.0e}")
    if not numpy.all(error <= bound):
        sys.exit("FAILED: the error is over the documented bound")


def show_times(ndfold, photo, device):
    axes = ",".join(map(str, AXES))
    case = ("--op", "softmax", "--shape", ",".join(map(str, SHAPE)), "--axes", axes, "--scale", str(SCALE))
    one = ndfold.bench_seconds(*case, "--threads", "1")
    every = ndfold.bench_seconds(*case)
    whole = median_seconds(lambda: ndfold.run("softmax", "photo.npy", "-o", "again.npy", "--axes", axes, *device))
    peer = median_seconds(lambda: scipy.special.softmax(photo * numpy.float32(SCALE), axis=AXES))
    (ndfold.folder / "again.npy").unlink()
    print(f"timed      ndfold {one * 1e3:.2f} ms on 1 thread, {every * 1e3:.2f} ms on all cores; "
          f"SciPy in f32 {peer * 1e3:.2f} ms on its 1 thread")
    if device:
        rows = ndfold.bench(*case, *device)
        print(f"           on the GPU {rows['plan'][0] * 1e6:.1f} us, {rows['plan'][1] / 1e9:.0f} GB/s: "
              f"{100 * rows['plan'][1] / rows['memcpy'][1]:.0f} % of a copy within it")
    print(f"           the whole command, with its start and both files: {whole * 1e3:.1f} ms (medians of 7)")


def show_peaks(ndfold, photo, result):
    ndfold.run("reduce", "peaks.npy", "-o", "where.npy", "--op", "argmax", "--axes", ",".join(map(str, AXES)))
    where = numpy.load(ndfold.folder / "where.npy")
    for channel, colour in enumerate(COLOURS):
        row, column = numpy.unravel_index(where[channel], SHAPE[:2])
        level, weight = photo[row, column, channel], result[row, column, channel]
        half = numpy.searchsorted(numpy.cumsum(numpy.sort(result[..., channel], axis=None)[::-1], dtype="f8"), 0.5) + 1
        print(f"{colour:<10} peaks at row {row}, column {column} (level {level:.0f} of 255, weight {weight:.2e}); "
              f"half of the weight lies on {half} of {math.prod(SHAPE[:2])} pixels")


def demonstrate(ndfold):
    photo = photograph()
    numpy.save(ndfold.folder / "photo.npy", photo)
    axes = ",".join(map(str, AXES))
    print(f"photo      {SHAPE[0]} x {SHAPE[1]} pixels x {SHAPE[2]} colours in f32, out of Debian's python3-scipy")
    device = ndfold.device()
    command = ("softmax", "photo.npy", "-o", "peaks.npy", "--axes", axes, "--scale", str(SCALE), *device)
    print(f"computed   ndfold {' '.join(command)}")
    ndfold.run(*command)
    result = numpy.load(ndfold.folder / "peaks.npy")
    check(photo, result)
    shape = ",".join(map(str, SHAPE))
    explain = ("explain", "--op", "softmax", "--shape", shape, "--axes", axes, "--scale", str(SCALE), *device)
    print(f"explained  ndfold {' '.join(explain)}")
    for line in ndfold.run(*explain).splitlines():
        if not line.startswith("refused"):
            print(f"           {line}")
    show_times(ndfold, photo, device)
    show_peaks(ndfold, photo, result)
    shown = (255 * (result / result.max(axis=AXES)) ** 0.25).astype("u1")
    (ndfold.folder / "peaks.ppm").write_bytes(b"P6 %d %d 255\n" % (SHAPE[1], SHAPE[0]) + shown.tobytes())


def main():
    parser = argparse.ArgumentParser(description="ndfold on a real photograph: computed, checked, explained, timed.")
    parser.add_argument("--ndfold", required=True, type=pathlib.Path, help="the command line to use")
    parser.add_argument("--keep", action="store_true", help="leave the files, and a picture of the result, to look at")
    arguments = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="ndfold-demo-"))
    try:
        demonstrate(Command(arguments.ndfold.resolve(), folder))
        if arguments.keep:
            print(f"kept       {folder}: " + " ".join(sorted(file.name for file in folder.iterdir())))
        else:
            print("           ./demo --keep leaves the files and a picture, peaks.ppm, to look at")
    finally:
        if not arguments.keep:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
