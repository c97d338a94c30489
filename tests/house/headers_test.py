"""Every public header compiles by itself, with no warning. Usage: headers_test.py SOURCE_FOLDER COMPILER"""
import pathlib
import subprocess
import sys

WARNINGS = "-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror".split()


def compile_text(compiler, top, text, *options):
    """What the compiler says of `text`: (exit code, messages)."""
    command = [compiler, "-std=c++20", "-fsyntax-only", "-I", f"{top}/include", *options, "-x", "c++", "-"]
    done = subprocess.run(command, input=text, text=True, capture_output=True, check=False)
    return done.returncode, done.stderr


def main():
    top, compiler = pathlib.Path(sys.argv[1]), sys.argv[2]
    assert compile_text(compiler, top, "int unused(int x) { return 0; }", *WARNINGS)[0] != 0
    failed = 0
    headers = sorted((top / "include/ndfold").glob("*.h"))
    for header in headers:
        code, messages = compile_text(compiler, top, f"#include <ndfold/{header.name}>\n", *WARNINGS)
        if code:
            failed += 1
            print(f"{header.name} does not compile by itself:\n{messages}")
    print(f"{len(headers)} headers, {failed} failed")
    return 1 if failed or not headers else 0


if __name__ == "__main__":
    sys.exit(main())
