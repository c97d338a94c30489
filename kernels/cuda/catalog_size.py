"""How many kernels the CUDA catalog has, and how large its objects are; fails above a limit that is given."""
import argparse
import pathlib
import re
import subprocess
import sys

GUARD = re.compile(r" b _ZGV.*__device_stub__")


def kernels_in(path):
    """Each kernel has one function on the host that launches it, which guards one static variable."""
    listed = subprocess.run(["nm", str(path)], capture_output=True, text=True, check=True).stdout
    return len({line.split()[-1] for line in listed.splitlines() if GUARD.search(line)})


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("objects", nargs="+", type=pathlib.Path)
    parser.add_argument("--most-kernels", type=int)
    parser.add_argument("--most-mebibytes", type=float)
    options = parser.parse_args()
    objects = [path for path in options.objects if path.name.endswith(".cu.o")]
    kernels = sum(kernels_in(path) for path in objects)
    mebibytes = sum(path.stat().st_size for path in objects) / 2**20
    print(f"CUDA catalog: {kernels} kernels in {len(objects)} objects of {mebibytes:.1f} MiB")
    if not kernels:
        sys.exit("no kernel was found")
    if options.most_kernels and kernels > options.most_kernels:
        sys.exit(f"{kernels} kernels are more than {options.most_kernels}")
    if options.most_mebibytes and mebibytes > options.most_mebibytes:
        sys.exit(f"{mebibytes:.1f} MiB are more than {options.most_mebibytes:g}")


if __name__ == "__main__":
    main()
