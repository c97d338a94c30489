"""The rooms and what each may include: fails when an #include line reaches where it may not.
Usage: includes_test.py SOURCE_FOLDER"""
import pathlib
import re
import sys

PUBLIC, FOLDS = "include/ndfold", "kernels/folds"
LIBRARY = {PUBLIC, "plans", FOLDS, "kernels"}

# Folder -> folders it may include, itself aside. The longest folder that holds a file is its room. ANY: no rule.
ANY = None
ROOMS = {
    PUBLIC: set(),
    "plans": {PUBLIC},
    FOLDS: {PUBLIC},
    "kernels": {PUBLIC, FOLDS},
    "lib/exec": LIBRARY,
    "lib/exec/cpu": LIBRARY | {"lib/exec"},
    "lib/exec/cuda": LIBRARY | {"lib/exec"},
    "lib/api": LIBRARY | {"lib/exec", "lib/exec/cpu", "lib/exec/cuda"},
    "lib/io": {PUBLIC},
    "tools": {PUBLIC, "lib/io"},
    "bench": ANY,
    "examples": {PUBLIC},
    "cmake": {PUBLIC},
    "tests": ANY,
    "tests/consumer": {PUBLIC},
}

# Libraries by the start of their headers -> the rooms that may use them. What is not here is the standard library.
OUTSIDE = {
    "Eigen/": {"kernels", "lib/exec/cpu"},
    "cooperative_groups": {"kernels"},
    "cuda": {"lib/exec/cuda", "tools", "examples"},
    "unsupported/Eigen/": {"lib/exec/cpu"},
    "CLI/": {"tools"},
    "nlohmann/": {"plans"},
    "benchmark/": {"tools"},
    "gtest/": set(),
    "gmock/": set(),
    "rapidcheck": set(),
}
PURE = {PUBLIC, FOLDS}  # the rooms that any compiler has to understand: no system headers

# Kernels know the treaty (step.h), not who plans or caches.
PLANS = {"ndfold/plan.h", "ndfold/plan_cache.h", "ndfold/ndfold.h"}

SOURCE = {".h", ".cpp", ".cu", ".cuh", ".c"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def room_of(path):
    """The longest known folder that holds `path`, or None."""
    return max((room for room in ROOMS if path.startswith(room + "/")), key=len, default=None)


def violation(path, bracket, header, exists):
    """Why the file `path` may not include `header`, or None. `exists` tells whether a path is in the repository."""
    room = room_of(path)
    if room is None:
        return "is in a folder that tests/house/includes_test.py does not know"
    if header.startswith("ndfold/"):
        if room == "kernels" and header in PLANS:
            return f"includes <{header}>: kernels know steps, not plans"
        target = PUBLIC
        if bracket != "<":
            return f'includes "{header}": public headers are written in angle brackets'
    elif bracket == '"':
        if not exists(header):
            return f'includes "{header}", which is no path from the repository root'
        target = room_of(header)
    else:
        return outside_violation(room, header)
    allowed = ROOMS[room]
    if allowed is ANY or target == room or target in allowed:
        return None
    return f"includes {header}: {room} may not see {target}"


def outside_violation(room, header):
    """Why a file of `room` may not include the outside header, or None."""
    if ROOMS[room] is ANY:
        return None
    for prefix, rooms in OUTSIDE.items():
        if header.startswith(prefix) and room not in rooms:
            return f"includes <{header}>: {room} does not use that library"
    if room in PURE and header.endswith(".h") and not header.startswith(tuple(OUTSIDE)):
        return f"includes <{header}>: {room} uses the C++ standard library alone"
    return None


def self_test():
    """The rules catch what they are there for."""
    everything = lambda header: not header.startswith("nowhere")
    forbidden = [
        ("plans/problem.cpp", '"', "kernels/folds/sum.h"), ("plans/problem.cpp", '"', "lib/api/plan.h"),
        ("include/ndfold/view.h", '"', "plans/problem.h"), ("include/ndfold/view.h", "<", "Eigen/Core"),
        ("kernels/folds/sum.h", '"', "kernels/cpu/pack.h"), ("kernels/cpu/rows.cpp", "<", "ndfold/plan.h"),
        ("kernels/cpu/rows.cpp", '"', "plans/problem.h"), ("lib/exec/cpu/run.cpp", '"', "lib/exec/cuda/run.h"),
        ("lib/exec/cpu/run.cpp", '"', "lib/api/plan.h"), ("lib/io/npy.cpp", '"', "plans/problem.h"),
        ("tools/main.cpp", '"', "plans/problem.h"), ("kernels/cuda/rows.h", "<", "cuda_runtime.h"),
        ("plans/cost.cpp", "<", "cooperative_groups.h"), ("lib/api/plan.cpp", '"', "tests/support/reference.h"),
        ("plans/problem.cpp", '"', "nowhere.h"), ("plans/problem.cpp", '"', "ndfold/view.h"),
        ("attic/old.cpp", "<", "vector"), ("kernels/folds/sum.h", "<", "unistd.h"),
    ]
    allowed = [
        ("plans/build/rows.cpp", '"', "plans/schedule.h"), ("kernels/cpu/catalog.cpp", "<", "ndfold/step.h"),
        ("kernels/cpu/rows.cpp", '"', "kernels/folds/sum.h"), ("kernels/cpu/rows.cpp", "<", "Eigen/Core"),
        ("kernels/cuda/rows.h", "<", "cooperative_groups.h"),
        ("lib/api/plan.cpp", '"', "lib/exec/cpu/run.h"), ("tests/api/plan_test.cpp", '"', "plans/problem.h"),
        ("lib/io/npy.cpp", "<", "unistd.h"), ("tools/main.cpp", "<", "CLI/CLI.hpp"),
    ]
    for case in forbidden:
        assert violation(*case, everything), f"not caught: {case}"
    for case in allowed:
        assert not violation(*case, everything), f"wrongly refused: {case}"


def main():
    self_test()
    top = pathlib.Path(sys.argv[1])
    hidden = re.compile(r"^(build|\.)")
    found, seen = [], 0
    for file in sorted(top.rglob("*")):
        path = file.relative_to(top).as_posix()
        if file.suffix not in SOURCE or hidden.match(path):
            continue
        seen += 1
        if room_of(path) is None:
            found.append(f"{path} {violation(path, '<', '', None)}")
        for bracket, header in INCLUDE.findall(file.read_text(encoding="utf-8")):
            why = violation(path, bracket, header, lambda name: (top / name).is_file())
            if why and room_of(path):
                found.append(f"{path} {why}")
    print(*found, f"{seen} files, {len(found)} violations", sep="\n")
    return 1 if found or seen == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
