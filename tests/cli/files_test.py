"""The .npy files that come in and go out: types, byte orders, memory orders, versions, and nothing half-written."""
import os
import subprocess
import unittest

import numpy

from support import NDFOLD, CliTest, integers, normal, softmax

TYPES = ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?")
NAMES = {"f2": "f16", "f4": "f32", "f8": "f64", "i1": "i8", "i2": "i16", "i4": "i32", "i8": "i64", "u1": "u8",
         "u2": "u16", "u4": "u32", "u8": "u64", "?": "bool"}


class Input(CliTest):
    def test_every_type_in_both_byte_orders(self):
        for name in TYPES:
            for order in "<>":
                with self.subTest(type=name, order=order):
                    array = integers(3, 4, least=0, dtype=name).astype(numpy.dtype(name).newbyteorder(order))
                    result = self.compute(array, "reduce", "--op", "max", "--axes", "1")
                    numpy.testing.assert_array_equal(result, array.max(axis=1))
                    self.assertEqual(result.dtype, numpy.dtype(name))

    def test_fortran_order(self):
        array = numpy.asfortranarray(normal(3, 4, 5))
        for axes in ((0,), (2,), (0, 2)):
            result = self.compute(array, "softmax", "--axes", ",".join(map(str, axes)))
            numpy.testing.assert_allclose(result, softmax(array, axes), rtol=2e-6)
            self.assertTrue(result.flags.c_contiguous)

    def test_every_version_of_the_format(self):
        array = integers(3, 4)
        for version in ((1, 0), (2, 0), (3, 0)):
            with open(self.folder / "in.npy", "wb") as file:
                numpy.lib.format.write_array(file, array, version=version)
            self.succeed("reduce", "in.npy", "-o", "out.npy", "--op", "sum", "--axes", "0")
            numpy.testing.assert_array_equal(self.load(), array.sum(axis=0))

    def test_many_axes(self):
        array = integers(*([1, 2] * 16))
        result = self.compute(array, "reduce", "--op", "sum", "--axes", "1,-1")
        numpy.testing.assert_array_equal(result, array.sum(axis=(1, -1)))


class Output(CliTest):
    def test_only_the_output_is_left(self):
        self.save(normal(3, 4))
        self.succeed("softmax", "in.npy", "-o", "out.npy")
        self.assertEqual(sorted(self.snapshot()), ["in.npy", "out.npy"])

    def test_an_old_output_is_replaced(self):
        (self.folder / "out.npy").write_text("old")
        self.compute(normal(3, 4), "softmax")
        self.assertEqual(self.load().shape, (3, 4))

    def test_an_old_output_survives_a_refusal(self):
        (self.folder / "out.npy").write_text("old")
        self.save(normal(3, 4))
        self.refuse("softmax", "in.npy", "-o", "out.npy", "--axes", "7")
        self.assertEqual((self.folder / "out.npy").read_text(), "old")

    def test_other_folders(self):
        self.save(normal(3, 4))
        (self.folder / "below").mkdir()
        self.succeed("softmax", "in.npy", "-o", "below/out.npy")
        self.assertEqual(os.listdir(self.folder / "below"), ["out.npy"])
        self.refuse("softmax", "in.npy", "-o", "missing/out.npy", says="missing/out.npy")
        self.refuse("softmax", "in.npy", "-o", "below")

    @unittest.skipIf(os.geteuid() == 0, "root writes everywhere")
    def test_a_folder_that_cannot_be_written(self):
        self.save(normal(3, 4))
        (self.folder / "closed").mkdir(mode=0o500)
        self.refuse("softmax", "in.npy", "-o", "closed/out.npy")

    def test_standard_output_that_is_full(self):
        self.save(normal(3, 4))
        with open("/dev/full", "w") as full:
            done = subprocess.run([NDFOLD, "info", "in.npy"], cwd=self.folder, stdout=full, stderr=subprocess.PIPE,
                                  text=True)
        self.assertEqual((done.returncode, done.stderr), (2, "ndfold: standard output could not be written\n"))


class Info(CliTest):
    def test_what_it_says(self):
        for name in TYPES:
            self.save(integers(3, 4, least=0, dtype=name))
            lines = dict(line.split(maxsplit=1) for line in self.succeed("info", "in.npy").splitlines())
            self.assertEqual((lines["shape"], lines["type"]), ("(3, 4)", NAMES[name]))
            self.assertTrue(lines["order"].startswith("C "))
            self.assertEqual(lines["bytes"], f"{12 * numpy.dtype(name).itemsize} of data from byte 128")
            self.assertEqual(lines["format"], ".npy version 1")

    def test_orders(self):
        self.save(numpy.asfortranarray(normal(3, 4).astype(">f8")))
        text = self.succeed("info", "in.npy")
        self.assertIn("Fortran", text)
        self.assertIn("f64, big-endian", text)

    def test_one_number_and_none(self):
        self.save(numpy.float32(1))
        self.assertIn("shape   ()\n", self.succeed("info", "in.npy"))
        self.save(numpy.zeros((0, 3)))
        self.assertIn("shape   (0, 3)\n", self.succeed("info", "in.npy"))


if __name__ == "__main__":
    unittest.main()
