"""What one instruction set's objects define, no other's do: the linker could pick the wrong one for an old machine.
Usage: levels_test.py SOURCE_FOLDER NM LEVEL=OBJECT,OBJECT... LEVEL=..."""
import re
import subprocess
import sys

CONSTANTS = "VuBbDdRr"  # data: the same bits whoever defines them


def shared_functions(nm, objects, level):
    """Functions that other objects may be linked to and whose name does not say the level."""
    lines = subprocess.run([nm, "--defined-only", "--demangle", "--format=posix", *objects],
                           capture_output=True, text=True, check=True).stdout.splitlines()
    symbols = (re.match(r"(.*) ([A-Za-z])(?: [0-9a-f]+)*$", line) for line in lines)
    globals_ = [m[1] for m in symbols if m and (m[2].isupper() or m[2] in "u") and m[2] not in CONSTANTS]
    assert globals_, f"no symbols in the objects of {level}"
    return sorted({name for name in globals_ if f"_{level}" not in name}), len(globals_)


def main():
    nm, bad = sys.argv[2], 0
    for argument in sys.argv[3:]:
        level, _, objects = argument.partition("=")
        shared, count = shared_functions(nm, objects.split(","), level)
        print(f"{level}: {count} functions, {len(shared)} of them shared", *shared, sep="\n  ")
        bad += len(shared)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
