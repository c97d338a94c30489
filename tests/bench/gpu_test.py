"""bench/gpu*.py on a machine without a GPU: every point of the sweep has a plan, tables hold what they say, and what a
GPU would refuse is refused. Times mean nothing here. Skipped (77) without NumPy."""
import contextlib
import ctypes
import importlib.util
import io
import math
import os
import pathlib
import sys
import tempfile
import unittest

if importlib.util.find_spec("numpy") is None:
    sys.exit(77)

HERE, BENCH = pathlib.Path(__file__).resolve().parent, pathlib.Path(os.environ["NDFOLD_BENCH"])
LIBRARY = os.environ["NDFOLD_BENCH_LIBRARY"]
sys.path[:0] = [str(HERE / "no_memory"), str(BENCH)]

import gpu  # noqa: E402
import gpu_cases  # noqa: E402
import gpu_host  # noqa: E402
import gpu_pictures  # noqa: E402
import gpu_sweep  # noqa: E402
import tune  # noqa: E402
from gpu_files import read_table, write_table  # noqa: E402
from gpu_library import Library, Tables  # noqa: E402
from gpu_points import (FLOOR, MOST, OPS, ORIENTATIONS, Point, allowed_microseconds, coarse_points,  # noqa: E402
                        fine_points)


def run(*arguments, main=gpu.main):
    """What `bench/gpu.py --out FOLDER` does: its exit status, what it prints, and its tables."""
    before, printed = sys.argv, io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(printed):
        sys.argv = ["gpu.py", "--library", LIBRARY, "--commit", "none", "--out", folder, *arguments]
        try:
            status = main()
        finally:
            sys.argv = before
        tables = {path.stem: read_table(path) for path in pathlib.Path(folder).glob("*.csv")}
    return status, printed.getvalue(), tables


def complaints():
    text = ctypes.create_string_buffer(4096)
    ctypes.CDLL(LIBRARY).ndfold_test_complaints(text, len(text))
    return text.value.decode()


class Modes(unittest.TestCase):
    def tearDown(self):
        self.assertEqual(complaints(), "")

    def test_the_sweep(self):
        status, text, tables = run("--sweep", "--seconds", "0")
        self.assertEqual(status, 0, text)
        where, rows = tables["sweep"]
        self.assertIn("commit none", where)
        self.assertEqual(len(rows), len(coarse_points()))
        for row in rows:
            self.assertEqual(row["error"], "")
            self.assertTrue(row["strategy"])
            self.assertGreater(float(row["us"]), 0)
            self.assertGreater(float(row["share"]), 0)
            rate = float(row["bytes"]) / float(row["us"]) * 1e-3
            self.assertTrue(math.isclose(float(row["gigabytes_per_second"]), rate, rel_tol=0.01), row)
        table = text[text.index("the worst:"):].splitlines()[2:]
        self.assertEqual(len(table), gpu_sweep.WORST)
        shares = [float(line.split()[-1]) for line in table]
        self.assertEqual(shares, sorted(shares))
        self.assertIn("ceilings at 512 MiB: read ", text)
        self.assertRegex(text, f"\n{len(fine_points())} points left out")

    def test_the_cost_of_calls(self):
        status, text, tables = run("--host")
        self.assertEqual(status, 0)
        rows = tables["host"][1]
        self.assertEqual(len(rows), len(gpu_host.CASES) + 2)
        self.assertTrue(any(row["workspace"] not in ("", "0") for row in rows), "one case has a workspace")
        for row in rows[:-2]:
            run_ns, above = float(row["run_ns"]), float(row["run_above_launch_ns"])
            self.assertTrue(math.isclose(run_ns - 1500 * int(row["launches"]), above, rel_tol=0.01, abs_tol=2), row)
            self.assertGreater(float(row["call_ns"]), 0)
        self.assertRegex(text, "an empty kernel: launch 1500 ns, .*; with ndfold's parameters: launch 2000 ns")

    def test_the_cases_and_their_regret(self):
        gpu.worst_difference = lambda *_: 0.0  # nothing was computed
        status, text, tables = run("--filter", "small256", "--peers", "none", "--forced")
        self.assertEqual(status, 0, text)
        rows, regrets = tables["gpu"][1], tables["regret"][1]
        self.assertEqual({row["name"] for row in rows}, {"small256", "small256_ax0"})
        self.assertEqual(len(regrets), len(rows))
        for row, regret in zip(rows, regrets):
            times = [float(regret[name]) for name in gpu.STRATEGIES if regret[name]]
            self.assertEqual(float(regret[regret["best"]]), min(times))
            self.assertEqual(regret["chosen"], row["strategy"])
            self.assertAlmostEqual(float(regret["regret"]), float(regret["chosen_us"]) / min(times), delta=0.02)


    def test_problems_drawn_at_random(self):
        gpu.worst_difference = lambda *_: 0.0
        status, text, tables = run("--random", "3", "--count", "25", "--peers", "none")
        self.assertEqual(status, 0, text)
        drawn = list(gpu_cases.random_cases(3, 25))
        self.assertEqual(set(tables), {"random"})
        self.assertEqual([row["name"] for row in tables["random"][1]], [case.name for case in drawn])
        self.assertTrue(all(row["strategy"] and row["error"] == "" for row in tables["random"][1]))


class Random(unittest.TestCase):
    def test_problems_are_the_same_for_a_seed_and_of_the_size_asked_for(self):
        cases = list(gpu_cases.random_cases(7, 300, 1))
        self.assertEqual(cases, list(gpu_cases.random_cases(7, 300, 1)))
        self.assertNotEqual(cases, list(gpu_cases.random_cases(8, 300, 1)))
        for case in cases:
            self.assertTrue(0 < len(case.axes) and set(case.axes) <= set(range(len(case.shape))), case)
            self.assertTrue(.3 * 2**20 < case.bytes_read < 1.5 * 2**20, case)
        self.assertEqual({len(case.shape) for case in cases}, {1, 2, 3, 4, 5})
        self.assertEqual({case.layout for case in cases}, {"dense", "transposed", "padded", "misaligned"})


class Sweep(unittest.TestCase):
    def test_every_point_has_a_plan(self):
        """Both grids, as they are measured: a refusal here would be one there."""
        sweep = gpu_sweep.Sweep(Library(LIBRARY))
        names = set()
        for point in coarse_points() + fine_points():
            strategy, queue = sweep.prepared(point)
            for turn in range(3):
                queue(turn)
            names.add(strategy)
        self.assertEqual(complaints(), "")
        self.assertGreater(len(names), 3)

    def test_points_are_powers_of_two_and_their_neighbours(self):
        coarse, found = coarse_points(), coarse_points() + fine_points()
        self.assertEqual(len(found), len(set(found)))
        every = [(1, 2**27), (2**27, 1), (2**12, 2**12), (2**12 + 1, 2**12), (2**12, 2**12 - 1), (2**20, 1)]
        for grid, pairs in ((coarse, every), (found, [*every, (2**13, 2**12), (2**13 - 1, 2**12), (1, 2**28)])):
            for pair in pairs:
                for op in OPS:
                    for way in ORIENTATIONS:
                        self.assertTrue(Point(op, way, *pair) in grid, pair)
        self.assertLessEqual(max(point.count for point in found), MOST)
        self.assertGreaterEqual(4 * min(point.count for point in found), FLOOR)

    def test_what_lies_where(self):
        self.assertEqual(Point("softmax", "columns", 3, 5).shape, (5, 3))
        self.assertEqual(Point("sum", "columns", 3, 5).out_shape, (3,))
        self.assertEqual(Point("sum", "rows", 3, 5).bytes_moved, 4 * (15 + 3))
        pool = gpu_sweep.Sweep(Library(LIBRARY)).source
        parts = gpu_sweep.Sweep.parts(pool, 2**20 + 1, (2**20 + 1,), 8 * 2**20)
        self.assertGreaterEqual(len(parts), 40)
        ends = [part.data_ptr() + 4 * part.numel() for part in parts]
        for part, end in zip(parts[1:], ends):
            self.assertGreaterEqual(part.data_ptr(), end)
            self.assertEqual(part.data_ptr() % 256, 0)
        self.assertLessEqual(ends[-1], pool.data_ptr() + 4 * pool.numel())

    def test_ceilings_pay_for_each_byte_once(self):
        read, copy, size = 10.0, 25.0, 4 * 2**20
        allowed = [allowed_microseconds(point, read, copy, size) for point in (
            Point("softmax", "rows", 2**10, 2**10), Point("sum", "rows", 1, 2**20), Point("sum", "rows", 2**20, 1))]
        self.assertAlmostEqual(allowed[0], copy)
        self.assertAlmostEqual(allowed[1], read, places=3)
        self.assertAlmostEqual(allowed[2], copy)

    def test_the_worst_come_first_and_refusals_before_them(self):
        results = [{"point": Point("sum", "rows", 2**10, 2**10), "share": share} for share in (.9, .3, .6)]
        results.append({"point": Point("sum", "rows", 2**10, 2**10), "error": "no"})
        results.append({"point": Point("sum", "rows", 8, 8), "share": .01})  # small
        self.assertEqual([result.get("share") for result in gpu_sweep.worst_of(results, 3)], [None, .3, .6])


class Tuning(unittest.TestCase):
    """A GPU on which 128 threads are best, and one on which nothing is better than the table."""

    def tuned(self, least, *arguments):
        timed, same = tune.Tuner.timed, tune.is_same

        def pretended(tuner, case, inputs, line, strategy, pace=tune.QUICK):
            found, output = timed(tuner, case, inputs, line, strategy, pace)
            fewer = line and dict(zip(tuner.tables.columns.split(","), line.split(",")))["threads"] == "128"
            return (found and (least if fewer else 10.0)), output
        tune.Tuner.timed, tune.is_same = pretended, lambda a, b: a.shape == b.shape
        try:
            return run(*arguments, main=tune.main)[1:]
        finally:
            tune.Tuner.timed, tune.is_same = timed, same

    def test_a_better_row_is_found_and_understood(self):
        text, tables = self.tuned(9.0, "--filter", "col_")
        self.assertIn(" again 0.900: 90,", text)
        where, rows = tables["tuning"]
        self.assertIn("commit none", where)
        found = [row for row in rows if not row["architecture"].startswith("#")]
        self.assertTrue(found)
        self.assertEqual({row["threads"] for row in found}, {"128"})
        Tables(Library(LIBRARY)).use("\n".join(",".join(row.values()) for row in found))
        Tables(Library(LIBRARY)).use("")
        times = tables["tune"][1]
        self.assertEqual({row["us"] for row in times}, {"9", "10"})
        self.assertEqual({row["table_us"] for row in times}, {"10"})
        self.assertEqual(complaints(), "")

    def test_every_strategy_is_searched_and_what_gains_little_stays(self):
        text, tables = self.tuned(9.8)
        self.assertNotIn("again", text)
        self.assertEqual(tables["tuning"][1], [])
        tried = {row["row"].split()[0] for row in tables["tune"][1]}
        self.assertTrue({"rows_in_lanes", "rows_in_block", "columns_in_block", "split"} <= tried, tried)
        self.assertTrue(tried <= set(tune.SPACE))
        self.assertEqual(complaints(), "")

    def test_scores(self):
        row = dict(zip(("architecture", "strategy", "reduced_up_to", "bytes_up_to", "element_up_to", "softmax_only",
                        "threads"), ("90", "split", "", "64", "2", "1", "256")))
        question = tune.Question(row, ["a", "b"], {
            "all": {"a": (5.0, 10.0), "b": (2.0, 1.0)}, "one": {"a": (1.0, 10.0)},
            "two": {"a": (5.0, 10.0), "b": (8.0, 10.0)}})
        self.assertEqual(question.name, "split bytes_up_to 64 element_up_to 2 softmax only")
        self.assertIsNone(question.score("all"), "a case may not lose")
        self.assertIsNone(question.score("one"))
        self.assertAlmostEqual(question.best()[0], math.sqrt(.4))
        self.assertEqual(question.best()[1], "two")


class Pictures(unittest.TestCase):
    def row(self, regime, op, ours, theirs, error=""):
        return {"regime": regime, "op": op, "name": "a", "error": error, "ceiling_us": 10.0, "ndfold_us": ours,
                "torch_us": theirs}

    def drawn(self, name, columns, results, cases):
        with tempfile.TemporaryDirectory() as folder:
            table, picture = pathlib.Path(folder) / name, pathlib.Path(folder) / "picture.png"
            write_table(table, {"device": "NVIDIA X", "commit": "abc123"}, columns, results)
            cases(*read_table(table))
            if gpu_pictures.pyplot:
                draw = gpu_pictures.draw_cases if name == "gpu.csv" else gpu_pictures.draw_sweep
                self.assertTrue(draw(table, picture))
                self.assertEqual(picture.read_bytes()[:4], b"\x89PNG")

    def test_panels(self):
        def check(where, rows):
            self.assertEqual(gpu_pictures.whose(where), ("ndfold abc123", "NVIDIA X"))
            rows_panel, sums, maxima = gpu_pictures.panels_of(rows)
            self.assertEqual(rows_panel.title, "softmax, rows, share of a copy")
            self.assertEqual(rows_panel.shares, {"ndfold": [.5, .8], "PyTorch": [.25]})
            self.assertEqual((sums.title, sums.bars), ("sum, share of a read stream", [.95]))
            self.assertEqual(maxima.shares, {"ndfold": [1.0], "PyTorch": [.5]})
        self.drawn("gpu.csv", gpu.COLUMNS, [
            self.row("reduce", "sum", 20.0, 20.0), self.row("rows", "softmax", 20.0, 40.0),
            self.row("reduce", "max", 10.0, 20.0), self.row("rows", "softmax", 12.5, ""),
            self.row("rows", "softmax", "", "", "no"), self.row("small", "sum", 1.0, 1.0)], check)

    def test_a_map(self):
        def check(_, rows):
            cells = list(gpu_pictures.cells_of(rows, "sum", "columns"))
            self.assertEqual([(cell.length, cell.rows, cell.share, cell.judged, cell.name) for cell in cells],
                             [(1024, 2048, .5, True, "1024×2048"), (4, 8, 0, False, "4×8")])
        self.drawn("sweep.csv", gpu_sweep.COLUMNS, [
            {"op": "sum", "orientation": "columns", "rows": 2048, "length": 1024, "share": .5},
            {"op": "sum", "orientation": "columns", "rows": 8, "length": 4, "error": "no"},
            {"op": "softmax", "orientation": "rows", "rows": 8, "length": 4, "share": .1}], check)


if __name__ == "__main__":
    unittest.main()
