"""libndfold_bench_gpu.so through ctypes, on PyTorch's tensors and its current stream."""
import ctypes

import torch

from cpu_library import Problem, numbers

NAMES = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.float64: "f64", torch.int32: "i32",
         torch.int64: "i64", torch.uint8: "u8"}


def problem_of(op, x, out, axes, flip):
    """A Problem; along the axes of `flip` the input is read backwards."""
    sign = [-1 if axis in flip else 1 for axis in range(x.ndim)]
    strides = [s * f for s, f in zip(x.stride(), sign)]
    return Problem(op.encode(), NAMES[x.dtype].encode(), NAMES[out.dtype].encode(), x.ndim, out.ndim, len(axes), 1,
                   numbers(ctypes.c_int64, x.shape), numbers(ctypes.c_int64, strides),
                   numbers(ctypes.c_int64, out.shape), numbers(ctypes.c_int64, out.stride()),
                   numbers(ctypes.c_int32, axes), first(x, flip), out.data_ptr())


def first(x, flip):
    """Where element (0, …, 0) lies."""
    return x.data_ptr() + sum((x.shape[axis] - 1) * x.stride(axis) for axis in flip) * x.element_size()


def told(nanoseconds, why):
    """The number, unless it stands for a refusal."""
    if nanoseconds < 0:
        raise RuntimeError(why.value.decode(errors="replace") or "a launch failed")
    return nanoseconds


class Plan:
    """A plan for GPU 0. Frees itself."""

    def __init__(self, c, handle, flip):
        self.c, self.handle, self.flip = c, handle, flip
        self.workspace = c.ndfold_bench_gpu_workspace(handle)
        self.launches = c.ndfold_bench_gpu_launches(handle)
        self.explained = c.ndfold_bench_gpu_explain(handle).decode()
        name = ctypes.create_string_buffer(64)
        c.ndfold_bench_gpu_strategy(handle, name, len(name))
        self.strategy = name.value.decode()
        self.why = ctypes.create_string_buffer(256)

    def run(self, x, out, scratch):
        stream = torch.cuda.current_stream().cuda_stream
        if self.c.ndfold_bench_gpu_run(self.handle, first(x, self.flip), out.data_ptr(), scratch.data_ptr(),
                                       scratch.numel(), stream, self.why, len(self.why)):
            raise RuntimeError(self.why.value.decode(errors="replace"))

    def run_ns(self, x, out, scratch, calls):
        """The host's nanoseconds of a run; nobody waits for the stream."""
        stream = torch.cuda.current_stream().cuda_stream
        return told(self.c.ndfold_bench_gpu_run_ns(self.handle, first(x, self.flip), out.data_ptr(), scratch.data_ptr(),
                                                   scratch.numel(), stream, calls, self.why, len(self.why)), self.why)

    def __del__(self):
        self.c.ndfold_bench_gpu_free(self.handle)


class Library:
    def __init__(self, path):
        c = self.c = ctypes.CDLL(str(path))
        pointer, text, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
        number, real = ctypes.c_int, ctypes.c_double
        for name, result, arguments in [
                ("gpu_plan", pointer, [ctypes.POINTER(Problem), number, text, text, size]),
                ("gpu_free", None, [pointer]), ("gpu_workspace", size, [pointer]), ("gpu_explain", text, [pointer]),
                ("gpu_strategy", None, [pointer, text, size]), ("gpu_launches", number, [pointer]),
                ("gpu_run", number, [pointer, pointer, pointer, pointer, size, pointer, text, size]),
                ("gpu_run_ns", real, [pointer, pointer, pointer, pointer, size, pointer, number, text, size]),
                ("gpu_call_ns", real, [ctypes.POINTER(Problem), number, pointer, number, text, size]),
                ("launch_ns", real, [number, pointer, number]),
                ("read", number, [pointer, ctypes.c_longlong, pointer, pointer])]:
            function = getattr(c, f"ndfold_bench_{name}")
            function.restype, function.argtypes = result, arguments

    def plan(self, op, x, out, axes, strategy="", flip=()):
        why = ctypes.create_string_buffer(512)
        handle = self.c.ndfold_bench_gpu_plan(problem_of(op, x, out, axes, flip), 0, strategy.encode(), why, len(why))
        if not handle:
            raise RuntimeError(why.value.decode(errors="replace"))
        return Plan(self.c, handle, flip)

    def read(self, x, scratch):
        """Queues a stream over all of x that only reads."""
        error = self.c.ndfold_bench_read(x.data_ptr(), x.numel() * x.element_size(), scratch.data_ptr(),
                                         torch.cuda.current_stream().cuda_stream)
        if error:
            raise RuntimeError(f"CUDA error {error}")

    def call_ns(self, op, x, out, axes, calls):
        """The host's nanoseconds of a free function, whose plan is in the cache from the second call on."""
        why = ctypes.create_string_buffer(512)
        stream = torch.cuda.current_stream().cuda_stream
        problem = problem_of(op, x, out, axes, ())
        return told(self.c.ndfold_bench_gpu_call_ns(problem, 0, stream, calls, why, len(why)), why)

    def launch_ns(self, with_arguments, calls):
        """Of a launch without ndfold, of a kernel that does nothing; `with_arguments`: that has ndfold's parameters."""
        why = ctypes.create_string_buffer(b"an empty kernel was not launched")
        stream = torch.cuda.current_stream().cuda_stream
        return told(self.c.ndfold_bench_launch_ns(with_arguments, stream, calls), why)


class Tables:
    """The tuning tables of a library's GPU 0: a search puts numbers of its own in their place."""

    def __init__(self, library):
        c = self.c = library.c
        pointer, text, size = ctypes.POINTER(Problem), ctypes.c_char_p, ctypes.c_size_t
        for name, result, arguments in [("tuning_columns", text, []),
                                        ("tuning_row", ctypes.c_int, [pointer, ctypes.c_int, text, text, size]),
                                        ("use_tuning", ctypes.c_int, [text, text, size])]:
            function = getattr(c, f"ndfold_bench_{name}")
            function.restype, function.argtypes = result, arguments
        self.columns = c.ndfold_bench_tuning_columns().decode()

    def row(self, op, x, out, axes, strategy):
        """The row that a strategy uses for a problem: column -> text."""
        to = ctypes.create_string_buffer(512)
        problem = problem_of(op, x, out, axes, ())
        if self.c.ndfold_bench_tuning_row(problem, 0, strategy.encode(), to, len(to)):
            raise RuntimeError(to.value.decode(errors="replace"))
        return dict(zip(self.columns.split(","), to.value.decode().split(",")))

    def use(self, lines):
        """Plans from now on use these lines of a file; none: the tables as they are built in."""
        why = ctypes.create_string_buffer(512)
        if self.c.ndfold_bench_use_tuning(f"{self.columns}\n{lines}\n".encode(), why, len(why)):
            raise RuntimeError(why.value.decode(errors="replace"))
