"""No source file is longer than 400 lines. Usage: sizes_test.py SOURCE_FOLDER"""
import pathlib
import sys

LIMIT = 400
SUFFIXES = {".h", ".cpp", ".c", ".cu", ".cuh", ".py", ".sh", ".cmake", ".in", ".map", ".json"}
NAMES = {"CMakeLists.txt", "check", "demo", "run"}


def is_source(path):
    """Not prose, not a build product, not data."""
    if path.parts[0] == "build" or any(p.startswith(".") and p != ".ci" for p in path.parts) or "golden" in path.parts:
        return False
    return path.suffix in SUFFIXES or path.name in NAMES


def too_long(text):
    return len(text.splitlines()) > LIMIT


def main():
    assert too_long("x\n" * (LIMIT + 1)) and not too_long("x\n" * LIMIT)
    assert is_source(pathlib.Path("plans/cost.cpp")) and is_source(pathlib.Path(".ci/run"))
    top = pathlib.Path(sys.argv[1])
    files = [f for f in sorted(top.rglob("*")) if f.is_file() and is_source(f.relative_to(top))]
    found = [f for f in files if too_long(f.read_text(encoding="utf-8"))]
    for file in found:
        print(f"{file.relative_to(top)} is longer than {LIMIT} lines")
    print(f"{len(files)} files, {len(found)} too long")
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main())
