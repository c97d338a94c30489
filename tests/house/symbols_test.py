"""libndfold.so shows the functions of the public headers and nothing else: no internals, no std or Eigen template.
Usage: symbols_test.py SOURCE_FOLDER SHARED_LIBRARY"""
import pathlib
import re
import subprocess
import sys

# One of every kind; if these are there, public_visibility.h and ndfold.map do their work.
EXPECTED = ["ndfold::ReducePlan::softmax(", "ndfold::ReducePlan::run(", "ndfold::ReducePlan::explain",
            "ndfold::reduce(", "ndfold::softmax(", "ndfold::permute(", "ndfold::output_desc(",
            "ndfold::PlanCache::PlanCache(", "ndfold::DeviceFacts::h200(", "ndfold::make_workers(",
            "ndfold::default_workers(", "ndfold::name(ndfold::Body)"]
OURS = re.compile(r"^(vtable for |typeinfo for |typeinfo name for |VTT for )?ndfold::")


def exported(library):
    """The defined dynamic symbols, demangled."""
    command = ["nm", "--dynamic", "--defined-only", "--demangle", "--format=posix", library]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return [re.sub(r" [A-Za-z]( [0-9a-f]+)*$", "", line) for line in lines]


def base_names(symbol):
    """Every identifier of the name of a function or variable: "ndfold::PlanCache::clear(int)" -> PlanCache, clear."""
    name = re.sub(r"\[abi:\w+\]", "", OURS.sub("", symbol))
    while re.search(r"<[^<>]*>", name):
        name = re.sub(r"<[^<>]*>", "", name)
    return [part.lstrip("~") for part in name.split("(")[0].split("::")]


def undeclared(symbol, words, opaque):
    """A symbol that the public headers do not declare. What `opaque` types hold takes their visibility."""
    names = base_names(symbol)
    if not OURS.match(symbol):
        return True
    return not any(name in opaque for name in names) and not all(
        name in words or name.startswith("operator") for name in names)


def main():
    top, library = pathlib.Path(sys.argv[1]), sys.argv[2]
    text = "".join(header.read_text(encoding="utf-8") for header in (top / "include/ndfold").glob("*.h"))
    text = re.sub(r"//.*", "", text)
    words = set(re.findall(r"\w+", text))
    opaque = set(re.findall(r"\bstruct (\w+);", text))
    for symbol in "Eigen::internal::pexp(int)", "std::vector<int>::~vector()", "ndfold::canonicalize(ndfold::Axis)":
        assert undeclared(symbol, words, opaque), f"would not be caught: {symbol}"

    symbols = exported(library)
    leaked = [symbol for symbol in symbols if undeclared(symbol, words, opaque)]
    absent = [name for name in EXPECTED if not any(symbol.startswith(name) for symbol in symbols)]
    print(*(f"leaks: {symbol}" for symbol in leaked), *(f"absent: {name}" for name in absent),
          f"{len(symbols)} exported, {len(leaked)} leaked, {len(absent)} absent", sep="\n")
    return 1 if leaked or absent else 0


if __name__ == "__main__":
    sys.exit(main())
