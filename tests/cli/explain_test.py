"""What is said of plans and devices, without any data."""
import json
import unittest

from support import CliTest

OPS = ("sum prod mean max min var std any all count_nonzero argmax argmin sumsq l1 l2 linf logsumexp "
       "softmax log-softmax log_softmax").split()


class Explain(CliTest):
    def explain(self, *arguments):
        return self.succeed("explain", *arguments)

    def test_every_operation_on_every_device(self):
        for op in OPS:
            for device in ("cpu", "h200", "a100"):
                with self.subTest(op=op, device=device):
                    text = self.explain("--op", op, "--shape", "64,512,40", "--axes", "1", "--device", device)
                    self.assertIn("chosen", text)
                    self.assertTrue(text.endswith("\n") and not text.endswith("\n\n"))

    def test_the_first_line_repeats_the_request(self):
        text = self.explain("--op", "softmax", "--shape", "64,512,4096", "--axes", "1", "--dtype", "f16")
        first = text.splitlines()[0]
        for part in ("softmax", "f16", "64,512,4096", "{1}"):
            self.assertIn(part, first)

    def test_json(self):
        for device in ("cpu", "h200", "a100"):
            text = self.explain("--op", "sum", "--shape", "8,9,10", "--axes", "0,-1", "--json", "--device", device)
            self.assertIsInstance(json.loads(text), dict)

    def test_permute(self):
        self.assertIn("permute", self.explain("--op", "permute", "--shape", "8,9,10", "--order", "2,0,1"))

    def test_strides_change_the_plan(self):
        rows = self.explain("--op", "sum", "--shape", "512,1024", "--axes", "1")
        columns = self.explain("--op", "sum", "--shape", "512,1024", "--axes", "1", "--strides", "1,512")
        self.assertNotEqual(rows, columns)

    def test_types(self):
        self.assertIn("f64", self.explain("--op", "sum", "--shape", "9", "--dtype", "f32", "--out-dtype", "f64"))
        self.assertIn("bf16", self.explain("--op", "softmax", "--shape", "9", "--dtype", "bf16"))
        self.assertIn("i64", self.explain("--op", "argmax", "--shape", "9", "--dtype", "u8"))

    def test_a_forced_strategy(self):
        text = self.explain("--op", "softmax", "--shape", "64,512", "--strategy", "softmax_chain", "--device", "h200")
        self.assertRegex(text, r"forced +softmax_chain")

    def test_block_limit(self):
        few = self.explain("--op", "softmax", "--shape", "64,512", "--strategy", "softmax_chain", "--device", "h200",
                           "--block-limit", "4")
        many = self.explain("--op", "softmax", "--shape", "64,512", "--strategy", "softmax_chain", "--device", "h200")
        self.assertGreater(len(few.splitlines()), len(many.splitlines()))

    def test_no_data_is_needed(self):
        self.assertIn("chosen", self.explain("--op", "sum", "--shape", f"{2**30},{2**20}", "--axes", "0"))

    def test_one_number(self):
        self.assertIn("chosen", self.explain("--op", "sum", "--shape", ""))


class Devices(CliTest):
    def test_all_are_listed(self):
        text = self.succeed("devices")
        lines = text.splitlines()
        names = lines[0].split()
        self.assertEqual((names[:2], names[-2:]), (["device", "cpu"], ["h200", "a100"]))
        self.assertIn("sm_90", text)
        self.assertEqual(text.count("plans only"), 2)
        self.assertEqual(text.count("plans and runs"), len(names) - 3)
        table = [line for line in lines if not line.startswith(("cpu runs", "cuda runs"))]
        self.assertGreaterEqual(len(table), 12)
        for line in table:
            self.assertNotEqual(line[34:].strip(), "", line)

    def test_gpus_are_listed_or_there_is_a_reason(self):
        lines = self.succeed("devices").splitlines()
        gpus = [name for name in lines[0].split() if name.startswith("cuda:")]
        reasons = [line for line in lines if line.startswith("cuda runs nothing here: ")]
        self.assertEqual(len(reasons), 0 if gpus else 1)
        self.assertTrue(all(len(line) > len("cuda runs nothing here: ") + 10 for line in reasons))

    def test_threads_of_the_environment(self):
        text = self.succeed("devices", environment={"NDFOLD_NUM_THREADS": "3"})
        self.assertIn("3 threads", text)

    def test_instructions_of_the_environment(self):
        text = self.succeed("devices", environment={"NDFOLD_CPU": "baseline"})
        self.assertIn("cpu runs baseline kernels", text)
        self.refuse("bench", "--op", "sum", "--shape", "8,8", "--axes", "0", environment={"NDFOLD_CPU": "mmx"},
                    says="NDFOLD_CPU asks for mmx, this machine and build have baseline")


if __name__ == "__main__":
    unittest.main()
