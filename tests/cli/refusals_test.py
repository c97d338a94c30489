"""What is refused: exit code 2, one line on stderr that says what is wrong, and no file."""
import struct
import unittest

import numpy

from support import CliTest, normal


class Usage(CliTest):
    def setUp(self):
        super().setUp()
        self.save(normal(3, 4, 5))

    def test_verbs(self):
        self.refuse(says="no verb")
        self.refuse("sofmax", "in.npy", says="sofmax")
        self.refuse("softmax", "in.npy", "-o", "out.npy", "reduce", says="reduce")

    def test_what_is_missing(self):
        self.refuse("softmax", says="IN.npy")
        self.refuse("softmax", "in.npy", says="--output")
        self.refuse("reduce", "in.npy", "-o", "out.npy", says="--op")
        self.refuse("permute", "in.npy", "-o", "out.npy", says="--order")
        self.refuse("explain", "--op", "sum", says="--shape")
        self.refuse("softmax", "in.npy", "-o", "out.npy", "--axes", says="--axes")

    def test_unknown_options(self):
        self.refuse("softmax", "in.npy", "-o", "out.npy", "--temperature", "2", says="--temperature")
        self.refuse("softmax", "in.npy", "-o", "out.npy", "--op", "sum", says="--op")
        self.refuse("--wat", says="--wat")

    def test_axes(self):
        for axes in ("3", "-4", "0,0", "0,-3", "1,", ",", "x", "1.5", "0 1", "99999999999999999999", "-2147483648",
                     "2147483647", "al", "0;1", ""):
            with self.subTest(axes=axes):
                self.refuse("softmax", "in.npy", "-o", "out.npy", "--axes", axes)
                self.refuse("reduce", "in.npy", "-o", "out.npy", "--op", "sum", "--axes", axes)
        self.assertRegex(self.refuse("softmax", "in.npy", "-o", "out.npy", "--axes", "3"), r"\b3\b")
        self.assertIn("too large", self.refuse("softmax", "in.npy", "-o", "out.npy", "--axes", "9" * 20))

    def test_orders(self):
        for order in ("0,1", "0,1,2,3", "0,0,1", "0,1,3", "0,1,-4", "a,b,c", ""):
            with self.subTest(order=order):
                self.refuse("permute", "in.npy", "-o", "out.npy", "--order", order)

    def test_operations(self):
        self.refuse("reduce", "in.npy", "-o", "out.npy", "--op", "median", says="logsumexp")
        self.refuse("reduce", "in.npy", "-o", "out.npy", "--op", "softmax", says="verb of its own")
        self.refuse("reduce", "in.npy", "-o", "out.npy", "--op", "", says="--op")

    def test_types(self):
        self.refuse("softmax", "in.npy", "-o", "out.npy", "--dtype", "float32", says="f32")
        self.refuse("softmax", "in.npy", "-o", "out.npy", "--dtype", "best", says="best")
        self.refuse("softmax", "in.npy", "-o", "out.npy", "--dtype", "bf16", says="bf16")
        self.refuse("reduce", "in.npy", "-o", "out.npy", "--op", "sum", "--dtype", "bf16", says="bf16")
        self.refuse("softmax", "in.npy", "-o", "out.npy", "--dtype", "i32", says="i32")

    def test_integers_have_no_softmax(self):
        self.save(numpy.arange(4))
        self.refuse("softmax", "in.npy", "-o", "out.npy", says="i64")
        self.refuse("reduce", "in.npy", "-o", "out.npy", "--op", "logsumexp", says="i64")

    def test_numbers(self):
        for option, value in (("--scale", "big"), ("--scale", "2x"), ("--alpha", ""), ("--threads", "0"),
                              ("--threads", "-1"), ("--threads", "1.5"), ("--threads", "99999999999")):
            with self.subTest(option=option, value=value):
                self.refuse("softmax", "in.npy", "-o", "out.npy", option, value, says=option)
        self.refuse("reduce", "in.npy", "-o", "out.npy", "--op", "var", "--ddof", "x", says="--ddof")

    def test_devices_and_strategies(self):
        self.refuse("softmax", "in.npy", "-o", "out.npy", "--device", "h200", says="there to plan for")
        self.refuse("bench", "--op", "sum", "--shape", "4", "--device", "a100", says="there to plan for")
        self.refuse("softmax", "in.npy", "-o", "out.npy", "--strategy", "magic", says="magic")
        self.refuse("explain", "--op", "sum", "--shape", "4", "--device", "abacus", says="abacus")

    def test_gpus_that_no_machine_has(self):
        verbs = (("softmax", "in.npy", "-o", "out.npy"), ("permute", "in.npy", "-o", "out.npy", "--order", "2,1,0"),
                 ("reduce", "in.npy", "-o", "out.npy", "--op", "sum"), ("bench", "--op", "sum", "--shape", "4"),
                 ("explain", "--op", "sum", "--shape", "4"))
        for verb in verbs:
            for device in ("cuda:4096", "cuda:2147483647"):
                self.assertRegex(self.refuse(*verb, "--device", device), f"'{device}' cannot be used: .{{10}}")
            for device in ("cuda:", "cuda:x", "cuda:-1", "cuda:+1", "cuda: 1", "cuda:1 ", "cuda:0x0", "cuda:1,2",
                           "cuda:2147483648", "cuda:99999999999999999999"):
                self.refuse(*verb, "--device", device, says=f"'{device}' names no GPU")
            for device in ("", "cudax", "CUDA", "cpu:0", "gpu"):
                self.refuse(*verb, "--device", device, says=f"'{device}' is not a device")

    def test_options_of_other_operations(self):
        self.refuse("explain", "--op", "sum", "--shape", "4", "--scale", "2", says="--scale")
        self.refuse("explain", "--op", "softmax", "--shape", "4", "--keepdims", says="--keepdims")
        self.refuse("explain", "--op", "permute", "--shape", "4", "--order", "0", "--axes", "0", says="--axes")
        self.refuse("explain", "--op", "sum", "--shape", "4", "--order", "0", says="--order")

    def test_shapes(self):
        for shape in ("-1", "4,-4", "x", "4,,4", str(2**63)):
            with self.subTest(shape=shape):
                self.refuse("explain", "--op", "sum", "--shape", shape)
        self.refuse("explain", "--op", "sum", "--shape", f"{2**40},{2**40}")
        self.refuse("explain", "--op", "sum", "--shape", "4,4", "--strides", "1")
        self.refuse("bench", "--op", "sum", "--shape", "4,0", says="no elements")


class Files(CliTest):
    """Bad .npy files: cut short, hostile, or something else altogether."""

    def refuse_bytes(self, content, says=""):
        (self.folder / "in.npy").write_bytes(content)
        for verb in (("info", "in.npy"), ("softmax", "in.npy", "-o", "out.npy")):
            self.assertIn("in.npy", self.refuse(*verb, says=says))

    def npy(self, header, data=b"", version=(1, 0)):
        text = header.encode() + b"\n"
        return b"\x93NUMPY" + bytes(version) + struct.pack("<H", len(text)) + text + data

    def test_missing(self):
        self.refuse("info", "nothing.npy", says="nothing.npy")
        self.refuse("softmax", "nothing.npy", "-o", "out.npy", says="nothing.npy")
        (self.folder / "folder").mkdir()
        self.refuse("info", "folder", says="folder")
        self.refuse("softmax", "in\nname.npy", "-o", "out.npy")

    def test_every_cut(self):
        numpy.save(self.folder / "whole.npy", normal(3, 4))
        whole = (self.folder / "whole.npy").read_bytes()
        for length in [*range(0, 16), 60, 127, 128, 129, len(whole) - 1]:
            with self.subTest(length=length):
                (self.folder / "in.npy").write_bytes(whole[:length])
                self.refuse("softmax", "in.npy", "-o", "out.npy", says="in.npy")

    def test_headers(self):
        good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"
        self.refuse_bytes(b"")
        self.refuse_bytes(b"PK\x03\x04" + bytes(200))
        self.refuse_bytes(self.npy(good, bytes(8), version=(9, 0)))
        for bad in (good.replace("<f4", "|O"), good.replace("<f4", "<c8"), good.replace("<f4", "<U3"),
                    good.replace("<f4", "<f4\x00"), good.replace("(2,)", "(-2,)"), good.replace("(2,)", "(2"),
                    good.replace("(2,)", f"({2**62}, {2**62})"), good.replace("(2,)", "(" + "9" * 40 + ",)"),
                    good.replace("(2,)", "__import__('os')"), good.replace("False", "0"), good[:-1], "{}", "[]",
                    good.replace("'shape'", "'shapes'")):
            with self.subTest(header=bad):
                self.refuse_bytes(self.npy(bad, bytes(8)))

    def test_more_data_promised_than_there_is(self):
        self.refuse_bytes(self.npy("{'descr': '<f8', 'fortran_order': False, 'shape': (10000000, 1000), }", bytes(64)))


class Help(CliTest):
    VERBS = ("softmax", "log-softmax", "reduce", "permute", "explain", "info", "devices", "bench")

    def test_help(self):
        text = self.succeed("--help")
        for verb in self.VERBS:
            self.assertIn(f"  {verb} ", text)
            self.assertIn("Usage: ndfold " + verb, self.succeed(verb, "--help"))
        self.assertIn("ndfold explain --op softmax", text)

    def test_version(self):
        self.assertRegex(self.succeed("--version"), r"\Andfold \d+\.\d+\.\d+\n\Z")


if __name__ == "__main__":
    unittest.main()
