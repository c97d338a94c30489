"""Every source of ours is compiled with our warnings and hardening (cmake/options.cmake), and none with fast-math.
Usage: flags_test.py SOURCE_FOLDER COMPILE_COMMANDS"""
import json
import pathlib
import re
import sys

FAST = re.compile(r"\s-(Ofast|ffast-math|funsafe-math-optimizations|ffinite-math-only|fassociative-math"
                  r"|freciprocal-math|fno-signed-zeros|-use_fast_math)\b")
NEEDED = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-fvisibility=hidden",
          "-fstack-protector-strong", "-std=c++20"]


def complaints(command):
    """What is wrong with a compiler's command line."""
    found = [f"lacks {option}" for option in NEEDED if option not in command.split()]
    return found + [f"has {match.group(0).strip()}" for match in FAST.finditer(command)]


def main():
    top = pathlib.Path(sys.argv[1]).resolve()
    commands = json.loads(pathlib.Path(sys.argv[2]).read_text(encoding="utf-8"))
    good = "g++ -O2 -fno-fast-math " + " ".join(NEEDED) + " -c x.cpp"
    assert not complaints(good) and complaints(good.replace("-Wshadow", "")) and complaints(good + " -ffast-math")

    bad = 0
    for entry in commands:
        wrong = complaints(entry["command"])
        if wrong:
            bad += 1
            print(pathlib.Path(entry["file"]).relative_to(top), *wrong, sep=": ")
    print(f"{len(commands)} sources, {bad} with wrong flags")
    return 1 if bad or not commands else 0


if __name__ == "__main__":
    sys.exit(main())
