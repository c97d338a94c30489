"""The C++ half of the benchmark through ctypes, and the buffers that everybody works on."""
import ctypes
import mmap

import numpy as np

ELEMENT = {"f16": np.float16, "bf16": np.uint16, "f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64,
           "u8": np.uint8, "u64": np.uint64, "bool": np.bool_}
HUGE_PAGE = 2 << 20
STREAM_BLOCK = 1024  # level.h: streams take whole blocks


class Problem(ctypes.Structure):
    """NdfoldBenchCase of subject.h."""
    _fields_ = [("op", ctypes.c_char_p), ("dtype", ctypes.c_char_p), ("out_dtype", ctypes.c_char_p),
                ("rank", ctypes.c_int32), ("out_rank", ctypes.c_int32), ("axis_count", ctypes.c_int32),
                ("threads", ctypes.c_int32)]
    _fields_ += [(name, ctypes.POINTER(ctypes.c_int64)) for name in ("sizes", "strides", "out_sizes", "out_strides")]
    _fields_ += [("axes", ctypes.POINTER(ctypes.c_int32)), ("in_", ctypes.c_void_p), ("out", ctypes.c_void_p)]


def address(array):
    return array.__array_interface__["data"][0]


def numbers(kind, values):
    return (kind * max(len(values), 1))(*values)


def problem_of(op, dtype, out_dtype, x, out, axes, threads):
    """A Problem for NumPy views; bf16 travels as uint16."""
    strides = [s // x.itemsize for s in x.strides]
    out_strides = [s // out.itemsize for s in out.strides]
    return Problem(op.encode(), dtype.encode(), out_dtype.encode(), x.ndim, out.ndim, len(axes), threads,
                   numbers(ctypes.c_int64, x.shape), numbers(ctypes.c_int64, strides),
                   numbers(ctypes.c_int64, out.shape), numbers(ctypes.c_int64, out_strides),
                   numbers(ctypes.c_int32, axes), address(x), address(out))


class Subject:
    """Something prepared that can be run and timed. Frees itself."""

    def __init__(self, library, handle):
        self.library, self.handle = library, handle

    def time(self, calls):
        """Nanoseconds a call."""
        return self.library.ndfold_bench_time(self.handle, calls)

    def instructions(self):
        """User-space instructions a call, or None where the system does not let one count them."""
        count = self.library.ndfold_bench_instructions(self.handle)
        return count if count > 0 else None

    def __del__(self):
        self.library.ndfold_bench_free(self.handle)


class Library:
    """libndfold_bench_cpu.so."""

    def __init__(self, path):
        c = self.c = ctypes.CDLL(str(path))
        pointer, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
        for name, result, arguments in [
                ("contender", text, [number]), ("stream", text, [number, number]), ("exponential", text, [number]),
                ("host", text, []), ("level", text, []),
                ("make", pointer, [number, ctypes.POINTER(Problem), text, ctypes.c_size_t]),
                ("make_stream", pointer, [number, number, pointer, pointer, ctypes.c_size_t, number]),
                ("make_exponential", pointer, [number]), ("exponential_count", ctypes.c_size_t, []),
                ("free", None, [pointer]), ("time", ctypes.c_double, [pointer, ctypes.c_int64]),
                ("instructions", ctypes.c_double, [pointer])]:
            function = getattr(c, f"ndfold_bench_{name}")
            function.restype, function.argtypes = result, arguments
        self.contenders = self.names(c.ndfold_bench_contender)
        self.reads = self.names(lambda i: c.ndfold_bench_stream(0, i))
        self.copies = self.names(lambda i: c.ndfold_bench_stream(1, i))
        self.exponentials = self.names(c.ndfold_bench_exponential)
        self.exponential_count = c.ndfold_bench_exponential_count()
        self.host, self.level = c.ndfold_bench_host().decode(), c.ndfold_bench_level().decode()

    @staticmethod
    def names(call):
        found = []
        while text := call(len(found)):
            found.append(text.decode())
        return found

    def make(self, contender, problem):
        """(Subject, "") or (None, why not)."""
        why = ctypes.create_string_buffer(256)
        handle = self.c.ndfold_bench_make(self.contenders.index(contender), problem, why, len(why))
        return (Subject(self.c, handle), "") if handle else (None, why.value.decode(errors="replace"))

    def stream(self, copies, index, source, target, size, threads):
        """One of the ceilings of memory, over `size` bytes."""
        size = size // STREAM_BLOCK * STREAM_BLOCK
        return Subject(self.c, self.c.ndfold_bench_make_stream(copies, index, source, target, size, threads)), size

    def exponential(self, index):
        return Subject(self.c, self.c.ndfold_bench_make_exponential(index))


class Buffers:
    """One input an element type and one output for all, in 2 MiB pages, a whole number of cache lines apart."""

    def __init__(self, seed=7):
        self.random = np.random.default_rng(seed)
        self.inputs, self.output = {}, None

    def room(self, size):
        """`size` bytes at a 64-byte boundary, at a random distance from a 4 KiB one."""
        memory = mmap.mmap(-1, size + 2 * HUGE_PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)  # shared: never huge
        if hasattr(mmap, "MADV_HUGEPAGE"):
            memory.madvise(mmap.MADV_HUGEPAGE)
        array = np.frombuffer(memory, np.uint8)
        skip = -address(array) % HUGE_PAGE + 64 * int(self.random.integers(1, 64))
        return array[skip:skip + size]

    def input(self, dtype, count, zeros=False):
        """At least `count` random elements that are not 0; all of them 0 for an `any` that has to see everything."""
        key = (dtype, zeros)
        size = count * np.dtype(ELEMENT[dtype]).itemsize
        if key not in self.inputs or self.inputs[key].nbytes < size:
            array = self.inputs[key] = self.room(size).view(ELEMENT[dtype])
            if zeros:
                array[:] = 0
            else:
                self.fill(array, dtype)
        return self.inputs[key][:count]

    def fill(self, array, dtype):
        step = 1 << 20
        for at in range(0, array.size, step):
            part = array[at:at + step]
            if dtype in ("u8", "bool"):
                part[:] = self.random.integers(1, 2 if dtype == "bool" else 256, part.size, np.uint8).view(part.dtype)
            elif dtype == "i32":
                part[:] = self.random.integers(1, 1000, part.size, np.int32)
            else:
                values = 1 + self.random.standard_normal(part.size, np.float32)
                values[values == 0] = 1
                part[:] = values.view(np.uint32) >> 16 if dtype == "bf16" else values

    def out(self, size):
        """`size` bytes to write to, touched already."""
        if self.output is None or self.output.nbytes < size:
            self.output = self.room(size)
            self.output[:] = 0
        return self.output[:size]

    def forget_inputs(self):
        self.inputs.clear()
