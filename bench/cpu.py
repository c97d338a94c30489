#!/usr/bin/python3
"""Measures ndfold on this CPU beside its peers and the machine's own ceilings, and holds it against its bars.

One process, the same buffers for all, everybody in turn: see docs/performance.md. Without --library the preset "bench"
is built first. oneDNN (libdnnl-dev), PyTorch (python3-torch) and pictures (python3-matplotlib) are optional.
"""
import argparse
import os
import pathlib
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "bench"))
sys.dont_write_bytecode = True


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=pathlib.Path, metavar="PATH",
                        help="a libndfold_bench_cpu.so; nothing is built then")
    parser.add_argument("--regime", action="append", metavar="NAME", help="only this one; may be given again")
    parser.add_argument("--filter", default="", metavar="TEXT", help="only cases whose name holds this")
    parser.add_argument("--threads", metavar="LIST", help="1,2 by default, or 1 on one core")
    parser.add_argument("--mebibytes", type=float, default=64, metavar="N", help="of each input; 64 by default")
    parser.add_argument("--peers", choices=("all", "none"), default="all")
    parser.add_argument("--quick", action="store_true", help="one case of each kind, few samples: to see that it works")
    parser.add_argument("--sweep", action="store_true", help="also every power of two and its neighbours")
    parser.add_argument("--full", action="store_true", help="also the sweep, and the instructions an element in cache")
    parser.add_argument("--out", type=pathlib.Path, metavar="FOLDER", help="also cpu.json, cpu.csv and pictures there")
    parser.add_argument("--markdown", action="store_true", help="the summary as Markdown")
    parser.add_argument("--list", action="store_true", help="the cases, nothing is measured")
    return parser, parser.parse_args()


def built():
    """The library of the preset bench."""
    for words in (["--preset", "bench"], ["--build", "--preset", "bench"]):
        done = subprocess.run(["cmake", *words], cwd=TOP, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"cmake {' '.join(words)} failed:\n{(done.stdout + done.stderr)[-4000:]}")
    return TOP / "build/bench/bench/libndfold_bench_cpu.so"


def wanted_threads(parser, text):
    cores = len(os.sched_getaffinity(0))
    if not text:
        return [1, 2] if cores > 1 else [1]
    try:
        threads = sorted({int(word) for word in text.split(",")})
    except ValueError:
        parser.error(f"argument --threads: '{text}' is not a list of numbers")
    if threads[0] < 1:
        parser.error(f"argument --threads: {threads[0]} threads cannot work")
    if threads[-1] > cores:
        parser.error(f"argument --threads: {threads[-1]} threads, and only {cores} of the cores may be used")
    return threads


def chosen(parser, options, threads):
    import cpu_cases
    known = [regime.name for regime in cpu_cases.REGIMES]
    for name in options.regime or []:
        if name not in known:
            parser.error(f"argument --regime: '{name}' is none of {' '.join(known)}")
    cases = [cpu_cases.filled(case, options.mebibytes) for case in cpu_cases.cases_of(threads)]
    cases = [case for case in cases if case.regime in (options.regime or known) and case.threads in threads
             and options.filter in case.name]
    if options.quick:
        first = {}
        for case in cases:
            first.setdefault((case.regime, case.op, case.dtype), case)
        cases = list(first.values())
    return cases


def settings_of(options):
    from cpu_measure import Settings
    settings = Settings(peers=options.peers == "all", instructions=options.full)
    if options.quick:
        settings.samples, settings.sample_ns = 3, 2e5
    return settings


def introduce(where, library, settings, ceilings):
    import cpu_peers
    cores = where["usable_cpus"]
    print(f"ndfold {where['commit']}, {library.level} kernels, on {where['cpu']}, {cores} core{'s' * (cores > 1)}, "
          f"{where['date']}")
    if settings.peers:
        there = [name for name in library.contenders if not name.startswith("ndfold")] + list(cpu_peers.PEERS)
        print("peers:", ", ".join(there))
        for name, package in (("oneDNN", "libdnnl-dev"), ("PyTorch", "python3-torch")):
            if name not in there:
                print(f"left out: {name}, which is not here (Debian's {package})")
    for threads, found in ceilings.items():
        print(f"ceilings, {threads} thread{'s' * (threads > 1)}: " + ", ".join(
            f"{kind} {max(rates.values()):.1f} GB/s ({max(rates, key=rates.get)})"
            for kind, rates in found.items() if kind != "E"))
    rates = next(iter(ceilings.values()))["E"]
    text = ", ".join(f"{name} {rate:.1f}" for name, rate in rates.items())
    print(f"exponentials/ns a core: {text}; E is the first")


def tell(text):
    """Progress, where somebody looks on."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def measure_all(bench, cases):
    import cpu_report
    results, regime = [], None
    for case in cases:
        if case.regime != regime:
            regime = case.regime
            print(f"\n{cpu_report.title(regime)}\n{cpu_report.HEAD}")
        results.append(bench.measure(case))
        print(cpu_report.line(results[-1]), flush=True)
    return results


def main():
    parser, options = parse()
    if not 0 < options.mebibytes <= 4096:
        parser.error(f"argument --mebibytes: {options.mebibytes:g} is not between 0 and 4096")
    if options.library and not options.library.is_file():
        parser.error(f"argument --library: {options.library} is no file")
    threads = wanted_threads(parser, options.threads)
    cases = chosen(parser, options, threads)
    sweeping = options.sweep or options.full or "sweep" in (options.regime or [])
    if not cases and not sweeping:
        parser.error(f"no case's name holds '{options.filter}'; --list shows them")
    if options.list:
        print(*(case.name for case in cases), sep="\n")
        return 0

    import cpu_pictures
    import cpu_report
    from cpu_library import Buffers, Library
    from cpu_machine import context
    from cpu_measure import Bench
    from cpu_sweep import Sweep
    library = Library(options.library or built())
    settings = settings_of(options)
    bench = Bench(library, Buffers(settings.seed), settings)
    where = context(TOP, library) | {"mebibytes": options.mebibytes, "quick": options.quick}
    ceilings = {count: bench.machine_ceilings(options.mebibytes, count) for count in threads}
    where["ceilings"] = {f"{count} threads": found for count, found in ceilings.items()}
    introduce(where, library, settings, ceilings)
    results = measure_all(bench, cases)
    swept = Sweep(bench, tell).run(options.mebibytes, options.quick) if sweeping else []
    tell("")
    print("", cpu_report.summary_text(results + swept), *sorted(bench.notes), sep="\n")
    if options.markdown:
        print("", cpu_report.markdown(results + swept), sep="\n")
    if options.out and not cpu_pictures.pyplot:
        print("left out: pictures, for Matplotlib is not here (Debian's python3-matplotlib)")
    if options.out:
        print("", *(f"written: {file}" for file in cpu_report.write(options.out, results, swept, where)), sep="\n")
    refused = sum(bool(result.error) for result in results)
    if refused:
        print(f"\n{refused} of {len(results)} cases were refused")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
