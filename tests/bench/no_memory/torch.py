"""As much of PyTorch as bench/gpu*.py asks for, without a GPU and without memory: tensors are addresses, shapes and
strides; events tell the host's time. Nothing is computed."""
import contextlib
import math
import time


class dtype:
    def __init__(self, size, is_floating_point):
        self.itemsize, self.is_floating_point = size, is_floating_point


float16, bfloat16, float32, float64 = (dtype(size, True) for size in (2, 2, 4, 8))
int32, int64, uint8 = (dtype(size, False) for size in (4, 8, 1))
__version__ = "without memory"
GRAIN = 512  # bytes: how far allocations are aligned


class Tensor:
    free = 1 << 40  # the next address

    def __init__(self, shape, kind, strides=None, address=None):
        self.shape, self.dtype = tuple(shape), kind
        if strides is None:
            strides = [math.prod(self.shape[axis + 1:]) for axis in range(len(self.shape))]
        self.strides, self.address = tuple(strides), address
        if address is None:
            self.address = Tensor.free
            Tensor.free += -(-self.numel() * kind.itemsize // GRAIN) * GRAIN

    @property
    def ndim(self):
        return len(self.shape)

    def numel(self):
        return math.prod(self.shape)

    def stride(self, axis=None):
        return self.strides if axis is None else self.strides[axis]

    def data_ptr(self):
        return self.address

    def element_size(self):
        return self.dtype.itemsize

    def view(self, shape):
        assert math.prod(shape) == self.numel(), f"{self.shape} is no {shape}"
        return Tensor(shape, self.dtype, address=self.address)

    def __getitem__(self, part):
        """[first:end] of one axis, [..., first:end:step] of the last of several."""
        part = part[-1] if isinstance(part, tuple) else part
        first, end, step = part.indices(self.shape[-1])
        assert self.ndim == 1 or first == 0
        return Tensor(self.shape[:-1] + (len(range(first, end, step)),), self.dtype,
                      self.strides[:-1] + (self.strides[-1] * step,), self.address + first * self.dtype.itemsize)

    def transpose(self, *axes):
        order = list(range(self.ndim))
        order[axes[0]], order[axes[1]] = order[axes[1]], order[axes[0]]
        return Tensor([self.shape[a] for a in order], self.dtype, [self.strides[a] for a in order], self.address)

    def to(self, kind):
        return Tensor(self.shape, kind)

    def copy_(self, other):
        assert self.shape == other.shape
        return self

    def fill_(self, _):
        return self


def empty(shape, device, dtype=float32):
    assert device == "cuda"
    return Tensor([shape] if isinstance(shape, int) else shape, dtype)


def randn(shape, device, dtype=float32, generator=None):
    return empty(shape, device, dtype)


def randint(_low, _high, shape, device, dtype=int64, generator=None):
    return empty(shape, device, dtype)


zeros = empty


def empty_like(tensor):
    return Tensor(tensor.shape, tensor.dtype)


class Generator:
    def __init__(self, device):
        assert device == "cuda"

    def manual_seed(self, _):
        return self


class cuda:
    class Event:
        def __init__(self, enable_timing):
            assert enable_timing

        def record(self):
            self.at = time.perf_counter()

        def synchronize(self):
            pass

        def elapsed_time(self, end):
            return max((end.at - self.at) * 1e3, 1e-6)

    class Stream:
        cuda_stream = 0

        def wait_stream(self, _):
            pass

    class CUDAGraph:
        def replay(self):
            pass

    @staticmethod
    def current_stream():
        return cuda.Stream()

    @staticmethod
    def stream(_):
        return contextlib.nullcontext()

    @staticmethod
    def graph(_, stream):
        assert isinstance(stream, cuda.Stream)
        return contextlib.nullcontext()

    @staticmethod
    def synchronize():
        pass

    @staticmethod
    def get_device_properties(_):
        class Properties:
            name = "a GPU without memory"
        return Properties
