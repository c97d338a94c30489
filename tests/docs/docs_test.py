"""The documents are true: their commands print what they say, their C++ compiles and runs, their table is the
library's, their links lead somewhere, the glossary knows every public type, and docs/kernels.md every barrier.
Skipped (77) without NumPy and SciPy, whose photograph the commands use.
Usage: docs_test.py SOURCE_FOLDER COMPILER NDFOLD OP_TABLE LIBRARY... NDFOLD_BLESS=1 in the environment rewrites them.
"""
import bz2
import collections
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

try:
    import numpy
    import scipy
except ImportError:
    sys.exit(77)

BLOCK = re.compile(r"^```(cpp|console|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TABLE = re.compile(r"(<!-- table: tests/docs/op_table\.cpp -->\n)(.*?)(<!-- end -->)", re.DOTALL)
DETAIL = re.compile(r"namespace detail \{.*?\}  // namespace detail", re.DOTALL)
TYPE = re.compile(r"^(?:struct|class|enum class|concept) (?:\[\[nodiscard\]\] )?([A-Z]\w+)", re.MULTILINE)
FUNCTION = re.compile(r"__device__.*?\b(\w+)\(|\b(\w+)\(const __grid_constant__")
BARRIER = re.compile(r"\b(block|cluster|read_cluster|this_grid\(\))\.sync\(\)")
BARRIER_ROW = re.compile(r"^\| \[`(\w+\.h)`\]\(\S+\) \| `(\w+)` \| `(\S+)` \|", re.MULTILINE)
LINK = re.compile(r"\]\(([^)#\s]+)(#[^)\s]+)?\)")


def output(command, folder, must_work=True):
    """What a command prints, errors after the rest."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    text = done.stdout + done.stderr
    if must_work and done.returncode != 0:
        sys.exit(f"{command[0]} failed:\n{text}")
    return text if text.endswith("\n") or not text else text + "\n"


def write_photograph(folder):
    """photo.npy as ./demo makes it: a raccoon in Mississippi, public domain, out of Debian's python3-scipy."""
    stored = pathlib.Path(scipy.__file__).parent / "misc" / "face.dat"
    numpy.save(folder / "photo.npy",
               numpy.frombuffer(bz2.decompress(stored.read_bytes()), "u1").reshape(768, 1024, 3).astype("f4"))


class Documents:
    def __init__(self, top, compiler, ndfold, libraries, folder):
        self.top, self.compiler, self.ndfold, self.libraries = top, compiler, ndfold, libraries
        self.folder, self.last = folder, None

    def console(self, text):
        """Every "$ ndfold …" again, each with what it prints now."""
        lines = []
        for command in re.findall(r"^\$ (.*)$", text, re.MULTILINE):
            words = shlex.split(command)
            assert words[0] == "ndfold", f"only ndfold is run here, not {words[0]}"
            lines += [f"$ {command}\n", output([self.ndfold, *words[1:]], self.folder, must_work=False)]
        return "".join(lines)

    def program(self, text):
        """Compiles and runs a whole program; the next text block is what it prints."""
        source, binary = self.folder / "block.cpp", self.folder / "block"
        source.write_text(text, encoding="utf-8")
        output([self.compiler, "-std=c++20", "-Wall", "-Wextra", f"-I{self.top}/include", source, *self.libraries,
                "-pthread", "-o", binary], self.folder)
        self.last = output([binary], self.folder)

    def source(self, text):
        """Compiles a whole source file of the library; nothing runs."""
        source = self.folder / "source.cpp"
        source.write_text(text, encoding="utf-8")
        output([self.compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{self.top}",
                f"-I{self.top}/include", source], self.folder)

    def block(self, match):
        language, text = match.groups()
        if language == "console":
            text = self.console(text)
        elif language == "cpp" and "int main" in text:
            self.program(text)
        elif language == "cpp" and '#include "' in text:
            self.source(text)
        elif language == "text" and self.last is not None:
            text, self.last = self.last, None
        return f"```{language}\n{text}```"

    def now(self, text, table):
        text = TABLE.sub(lambda match: match.group(1) + table + match.group(3), text)
        return BLOCK.sub(self.block, text)


def dead_links(path, text):
    for target, _ in LINK.findall(text):
        if "://" not in target and not (path.parent / target).exists():
            yield f"{path.name} links to {target}, which is not there"


def unknown_words(top):
    """Public types that the glossary does not have."""
    glossary = (top / "docs/glossary.md").read_text(encoding="utf-8")
    for header in sorted((top / "include/ndfold").glob("*.h")):
        text = DETAIL.sub("", header.read_text(encoding="utf-8"))
        for name in TYPE.findall(text):
            if f"`{name}`" not in glossary:
                yield f"docs/glossary.md lacks {name} of {header.name}"


def barriers_in_kernels(top):
    """How often (file, function, barrier) is in the CUDA kernels."""
    found = collections.Counter()
    for header in sorted((top / "kernels/cuda").glob("*.h")):
        function = ""
        for line in header.read_text(encoding="utf-8").splitlines():
            if named := FUNCTION.search(line):
                function = named[named.lastindex]
            if barrier := BARRIER.search(line):
                found[header.name, function, barrier[1]] += 1
    return found


def untold_barriers(top):
    """docs/kernels.md has a row for each barrier, and no row too many."""
    told = collections.Counter(BARRIER_ROW.findall((top / "docs/kernels.md").read_text(encoding="utf-8")))
    there = barriers_in_kernels(top)
    assert there, "no barrier was found in kernels/cuda"
    for place in sorted(told | there):
        if told[place] != there[place]:
            file, function, barrier = place
            yield (f"docs/kernels.md tells of {told[place]} barriers {barrier} in {function}() of {file}, "
                   f"which has {there[place]}")


def first_difference(before, after):
    """Where two texts part: the line, and both versions of it."""
    old, new = before.splitlines(), after.splitlines()
    for i, (a, b) in enumerate(zip(old + [""], new + [""])):
        if a != b:
            return f"line {i + 1}\n  says   {a}\n  is     {b}"
    return f"line {min(len(old), len(new)) + 1}: the rest"


def main():
    bless = os.environ.get("NDFOLD_BLESS") == "1"
    top, compiler = pathlib.Path(sys.argv[1]), sys.argv[2]
    ndfold, op_table, *libraries = (str(pathlib.Path(path).absolute()) for path in sys.argv[3:])
    table, found, blocks = output([op_table], top), [], 0
    with tempfile.TemporaryDirectory() as folder:
        write_photograph(pathlib.Path(folder))
        documents = Documents(top, compiler, ndfold, libraries, pathlib.Path(folder))
        for path in [top / "README.md", top / "CONTRIBUTING.md", *sorted((top / "docs").rglob("*.md"))]:
            text = path.read_text(encoding="utf-8")
            blocks += len(BLOCK.findall(text))
            found += dead_links(path, text)
            now = documents.now(text, table)
            if now != text and bless:
                path.write_text(now, encoding="utf-8")
            elif now != text:
                found.append(f"{path.relative_to(top)} {first_difference(text, now)}")
    found += [*unknown_words(top), *untold_barriers(top)]
    if found and not bless:
        found.append("NDFOLD_BLESS=1 lets them say what commands, programs and tables print now")
    assert TABLE.search((top / "README.md").read_text(encoding="utf-8")), "README.md has lost its table"
    print(*found, f"{blocks} blocks, {'some' if found else 'none'} untrue", sep="\n")
    return 1 if found or blocks == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
