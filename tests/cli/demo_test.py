"""The demonstration, run as ./demo runs it; skipped (77) where SciPy and its photograph are missing."""
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from support import NDFOLD

FILES = {"photo.npy", "peaks.npy", "where.npy", "peaks.ppm"}


class Demo(unittest.TestCase):
    def demo(self, *arguments, ndfold=NDFOLD):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, "-B", os.environ["NDFOLD_DEMO"], "--ndfold", ndfold, *arguments],
                                  env={**os.environ, "TMPDIR": folder}, capture_output=True, text=True, timeout=250)
            left = list(pathlib.Path(folder).iterdir())
            files = {file.name for kept in left for file in kept.iterdir()}
            self.assertTrue(all(str(kept) in done.stdout for kept in left))
            return done, files

    def test_it_computes_checks_explains_and_leaves_nothing(self):
        done, files = self.demo()
        self.assertEqual((done.returncode, done.stderr, files), (0, "", set()))
        words = [line.split()[0] for line in done.stdout.splitlines() if not line.startswith(" ")]
        self.assertEqual(words, ["photo", "computed", "checked", "explained", "timed", "red", "green", "blue"])
        self.assertLessEqual(len(done.stdout.splitlines()), 30)

    def test_it_keeps_its_files_when_asked(self):
        done, files = self.demo("--keep")
        self.assertEqual((done.returncode, files), (0, FILES))

    def test_a_wrong_answer_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            wrong = pathlib.Path(folder) / "wrong"
            wrong.write_text(f'#!/bin/sh\n"{NDFOLD}" "$@" && if [ "$1" = softmax ]; then\n'
                             f'"{sys.executable}" -c "import numpy; x = numpy.load(\'peaks.npy\'); x[5, 6, 1] *= 1.01; '
                             f'numpy.save(\'peaks.npy\', x)"\nfi\n')
            wrong.chmod(0o755)
            done, _ = self.demo(ndfold=str(wrong))
        self.assertEqual(done.returncode, 1)
        self.assertIn("FAILED", done.stderr)


if __name__ == "__main__":
    scipy = importlib.util.find_spec("scipy")
    if scipy is None or not (pathlib.Path(scipy.origin).parent / "misc" / "face.dat").exists():
        print("SciPy's photograph is not installed")
        sys.exit(77)
    unittest.main()
