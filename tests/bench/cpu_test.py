"""bench/cpu.py: its table, its files, its refusals, and the arithmetic of its verdicts. Skipped (77) without NumPy."""
import csv
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy
    import scipy  # noqa: F401
except ImportError:
    sys.exit(77)

BENCH, LIBRARY = pathlib.Path(os.environ["NDFOLD_BENCH"]), os.environ["NDFOLD_BENCH_LIBRARY"]
sys.path.insert(0, str(BENCH))

import cpu_cases  # noqa: E402
import cpu_peers  # noqa: E402
from cpu_cases import LAYOUTS, REGIMES, Bar, Case, cases_of, filled, out_shape  # noqa: E402
from cpu_library import Buffers, Library, address  # noqa: E402
from cpu_measure import Bench, Result, Settings, in_turn, verdict  # noqa: E402
from cpu_report import summary  # noqa: E402
from cpu_sweep import points, sides  # noqa: E402

CORES = len(os.sched_getaffinity(0))


def run(*arguments):
    command = [sys.executable, "-B", BENCH / "cpu.py", "--library", LIBRARY, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)


class Command(unittest.TestCase):
    def test_a_whole_run(self):
        with tempfile.TemporaryDirectory() as folder:
            done = run("--quick", "--sweep", "--mebibytes", "1", "--peers", "none", "--markdown", "--out", folder)
            self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
            report = json.loads((pathlib.Path(folder) / "cpu.json").read_text(encoding="utf-8"))
            text = (pathlib.Path(folder) / "cpu.csv").read_text(encoding="utf-8")
            swept = (pathlib.Path(folder) / "sweep.csv").read_text(encoding="utf-8")
        measured = {regime.name for regime in REGIMES} - ({"threads"} if CORES == 1 else set())
        self.check_json(report, measured)
        rows = list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))
        self.assertEqual({row["regime"] for row in rows}, measured - {"sweep"})
        self.assertTrue(all(float(row["ns"]) > 0 and row["error"] == "" for row in rows))
        self.assertGreater(len(swept.splitlines()), 20)
        for regime in REGIMES:
            if regime.name in measured and regime.bars != (Bar("peer", 1.2),) and regime.bars != (Bar("peer", 1),):
                self.assertIn(f"\n{regime.name} ", done.stdout)
                self.assertIn(f"\n| {regime.title} |", done.stdout)

    def check_json(self, report, regimes):
        for key in ("date", "commit", "cpu", "caches", "ndfold_level", "ceilings", "versions"):
            self.assertIn(key, report["context"])
        self.assertEqual({row["regime"] for row in report["benchmarks"]}, regimes)
        for row in report["benchmarks"]:
            self.assertEqual((row["run_type"], row["aggregate_name"], row["time_unit"]), ("aggregate", "median", "ns"))
            self.assertGreater(row["real_time"], 0)
            self.assertNotIn("error_occurred", row)

    def test_peers_stand_beside_ndfold(self):
        done = run("--quick", "--mebibytes", "0.1", "--regime", "inner", "--filter", "sum/f32", "--threads", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("NumPy", done.stdout)
        self.assertRegex(done.stdout, r"inner +≥ 1.00 × peer +[01]/1")

    def test_refusals(self):
        for says, *arguments in (("'nonsense' is none of inner", "--regime", "nonsense"),
                                 ("'x' is not a list of numbers", "--threads", "x"),
                                 ("0 threads cannot work", "--threads", "0"),
                                 (f"only {CORES} of the cores", "--threads", CORES + 1),
                                 ("0 is not between 0 and 4096", "--mebibytes", "0"),
                                 ("no case's name holds 'nowhere'", "--filter", "nowhere"),
                                 ("invalid choice: 'some'", "--peers", "some"),
                                 ("/nowhere.so is no file", "--library", "/nowhere.so")):
            with self.subTest(arguments=arguments):
                done = run(*arguments)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(says, done.stderr.splitlines()[-1])

    def test_the_list(self):
        names = run("--list", "--threads", "1", "--regime", "tiny").stdout.splitlines()
        self.assertIn("tiny/softmax/f32/8x16/axes 1", names)


class Cases(unittest.TestCase):
    def test_every_regime_has_cases_and_no_case_comes_twice(self):
        names = [case.name for case in cases_of([1, 2])]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual({case.regime for case in cases_of([1, 2])}, {r.name for r in REGIMES} - {"sweep"})

    def test_shapes_fill_what_was_asked_for(self):
        for case in cases_of([1, 2]):
            whole = filled(case, 64)
            size = whole.count * cpu_cases.BYTES[case.dtype]
            if cpu_cases.FILL in case.shape:
                self.assertGreater(size, 30 * 2**20, whole.name)
            self.assertLessEqual(size, 64 * 2**20, whole.name)

    def test_layouts_keep_the_shape(self):
        self.assertEqual({case.layout for case in cases_of([1])}, set(LAYOUTS))
        for holder, view in LAYOUTS.values():
            shape = (30, 50)
            array = numpy.arange(numpy.prod(holder(shape))).reshape(holder(shape))
            self.assertEqual(view(array).shape, shape)

    def test_the_sweep_has_the_neighbours_of_every_power_of_two(self):
        self.assertEqual(sides(17), [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17])
        found = {(case.shape, case.axes) for case in points(2, quick=False) if case.op == "softmax"}
        for pair in ((257, 1023), (1025, 257), (1, 2**19), (2**19 - 1, 1), (511, 1023)):
            self.assertTrue({(pair, (0,)), (pair, (1,))} <= found, pair)

    def test_neighbouring_axes_join(self):
        x = numpy.zeros((2, 3, 1, 4, 5))
        self.assertEqual(cpu_peers.joined(x, (1, 2), (2, 4, 5), False), ((2, 3, 20), (1,), (2, 20)))
        self.assertEqual(cpu_peers.joined(x, (0, 4), (3, 1, 4), False), ((2, 12, 5), (0, 2), (12,)))


class Measuring(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bench = Bench(Library(LIBRARY), Buffers(), Settings(samples=3, sample_ns=1e4))

    def test_results_agree_with_the_peers(self):
        for op in ("sum", "mean", "max", "min", "sumsq", "var", "std", "l1", "l2", "linf", "logsumexp", "softmax",
                   "log_softmax", "any", "all"):
            for shape, axes in (((6, 40), (1,)), ((40, 6), (0,)), ((3, 10, 8), (0, 2))):
                result = self.bench.measure(Case("inner", op, "f32", shape, axes))
                self.assertEqual((result.error, result.wrong), ("", []), result.case.name)
                self.assertIn("NumPy", result.peers)

    def test_a_wrong_result_is_seen(self):
        case = Case("inner", "sum", "f32", (6, 40), (1,))
        x, out = self.bench.views(case)
        contenders, result = {}, Result(case)

        def lie(calls):
            out.fill(1)
            return 1.0
        self.bench.add_peer(contenders, result, "liar", lie, out, numpy.full(6, 2.0))
        self.assertEqual(result.wrong, ["liar"])

    def test_views_reach_ndfold_as_they_are(self):
        for layout in LAYOUTS:
            case = Case("strided", "sum", "f64", (20, 30), (1,), layout)
            x, out = self.bench.views(case)
            subject, why = self.bench.subject("ndfold", case, x, out)
            self.assertEqual(why, "")
            subject.time(1)
            numpy.testing.assert_allclose(out, x.sum(axis=1))

    def test_a_refusal_is_a_result(self):
        result = self.bench.measure(Case("inner", "max", "f32", (4, 0), (1,)))
        self.assertNotEqual(result.error, "")

    def test_ceilings_move_every_byte(self):
        size = 64 << 10
        source, target = self.bench.buffers.input("u8", size), self.bench.buffers.out(size)
        for index, name in enumerate(self.bench.library.copies):
            target[:] = 0
            subject, whole = self.bench.library.stream(1, index, address(source), address(target), size, 1)
            self.assertEqual(whole, size)
            self.assertGreater(subject.time(2), 0)
            self.assertTrue((source == target).all(), name)

    def test_instructions_grow_with_the_work(self):
        counts = []
        for rows in (10, 160):
            case = Case("cache_reduce", "sum", "f32", (rows, 256), (1,))
            counts.append(self.bench.subject("ndfold", case, *self.bench.views(case))[0].instructions())
        if None in counts:
            self.skipTest("this system lets nobody count instructions")
        self.assertGreater(counts[1], 3 * counts[0])


class Turns(unittest.TestCase):
    def test_medians_of_as_many_rounds_as_it_needs(self):
        calls = {}

        def contender(name, ns):
            calls[name] = 0

            def loop(count):
                calls[name] += 1
                return ns * (3 if calls[name] == 4 else 1)  # one outlier
            return loop
        contenders = {name: contender(name, ns) for name, ns in (("quick", 4e6), ("slow", 4e7), ("hopeless", 1e9))}
        medians = in_turn(contenders, Settings(samples=9), random.Random(1), first={"slow": 4e7, "hopeless": 1e9})
        self.assertEqual(medians, {"quick": 4e6, "slow": 4e7, "hopeless": 1e9})
        self.assertEqual(calls["hopeless"], 0)
        self.assertGreaterEqual(calls["quick"], 9)
        self.assertLess(calls["slow"], 9)


class Verdicts(unittest.TestCase):
    def result(self, **fields):
        return Result(Case("softmax_rows", "softmax", "f32", (100, 10), (1,)), **fields)

    def test_shares(self):
        result = self.result(ns=1000, memory_ns=500, exponential=4, peers={"a": 1500, "b": 900}, wrong=["b"])
        for bar, value, holds in ((Bar("memory", .5), .5, True), (Bar("memory", .51), .5, False),
                                  (Bar("E", .25), .25, True), (Bar("peer", 1.6), 1.5, False),
                                  (Bar("ceiling", .4), .5, True), (Bar("ns", 999), 1000, False)):
            found = verdict(bar, result)
            self.assertAlmostEqual(found.value, value)
            self.assertEqual(found.holds, holds, bar)
        self.assertAlmostEqual(verdict(Bar("E", .6), result).allowed, .5)

    def test_threads_hold_at_the_ceiling_too(self):
        bar = Bar("one thread", 1.8)
        self.assertTrue(verdict(bar, self.result(ns=100, beside_ns=185)).holds)
        self.assertFalse(verdict(bar, self.result(ns=100, beside_ns=150, memory_ns=80)).holds)
        self.assertTrue(verdict(bar, self.result(ns=100, beside_ns=150, memory_ns=95)).holds)

    def test_the_summary_names_the_worst(self):
        results = [self.result(ns=ns, memory_ns=500, exponential=1, peers={"a": 3000}) for ns in (1000, 4000, 2000)]
        for result in results:
            result.judge()
        rows = {bar.of: (count, holding, worst) for _, bar, count, holding, _, worst in summary(results)}
        self.assertEqual(rows["E"], (3, 1, results[1]))
        self.assertEqual(rows["peer"], (3, 1, results[1]))

    def test_without_peers_nothing_is_said_of_them(self):
        result = self.result(ns=1, memory_ns=1, exponential=1)
        result.judge()
        self.assertEqual(set(result.verdicts), {"E"})

    def test_out_shapes(self):
        self.assertEqual(out_shape(Case("outer", "sum", "f32", (2, 3, 4), (0, 2))), (3,))


if __name__ == "__main__":
    unittest.main()
