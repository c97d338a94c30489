"""The verb bench: its table and its JSON."""
import json
import os
import pty
import re
import subprocess
import unittest

from support import NDFOLD, CliTest

QUICK = ("--repeat", "3", "--seconds", "0.001")


class Bench(CliTest):
    def test_the_table(self):
        title, head, plan, copy = self.succeed("bench", "--op", "softmax", "--shape", "1024,256", "--threads",
                                               "2", *QUICK).splitlines()  # a rate of less than 0.005 GB/s prints as 0
        self.assertIn("softmax", title)
        self.assertIn("2 threads", title)
        self.assertEqual(re.split(r"\s{2,}", head.strip()), ["median ms", "GB/s", "of memcpy"])
        for row, name in ((plan, "plan"), (copy, "memcpy")):
            words = row.split()
            self.assertEqual(words[0], name)
            self.assertGreater(float(words[1]), 0, row)
            self.assertGreater(float(words[2]), 0, row)
        self.assertEqual(copy.split()[3], "100%")

    def test_one_measurement_is_its_own_median(self):
        text = self.succeed("bench", "--op", "sum", "--shape", "100", "--repeat", "1", "--seconds", "0.001")
        self.assertEqual(len(text.splitlines()), 4)

    def test_json_is_google_benchmarks(self):
        report = json.loads(self.succeed("bench", "--op", "sum", "--shape", "64,100", "--json", *QUICK))
        self.assertIn("ndfold", report["context"])
        rows = report["benchmarks"]
        medians = {row["name"].split("/")[0]: row for row in rows if row.get("aggregate_name") == "median"}
        self.assertEqual(sorted(medians), ["memcpy", "plan"])
        for row in medians.values():
            self.assertGreater(row["bytes_per_second"], 0)
            self.assertGreater(row["real_time"], 0)
        repetitions = [row for row in rows if row["run_type"] == "iteration"]
        self.assertEqual(len(repetitions), 6)

    def test_every_kind_and_type(self):
        for arguments in ("--op max --dtype u8", "--op any --dtype bool --axes 1", "--op argmax --dtype f16",
                          "--op sum --dtype bf16 --out-dtype f32", "--op log-softmax --dtype f64 --axes 0",
                          "--op permute --order 1,0"):
            with self.subTest(arguments=arguments):
                self.assertIn("memcpy", self.succeed("bench", "--shape", "30,40", *arguments.split(), *QUICK))

    def test_progress_is_told_on_a_terminal_and_wiped_away(self):
        try:
            ours, theirs = pty.openpty()
        except OSError as error:
            self.skipTest(f"no terminal to be had here: {error}")
        command = [NDFOLD, "bench", "--op", "sum", "--shape", "100", "--repeat", "1", "--seconds", "1"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, text=True, timeout=120)
        os.close(theirs)
        told = os.read(ours, 4096).decode()
        os.close(ours)
        self.assertEqual(done.returncode, 0)
        self.assertTrue(told.startswith("\r\033[Kbench … 1 s"), repr(told))
        self.assertTrue(told.endswith("\r\033[K"), repr(told))


if __name__ == "__main__":
    unittest.main()
