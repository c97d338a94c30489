"""NumPy's own files, copied by npy_roundtrip, must come back equal; what ndfold cannot read must be refused.

usage: npy_numpy_test.py NPY_ROUNDTRIP        exit 77: NumPy is not there
"""
import itertools
import os
import subprocess
import sys
import tempfile
import warnings

try:
    import numpy as np
    from numpy.lib import format as npy_format
except ImportError:
    print("skipped: python3-numpy is not installed")
    sys.exit(77)

CODES = ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1"]
SHAPES = [(), (1,), (5,), (3, 4), (2, 3, 4), (2, 0, 3), (1,) * 20]
VERSIONS = [(1, 0), (2, 0), (3, 0)]


def values(code, shape, generator):
    """Every bit pattern is possible, NaN and infinity too; bool bytes are 0 or 1."""
    dtype = np.dtype(code)
    count = int(np.prod(shape, dtype=np.int64))
    if dtype.kind == "b":
        return generator.integers(0, 2, count).astype(np.bool_).reshape(shape)
    return np.frombuffer(generator.bytes(count * dtype.itemsize), dtype=dtype).reshape(shape)


def layouts(array):
    yield "C", np.ascontiguousarray(array).reshape(array.shape)
    yield "Fortran", np.asfortranarray(array).reshape(array.shape, order="F")
    yield "reversed", array[::-1] if array.ndim else array


def copy(program, folder):
    source, target = os.path.join(folder, "in.npy"), os.path.join(folder, "out.npy")
    if os.path.exists(target):
        os.remove(target)
    done = subprocess.run([program, source, target], capture_output=True, text=True, timeout=60)
    assert set(os.listdir(folder)) <= {"in.npy", "out.npy"}, f"left behind: {os.listdir(folder)}"
    return done, target


def check_copies(program, folder):
    generator = np.random.default_rng(20240607)
    checked = 0
    for code, byte_order, version in itertools.product(CODES, "<>", VERSIONS):
        for shape in SHAPES:
            native = values(code, shape, generator)
            for name, array in layouts(native.astype(native.dtype.newbyteorder(byte_order), copy=True)):
                where = f"{byte_order}{code} {shape} {name} version {version[0]}"
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    with open(os.path.join(folder, "in.npy"), "wb") as file:
                        npy_format.write_array(file, array, version=version)
                done, target = copy(program, folder)
                assert done.returncode == 0 and not done.stderr, f"{where}: {done.stderr}"
                result = np.load(target)
                assert result.dtype == native.dtype and result.dtype.isnative, f"{where}: {result.dtype}"
                assert result.shape == array.shape, f"{where}: {result.shape}"
                expected = array.astype(native.dtype).tobytes()
                assert result.tobytes() == expected, f"{where}: other elements"
                with open(target, "rb") as file:
                    assert npy_format.read_magic(file) == (1, 0), where
                    _, fortran_order, _ = npy_format.read_array_header_1_0(file)
                    assert not fortran_order and file.tell() % 64 == 0, where
                checked += 1
    return checked


def check_refusals(program, folder):
    cases = {
        "pickled Python objects": np.array([{"a": 1}, None], dtype=object),
        "Unicode text": np.array(["text", "more"]),
        "byte strings": np.array([b"text", b"more"]),
        "records": np.zeros(3, dtype=[("x", "<f4"), ("y", "<i4")]),
        "raw bytes": np.zeros(3, dtype="V7"),
        "complex": np.zeros(3, dtype=np.complex64),
        "dates": np.zeros(3, dtype="datetime64[ns]"),
        "time spans": np.zeros(3, dtype="timedelta64[s]"),
        "floats of neither": np.zeros(3, dtype=np.longdouble),
    }
    for words, array in cases.items():
        np.save(os.path.join(folder, "in.npy"), array, allow_pickle=True)
        done, target = copy(program, folder)
        assert done.returncode == 2 and not os.path.exists(target), f"{words}: {done}"
        assert words in done.stderr and done.stderr.count("\n") == 1, f"{words}: {done.stderr}"
        assert done.stderr.startswith(os.path.join(folder, "in.npy") + ": "), done.stderr
    return len(cases)


def main():
    program = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="ndfold-npy-") as folder:
        print(f"{check_copies(program, folder)} files copied, {check_refusals(program, folder)} refused,"
              f" as they should be (NumPy {np.__version__})")


main()
