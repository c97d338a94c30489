"""The public headers refuse fast-math. Usage: fast_math_test.py SOURCE_FOLDER COMPILER"""
import pathlib
import sys

from headers_test import compile_text

PROGRAM = "#include <ndfold/version.h>\n"
REFUSED = "ndfold needs IEEE arithmetic"


def main():
    top, compiler = pathlib.Path(sys.argv[1]), sys.argv[2]
    code, messages = compile_text(compiler, top, PROGRAM, "-O2")
    assert code == 0, messages
    for option in "-ffast-math", "-Ofast", "-ffinite-math-only":
        code, messages = compile_text(compiler, top, PROGRAM, option)
        assert code != 0 and REFUSED in messages, f"{option} was not refused:\n{messages}"
        print(f"{option} is refused")


if __name__ == "__main__":
    main()
