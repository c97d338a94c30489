"""The verbs on a GPU, against NumPy and against the CPU; skipped (77) where there is none, or no NumPy."""
import json
import re
import sys
import unittest

try:
    import numpy
except ImportError:
    sys.exit(77)

from support import CliTest, gpus, integers, log_softmax, normal, softmax

ON = ("--device", "cuda")
QUICK = ("--repeat", "3", "--seconds", "0.001")
EXACT_OPS = ("max", "min", "argmax", "argmin", "any", "all", "count_nonzero")


class Compute(CliTest):
    def both(self, array, verb, *arguments):
        """What the GPU and the CPU make of `array`."""
        here = self.compute(array, verb, *arguments)
        return self.compute(array, verb, *arguments, *ON), here

    def test_softmax(self):
        array = normal(5, 7, 300)
        for text, axes in (("-1", (2,)), ("0", (0,)), ("0,2", (0, 2)), ("all", (0, 1, 2))):
            with self.subTest(axes=text):
                result = self.compute(array, "softmax", "--axes", text, "--scale", "0.5", *ON)
                numpy.testing.assert_allclose(result, softmax(array, axes, 0.5), rtol=2e-6)
                result = self.compute(array, "log-softmax", "--axes", text, "--device", "cuda:0")
                numpy.testing.assert_allclose(result, log_softmax(array, axes), rtol=2e-6, atol=2e-6)

    def test_exact_reductions_are_those_of_the_cpu(self):
        for dtype in ("f2", "f4", "f8", "i1", "i4", "u8", "?"):
            array = integers(9, 40, 11, least=0, dtype=dtype)
            for op in (*EXACT_OPS, "sum"):
                with self.subTest(dtype=dtype, op=op):
                    result, here = self.both(array, "reduce", "--op", op, "--axes", "0,2")
                    numpy.testing.assert_array_equal(result, here)
                    self.assertEqual(result.dtype, here.dtype)

    def test_every_reduction(self):
        array = normal(30, 200) + 3
        for op in "sum prod mean var std sumsq l1 l2 linf logsumexp".split():
            for axes in ("0", "1", "all"):
                with self.subTest(op=op, axes=axes):
                    result, here = self.both(array / 3, "reduce", "--op", op, "--axes", axes)
                    numpy.testing.assert_allclose(result, here, rtol=1e-4)

    def test_permute(self):
        array = integers(17, 70, 33, dtype="i2")
        result = self.compute(array, "permute", "--order", "2,0,1", *ON)
        numpy.testing.assert_array_equal(result, array.transpose(2, 0, 1))

    def test_fortran_order_and_nothing(self):
        array = numpy.asfortranarray(integers(30, 40, 5))
        numpy.testing.assert_array_equal(self.compute(array, "reduce", "--op", "sum", "--axes", "1", *ON),
                                         array.sum(axis=1))
        empty = numpy.empty((3, 0), "f4")
        numpy.testing.assert_array_equal(self.compute(empty, "reduce", "--op", "sum", "--axes", "1", *ON), [0, 0, 0])
        self.assertEqual(self.compute(empty, "softmax", *ON).shape, (3, 0))

    def test_a_forced_strategy(self):
        array = normal(64, 1000)
        result = self.compute(array, "softmax", "--strategy", "softmax_chain", *ON)
        numpy.testing.assert_allclose(result, softmax(array, (1,)), rtol=2e-6)

    def test_what_is_refused(self):
        self.save(normal(3, 4))
        self.refuse("softmax", "in.npy", "-o", "out.npy", "--threads", "2", *ON, says="--threads is for the cpu")
        self.refuse("bench", "--op", "sum", "--shape", "9", "--threads", "2", *ON, says="--threads is for the cpu")
        self.refuse("softmax", "in.npy", "-o", "out.npy", "--axes", "5", *ON, says="axis 5")
        self.refuse("bench", "--op", "sum", "--shape", "4,0", *ON, says="no elements")


class Told(CliTest):
    def test_devices(self):
        text = self.succeed("devices")
        self.assertNotIn("cuda runs nothing here", text)
        self.assertRegex(text.splitlines()[0], r"\bcuda:0")

    def test_explain(self):
        model = self.succeed("explain", "--op", "sum", "--shape", "64,4096", *ON).splitlines()[1]
        self.assertRegex(model, r"^device .* sm_\d+ · \d+ multiprocessors$")

    def test_the_table_of_bench(self):
        for shape in ("256", "64,512,4096"):
            title, _, plan, copy = self.succeed("bench", "--op", "softmax", "--shape", shape, *ON, *QUICK).splitlines()
            self.assertRegex(title, r", cuda:0, .*NVIDIA")
            self.assertEqual(copy.split()[3], "100%")
            share = float(plan.split()[3].rstrip("%"))
            self.assertTrue(0 < share < 200, plan)

    def test_the_json_of_bench(self):
        report = json.loads(self.succeed("bench", "--op", "sum", "--shape", "4096,4096", "--json", *ON, *QUICK))
        self.assertRegex(report["context"]["device"], "^cuda:0, ")
        medians = {re.split("/", row["name"])[0]: row for row in report["benchmarks"]
                   if row.get("aggregate_name") == "median"}
        self.assertEqual(sorted(medians), ["memcpy", "plan"])
        copy = medians["memcpy"]
        self.assertAlmostEqual(copy["bytes_per_second"] * copy["real_time"] * 1e-9 / (2 * 4 * 4096**2), 1, delta=0.05)


if __name__ == "__main__":
    if not gpus():
        print("no GPU to run on")
        sys.exit(77)
    unittest.main()
