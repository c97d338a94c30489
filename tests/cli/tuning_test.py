"""NDFOLD_TUNING: a file whose numbers take the place of the tuning table's."""
import unittest

from support import CliTest

COLUMNS = ("architecture,strategy,reduced_up_to,bytes_up_to,element_up_to,softmax_only,threads,lanes_per_row,unroll,"
           "panel_bytes,cluster_blocks")
ON = ("--op", "sum", "--shape", "4096,4096", "--axes", "0", "--strategy", "columns_in_block", "--device")


class Tuning(CliTest):
    def tuned_by(self, *lines):
        (self.folder / "tuning.csv").write_text("\n".join((COLUMNS, *lines, "")))
        return {"NDFOLD_TUNING": "tuning.csv"}

    def test_numbers_of_the_file_are_used(self):
        before = self.succeed("explain", *ON, "h200")
        self.assertIn("256 threads", before)
        self.assertNotIn("\ntuned ", before)
        environment = self.tuned_by("90,columns_in_block,,,,0,128,1,8,128,1")
        text = self.succeed("explain", *ON, "h200", environment=environment)
        self.assertIn("128 threads", text)
        self.assertIn("\ntuned ", text)
        for device in ("a100", "cpu"):
            self.assertEqual(self.succeed("explain", *ON, device, environment=environment),
                             self.succeed("explain", *ON, device))

    def test_a_file_that_is_wrong_refuses_every_plan_for_a_gpu(self):
        environment = self.tuned_by("# a comment", "90,columns_in_block,,,,0,100,1,8,128,1")
        self.refuse("explain", *ON, "h200", environment=environment,
                    says="NDFOLD_TUNING names tuning.csv, which cannot be used: line 3: threads is '100', it has to be "
                    "a power of two from 32 to 512")
        self.refuse("explain", *ON, "a100", environment=environment, says="threads is '100'")
        self.succeed("explain", *ON, "cpu", environment=environment)
        for name in ("nowhere.csv", "."):
            self.refuse("explain", *ON, "h200", environment={"NDFOLD_TUNING": name},
                        says=f"NDFOLD_TUNING names {name}, which cannot be read")
        self.succeed("explain", *ON, "h200", environment={"NDFOLD_TUNING": ""})


if __name__ == "__main__":
    unittest.main()
