#!/usr/bin/env python3
"""Searches the tuning space on the GPU at hand, and writes a file for NDFOLD_TUNING.

Each case is planned by the strategy that ndfold chooses; cases that use the same row of the tuning table are one
question. Its answer is the numbers with which they take the least time (geometric mean), if that is clearly less than
the table's, holds when it is measured again, and gives the same results. Needs what bench/gpu.py needs.
"""
import argparse
import itertools
import math
import pathlib
import statistics
import sys
import time
from dataclasses import dataclass, field, replace

TOP = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "bench"))
sys.dont_write_bytecode = True

import torch  # noqa: E402

import gpu  # noqa: E402
import gpu_cases  # noqa: E402
from gpu_files import write_table  # noqa: E402
from gpu_library import Library, Tables  # noqa: E402
from gpu_timing import USUAL, median_microseconds  # noqa: E402

REGIMES = ("rows", "long_rows", "columns", "several", "half", "reduce", "reduce_half")
THREADS, LOADS, PANELS, BLOCKS = (128, 256, 512), (2, 4, 8), (64, 128, 256, 512), (2, 4, 8, 16)
SPACE = {"rows_in_bundles": {"threads": THREADS[:2], "unroll": LOADS},
         "rows_in_lanes": {"threads": THREADS, "unroll": LOADS, "lanes_per_row": (1, 2, 4, 8, 16, 32)},
         "rows_in_block": {"threads": THREADS, "unroll": LOADS},
         "rows_in_cluster": {"threads": THREADS, "unroll": LOADS, "cluster_blocks": BLOCKS},
         "rows_in_grid": {"threads": THREADS, "unroll": LOADS},
         "columns_in_block": {"threads": THREADS, "unroll": LOADS, "panel_bytes": PANELS},
         "columns_in_bundles": {"threads": THREADS, "unroll": LOADS},
         "columns_in_lanes": {"threads": THREADS, "unroll": LOADS},
         "columns_in_cluster": {"threads": THREADS, "unroll": LOADS, "panel_bytes": PANELS, "cluster_blocks": BLOCKS},
         "columns_in_grid": {"threads": THREADS, "unroll": LOADS, "panel_bytes": PANELS},
         "split": {"threads": THREADS, "unroll": LOADS, "panel_bytes": PANELS}}
QUICK = replace(USUAL, samples=3, sample_seconds=0.003, warm_calls=1, least_calls=1)
ROUNDS = 3              # in which a winner has to show that it is one
GAIN, LOSS = 0.97, 1.05  # of the table's time: what all cases together have to save, and what one of them may lose
TABLE = ("row", "case", "threads", "lanes_per_row", "unroll", "panel_bytes", "cluster_blocks", "us", "table_us")


@dataclass
class Question:
    """A row of the table, as name -> text, and the cases that use it."""
    row: dict
    cases: list = field(default_factory=list)
    times: dict = field(default_factory=dict)  # candidate -> {case's label: (us, us with the table's numbers)}

    @property
    def name(self):
        names = ("reduced_up_to", "bytes_up_to", "element_up_to")
        limits = [f"{key} {self.row[key]}" for key in names if self.row[key]]
        return " ".join([self.row["strategy"], *limits, *["softmax only"] * (self.row["softmax_only"] == "1")])

    def candidates(self):
        """Other numbers, as lines of a file."""
        space = SPACE[self.row["strategy"]]
        for values in itertools.product(*space.values()):
            line = self.line(dict(zip(space, map(str, values))))
            if line != self.line({}):
                yield line

    def line(self, changes):
        return ",".join((self.row | changes).values())

    def score(self, candidate):
        """The geometric mean of its times over the table's; None when it does not do every case."""
        times = self.times.get(candidate, {})
        if len(times) < len(self.cases):
            return None
        shares = [ours / tables for ours, tables in times.values()]
        return math.exp(statistics.fmean(map(math.log, shares))) if max(shares) <= LOSS else None

    def best(self):
        """(score, candidate), or None."""
        scores = [(score, candidate) for candidate in self.times if (score := self.score(candidate)) is not None]
        return min(scores, default=None)


def label(case):
    return f"{case.op} {case.dtype} {case.name} {case.layout}"


def is_same(a, b):
    """Up to rounding, of the largest: near 0 a sum cancels."""
    if not a.dtype.is_floating_point:
        return torch.equal(a, b)
    rounding = 1e-2 if a.element_size() == 2 else 1e-4
    return bool((a.float() - b.float()).abs().max() <= rounding * b.float().abs().max())


class Tuner:
    def __init__(self, library, options):
        self.bench, self.tables = gpu.Bench(library, options), Tables(library)
        self.end = time.monotonic() + options.seconds

    def questions(self, cases):
        found = {}
        for case in cases:
            x = gpu.laid_out(case, 0)
            plan, outputs, _ = self.bench.ndfold_of(case, [x])
            if plan.strategy not in SPACE:
                continue
            row = self.tables.row(case.op, x, outputs[0], case.axes, plan.strategy)
            found.setdefault(tuple(row.values()), Question(row)).cases.append(case)
        return list(found.values())

    def timed(self, case, inputs, line, strategy, pace=QUICK):
        """Microseconds with these numbers, or with the table's (""), and an output; (None, None) where they cannot."""
        try:
            self.tables.use(line)
            _, outputs, queue = self.bench.ndfold_of(case, inputs, strategy)
            queue(0)
            torch.cuda.synchronize()
            return median_microseconds(queue, case.bytes_moved, pace), outputs[0]
        except RuntimeError:
            return None, None
        finally:
            self.tables.use("")

    def search(self, question):
        strategy = question.row["strategy"]
        for case in question.cases:
            inputs = [gpu.laid_out(case, seed) for seed in range(self.bench.rotations(case))]
            tables_us, expected = self.timed(case, inputs, "", strategy)
            for candidate in question.candidates():
                if time.monotonic() > self.end:
                    return
                found_us, output = self.timed(case, inputs, candidate, strategy)
                if found_us and is_same(output, expected):
                    question.times.setdefault(candidate, {})[label(case)] = found_us, tables_us
                elif found_us:
                    print(f"WRONG: {label(case)} with {candidate}", flush=True)

    def confirm(self, question, candidate):
        """Its times once more, with care and in turn with the table's."""
        again = Question(question.row, question.cases)
        for case in question.cases:
            inputs = [gpu.laid_out(case, seed) for seed in range(self.bench.rotations(case))]
            rounds = [[self.timed(case, inputs, line, question.row["strategy"], USUAL)[0] for line in (candidate, "")]
                      for _ in range(ROUNDS)]
            again.times.setdefault(candidate, {})[label(case)] = tuple(map(statistics.median, zip(*rounds)))
        question.times[candidate] = again.times[candidate]
        return again.score(candidate)


def tune(tuner, questions):
    """The lines of the file, comments included."""
    lines = []
    for question in questions:
        tuner.search(question)
        best = question.best()
        if best is None or best[0] > GAIN:
            print(f"{question.name:60} stays ({len(question.times)} others tried)", flush=True)
            continue
        score = tuner.confirm(question, best[1])
        holds = score is not None and score <= GAIN
        print(f"{question.name:60} {best[0]:.3f}, again {score or math.nan:.3f}: {best[1] if holds else 'stays'}",
              flush=True)
        if holds:
            lines += [f"# {score:.3f} of the table's time: " + "; ".join(map(label, question.cases)), best[1]]
    return lines


def rows_of(questions):
    """Every time that was measured, as rows of a table."""
    for question in questions:
        for candidate, times in question.times.items():
            numbers = dict(zip(question.row, candidate.split(",")))
            for case, (found_us, tables_us) in times.items():
                yield numbers | {"row": question.name, "case": case, "us": found_us, "table_us": tables_us}


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=pathlib.Path, default=TOP / "build/cuda/bench/libndfold_bench_gpu.so")
    parser.add_argument("--regime", action="append", metavar="NAME", help="only this one; may be given again")
    parser.add_argument("--filter", default="", metavar="TEXT", help="only cases whose name or operation holds this")
    parser.add_argument("--seconds", type=float, default=480, metavar="N", help="480 by default; then it ends as it is")
    parser.add_argument("--commit", metavar="NAME", help="what was built, where this folder is no clone")
    parser.add_argument("--out", type=pathlib.Path, metavar="FOLDER", default=pathlib.Path("."),
                        help="tuning.csv, for NDFOLD_TUNING, and tune.csv, every time, go there; here by default")
    return parser.parse_args()


def main():
    options = parse()
    where = gpu.context(options.commit)
    print(*(f"{key}: {value}" for key, value in where.items()), sep="\n")
    tuner = Tuner(Library(options.library), options)
    cases = [case for case in gpu_cases.all_cases() if case.regime in (options.regime or REGIMES)
             and (options.filter in case.name or options.filter in case.op)]
    questions = tuner.questions(cases)
    lines = tune(tuner, questions)
    if time.monotonic() > tuner.end:
        print(f"{options.seconds:.0f} s are over: what was not tried stays as it is")
    options.out.mkdir(parents=True, exist_ok=True)
    text = "# " + ", ".join(f"{key} {value}" for key, value in where.items())
    file = options.out / "tuning.csv"
    file.write_text("\n".join([text, tuner.tables.columns, *lines, ""]), encoding="utf-8")
    write_table(options.out / "tune.csv", where, TABLE, rows_of(questions))
    print(f"{len(lines) // 2} of {len(questions)} rows get other numbers: NDFOLD_TUNING={file}")


if __name__ == "__main__":
    main()
