"""What the tests of the command line share: a folder of their own, a way to run ndfold, and references in NumPy."""
import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy

NDFOLD = os.environ["NDFOLD_CLI"]


def gpus():
    """The GPUs of this machine, as `ndfold devices` names them: several that are alike share a name."""
    done = subprocess.run([NDFOLD, "devices"], capture_output=True, text=True, timeout=120)
    return [name for name in done.stdout.split("\n")[0].split() if name.startswith("cuda:")]


class CliTest(unittest.TestCase):
    """Each test runs in an empty folder."""

    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="ndfold-cli-")
        self.folder = pathlib.Path(self.temporary.name)
        self.addCleanup(self.temporary.cleanup)

    def ndfold(self, *arguments, **options):
        """Runs the command, whatever comes of it."""
        environment = {**os.environ, **options.pop("environment", {})}
        return subprocess.run([NDFOLD, *map(str, arguments)], cwd=self.folder, env=environment, capture_output=True,
                              text=True, timeout=120, **options)

    def succeed(self, *arguments, **options):
        """Runs a command that must work, and gives what it printed."""
        done = self.ndfold(*arguments, **options)
        self.assertEqual((done.returncode, done.stderr), (0, ""), f"ndfold {arguments}")
        return done.stdout

    def refuse(self, *arguments, says="", **options):
        """Runs a command that must fail with one line on stderr that holds `says`, and leave no new file."""
        before = self.snapshot()
        done = self.ndfold(*arguments, **options)
        self.assertEqual(done.returncode, 2, f"ndfold {arguments}: {done.stdout}{done.stderr}")
        self.assertRegex(done.stderr, r"\Andfold: [^\n]+\n\Z", f"ndfold {arguments}")
        self.assertIn(says, done.stderr)
        self.assertEqual(done.stdout, "", f"ndfold {arguments}")
        self.assertEqual(self.snapshot(), before, f"ndfold {arguments}")
        return done.stderr

    def snapshot(self):
        return {file.name: file.read_bytes() for file in self.folder.iterdir() if file.is_file()}

    def save(self, array, name="in.npy"):
        numpy.save(self.folder / name, array)
        return name

    def load(self, name="out.npy"):
        return numpy.load(self.folder / name, allow_pickle=False)

    def compute(self, array, verb, *arguments):
        """The array that a verb makes of `array`."""
        self.save(array)
        self.assertEqual(self.succeed(verb, "in.npy", "-o", "out.npy", *arguments), "")
        return self.load()


def softmax(array, axes, scale=1.0, alpha=1.0):
    """In long double."""
    scaled = array.astype("g") * scale
    weights = numpy.exp(scaled - scaled.max(axis=axes, keepdims=True))
    return alpha * weights / weights.sum(axis=axes, keepdims=True)


def log_softmax(array, axes, scale=1.0, alpha=1.0):
    """In long double."""
    scaled = array.astype("g") * scale
    shifted = scaled - scaled.max(axis=axes, keepdims=True)
    return alpha * (shifted - numpy.log(numpy.exp(shifted).sum(axis=axes, keepdims=True)))


def normal(*shape, dtype="f4", seed=1):
    return numpy.random.default_rng(seed).normal(size=shape).astype(dtype)


def integers(*shape, dtype="f4", least=-9, most=9, seed=1):
    """Whole numbers, whose sums are exact in every float type used here."""
    return numpy.random.default_rng(seed).integers(least, most, size=shape, endpoint=True).astype(dtype)
