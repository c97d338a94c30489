"""What the verbs compute, against NumPy."""
import unittest

import numpy

from support import CliTest, integers, log_softmax, normal, softmax

EXACT_OPS = {
    "sum": numpy.sum, "max": numpy.max, "min": numpy.min, "any": numpy.any, "all": numpy.all,
    "count_nonzero": numpy.count_nonzero,
    "sumsq": lambda x, axis: numpy.sum(x * x, axis=axis),
    "l1": lambda x, axis: numpy.sum(abs(x), axis=axis),
    "linf": lambda x, axis: numpy.max(abs(x), axis=axis),
}
CLOSE_OPS = {
    "mean": numpy.mean, "var": numpy.var, "std": numpy.std,
    "l2": lambda x, axis: numpy.sqrt(numpy.sum(x * x, axis=axis)),
    "logsumexp": lambda x, axis: numpy.log(numpy.sum(numpy.exp(x), axis=axis)),
}
AXES = {"0": (0,), "1": (1,), "-1": (2,), "0,2": (0, 2), "-1,0": (0, 2), "1,2": (1, 2), "all": (0, 1, 2), "none": ()}


class Reduce(CliTest):
    def test_exact_ops_over_every_axis_choice(self):
        array = integers(3, 5, 7)
        for op, reference in EXACT_OPS.items():
            for text, axes in AXES.items():
                with self.subTest(op=op, axes=text):
                    result = self.compute(array, "reduce", "--op", op, "--axes", text)
                    numpy.testing.assert_array_equal(result, reference(array.astype("f8"), axis=axes))

    def test_rounded_ops_over_every_axis_choice(self):
        array = normal(3, 5, 7)
        for op, reference in CLOSE_OPS.items():
            for text, axes in AXES.items():
                with self.subTest(op=op, axes=text):
                    result = self.compute(array, "reduce", "--op", op, "--axes", text)
                    self.assertEqual(result.dtype, "f4")
                    numpy.testing.assert_allclose(result, reference(array.astype("g"), axis=axes), rtol=1e-5, atol=1e-6)

    def test_prod(self):
        array = numpy.random.default_rng(2).choice([0.5, -1, 2], size=(4, 6)).astype("f4")
        result = self.compute(array, "reduce", "--op", "prod", "--axes", "1")
        numpy.testing.assert_array_equal(result, array.prod(axis=1))

    def test_argmax_counts_row_major_within_the_reduced_axes(self):
        array = integers(3, 4, 5)
        for op in ("argmax", "argmin"):
            result = self.compute(array, "reduce", "--op", op, "--axes", "0,2")
            expected = getattr(numpy, op)(array.transpose(1, 0, 2).reshape(4, 15), axis=1)
            self.assertEqual(result.dtype, "i8")
            numpy.testing.assert_array_equal(result, expected)

    def test_axes_left_out_are_all(self):
        result = self.compute(integers(3, 4), "reduce", "--op", "sum")
        self.assertEqual((result.shape, result[()]), ((), integers(3, 4).sum()))

    def test_no_axes(self):
        numpy.testing.assert_array_equal(self.compute(integers(3, 4), "reduce", "--op", "l1", "--axes", "none"),
                                         abs(integers(3, 4)))

    def test_negative_axes_in_both_spellings(self):
        array = integers(2, 3, 4)
        self.save(array)
        for spelling in (["--axes", "-1"], ["--axes=-1"], ["--axes", "-1,-2"], ["--axes=-1,-2"]):
            self.succeed("reduce", *spelling, "--op", "sum", "in.npy", "-o", "out.npy")
            axes = tuple(int(axis) for axis in spelling[-1].removeprefix("--axes=").split(","))
            numpy.testing.assert_array_equal(self.load(), array.sum(axis=axes))

    def test_keepdims(self):
        array = integers(2, 3, 4)
        result = self.compute(array, "reduce", "--op", "max", "--axes", "0,2", "--keepdims")
        numpy.testing.assert_array_equal(result, array.max(axis=(0, 2), keepdims=True))
        self.assertEqual(result.shape, (1, 3, 1))

    def test_ddof(self):
        array = normal(4, 50)
        for ddof in (0, 1, 3):
            result = self.compute(array, "reduce", "--op", "var", "--axes", "1", "--ddof", ddof)
            numpy.testing.assert_allclose(result, array.astype("g").var(axis=1, ddof=ddof), rtol=1e-5)

    def test_output_and_accumulation_types(self):
        array = numpy.full((1 << 12,), 0.1, dtype="f4")
        in_f64 = self.compute(array, "reduce", "--op", "sum", "--dtype", "f64", "--accumulate", "f64")
        self.assertEqual(in_f64.dtype, "f8")
        numpy.testing.assert_allclose(in_f64, numpy.float64(array[0]) * array.size, rtol=1e-12)
        in_f16 = self.compute(array, "reduce", "--op", "mean", "--dtype", "f16")
        self.assertEqual((in_f16.dtype, in_f16[()]), ("f2", numpy.float16(0.1)))

    def test_compensated(self):
        array = numpy.array([1e8, 1, -1e8, 1] * 64, dtype="f4")
        self.assertEqual(self.compute(array, "reduce", "--op", "sum", "--compensated")[()], 128)

    def test_default_types_of_integers(self):
        kinds = {"i1": ("i8", "f8", "i1"), "u2": ("u8", "f8", "u2"), "?": ("i8", "f8", "?")}
        for given, (total, mean, most) in kinds.items():
            array = integers(3, 4, least=0, dtype=given)
            for op, expected in (("sum", total), ("mean", mean), ("max", most), ("any", "?"), ("argmax", "i8")):
                with self.subTest(given=given, op=op):
                    self.assertEqual(self.compute(array, "reduce", "--op", op, "--axes", "0").dtype, expected)

    def test_empty_sets(self):
        array = numpy.zeros((3, 0), dtype="f4")
        numpy.testing.assert_array_equal(self.compute(array, "reduce", "--op", "sum", "--axes", "1"), [0, 0, 0])
        numpy.testing.assert_array_equal(self.compute(array, "reduce", "--op", "all", "--axes", "1"), [True] * 3)
        self.assertEqual(self.compute(array, "reduce", "--op", "sum", "--axes", "0").shape, (0,))
        (self.folder / "out.npy").unlink()
        self.refuse("reduce", "in.npy", "-o", "out.npy", "--op", "max", "--axes", "1")

    def test_one_number(self):
        self.assertEqual(self.compute(numpy.float32(3), "reduce", "--op", "sum")[()], 3)

    def test_strategy_and_threads_do_not_change_a_result(self):
        array = normal(40, 50, 6)
        arguments = ("reduce", "--op", "sum", "--axes", "0,1")
        first = self.compute(array, *arguments, "--threads", "1").tobytes()
        for threads in (2, 3, 7):
            self.assertEqual(self.compute(array, *arguments, "--threads", threads).tobytes(), first)


class Softmax(CliTest):
    def test_every_axis_choice(self):
        array = normal(3, 5, 7)
        for text, axes in AXES.items():
            with self.subTest(axes=text):
                result = self.compute(array, "softmax", "--axes", text)
                self.assertEqual((result.dtype, result.shape), (array.dtype, array.shape))
                numpy.testing.assert_allclose(result, softmax(array, axes), rtol=2e-6)

    def test_log_softmax(self):
        array = normal(3, 5, 7)
        for text, axes in AXES.items():
            with self.subTest(axes=text):
                result = self.compute(array, "log-softmax", "--axes", text)
                numpy.testing.assert_allclose(result, log_softmax(array, axes), rtol=2e-6, atol=2e-6)

    def test_axes_left_out_are_the_last(self):
        numpy.testing.assert_allclose(self.compute(normal(4, 6), "softmax"), softmax(normal(4, 6), 1), rtol=2e-6)

    def test_scale_and_alpha(self):
        array = normal(4, 6)
        for scale, alpha in ((0.25, 1), (1, 3), (-2, 0.5)):
            with self.subTest(scale=scale, alpha=alpha):
                result = self.compute(array, "softmax", "--scale", scale, "--alpha", alpha)
                numpy.testing.assert_allclose(result, softmax(array, 1, scale, alpha), rtol=5e-6)
                result = self.compute(array, "log-softmax", "--axes", "0", "--scale", scale, "--alpha", alpha)
                numpy.testing.assert_allclose(result, log_softmax(array, 0, scale, alpha), rtol=5e-6, atol=5e-6)

    def test_types(self):
        for given, asked, written in (("f2", None, "f2"), ("f8", None, "f8"), ("f2", "f32", "f4"), ("f4", "f64", "f8"),
                                      ("f4", "f16", "f2")):
            with self.subTest(given=given, asked=asked):
                array = normal(4, 33, dtype=given)
                result = self.compute(array, "softmax", *(["--dtype", asked] if asked else []))
                self.assertEqual(result.dtype, written)
                tolerance = {"f2": 1e-3, "f4": 2e-6, "f8": 1e-14 if given == "f8" else 2e-6}[written]
                numpy.testing.assert_allclose(result.astype("f8"), softmax(array, 1).astype("f8"), rtol=tolerance)

    def test_not_a_number_stays_in_its_row(self):
        array = normal(3, 4)
        array[1, 2] = numpy.nan
        result = self.compute(array, "softmax")
        self.assertTrue(numpy.isnan(result[1]).all() and numpy.isfinite(result[[0, 2]]).all())

    def test_a_file_over_itself(self):
        self.save(normal(4, 6))
        self.succeed("softmax", "in.npy", "-o", "in.npy")
        numpy.testing.assert_allclose(self.load("in.npy"), softmax(normal(4, 6), 1), rtol=2e-6)

    def test_the_chain_agrees(self):
        array = normal(4, 5, 6)
        result = self.compute(array, "softmax", "--axes", "0,2", "--strategy", "softmax_chain")
        numpy.testing.assert_allclose(result, softmax(array, (0, 2)), rtol=2e-6)

    def test_threads_do_not_change_a_result(self):
        array = normal(2, 3000)
        results = {self.compute(array, "softmax", "--threads", n).tobytes() for n in (1, 2, 5)}
        self.assertEqual(len(results), 1)


class Permute(CliTest):
    def test_orders(self):
        for dtype in ("f4", "i1", "u8", "?", "f2"):
            array = integers(2, 3, 4, least=0, dtype=dtype)
            for text, order in (("2,0,1", (2, 0, 1)), ("0,1,2", (0, 1, 2)), ("-1,1,0", (2, 1, 0))):
                with self.subTest(dtype=dtype, order=text):
                    result = self.compute(array, "permute", "--order", text)
                    self.assertEqual(result.dtype, array.dtype)
                    numpy.testing.assert_array_equal(result, array.transpose(order))

    def test_no_axes(self):
        self.assertEqual(self.compute(numpy.float32(3), "permute", "--order", "")[()], 3)


if __name__ == "__main__":
    unittest.main()
