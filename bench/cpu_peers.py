"""What NumPy, SciPy and PyTorch offer for each operation, as a careful user calls it: outputs and scratch given where
they can be, neighbouring axes joined. Each maker gives a callable, or None when the peer does not do the case."""
import os

import numpy as np
from scipy import special

os.environ.setdefault("ATEN_CPU_CAPABILITY", "avx512")  # else Debian's PyTorch keeps to AVX2 here; ignored where absent
try:
    import torch
except ImportError:
    torch = None

np.seterr(all="ignore")  # f16 overflows, and NumPy would say so at each sample

LETTERS = "abcdefgh"


def squares(x, axes, out):
    kept = "".join(LETTERS[i] for i in range(x.ndim) if i not in axes)
    every = LETTERS[:x.ndim]
    return lambda: np.einsum(f"{every},{every}->{kept}", x, x, out=out)


def numpy_absolute(reduce, x, axes, out, scratch):
    absolute = scratch(x)

    def call():
        np.abs(x, out=absolute)
        reduce(absolute, axis=axes, out=out)
    return call


def numpy_exponentials(op, x, axes, out, scratch):
    """softmax, log_softmax and logsumexp by ufuncs, nothing allocated."""
    shape = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
    most, sums = np.empty(shape, x.dtype), np.empty(shape, x.dtype)
    first = out if op == "softmax" else scratch(x)

    def call():
        np.max(x, axis=axes, keepdims=True, out=most)
        np.subtract(x, most, out=first)
        np.exp(first, out=first)
        np.sum(first, axis=axes, keepdims=True, out=sums)
        if op == "softmax":
            np.divide(out, sums, out=out)
            return
        np.log(sums, out=sums)
        np.add(sums, most, out=sums)
        if op == "log_softmax":
            np.subtract(x, sums, out=out)
        else:
            out[...] = sums.reshape(out.shape)
    return call


def numpy_argument(find, x, axes, out):
    if len(axes) == x.ndim and x.flags.c_contiguous:
        flat = x.reshape(-1)
        return lambda: find(flat, axis=0, out=out)
    return (lambda: find(x, axis=axes[0], out=out)) if len(axes) == 1 else None


def numpy_l2(x, axes, out):
    square = squares(x, axes, out)

    def call():
        square()
        np.sqrt(out, out=out)
    return call


def direct(function):
    return lambda x, axes, out, scratch: lambda: function(x, axis=axes, out=out)


NUMPY = {
    "sum": direct(np.sum), "max": direct(np.max), "min": direct(np.min), "mean": direct(np.mean),
    "any": direct(np.any), "all": direct(np.all), "var": direct(np.var), "std": direct(np.std),
    "sumsq": lambda x, axes, out, scratch: squares(x, axes, out) if x.dtype.kind == "f" else None,
    "l1": lambda *a: numpy_absolute(np.sum, *a), "linf": lambda *a: numpy_absolute(np.max, *a),
    "l2": lambda x, axes, out, scratch: numpy_l2(x, axes, out),
    "argmax": lambda x, axes, out, scratch: numpy_argument(np.argmax, x, axes, out),
    "argmin": lambda x, axes, out, scratch: numpy_argument(np.argmin, x, axes, out),
    **{op: lambda *a, op=op: numpy_exponentials(op, *a) for op in ("softmax", "log_softmax", "logsumexp")},
}
SCIPY = {"softmax": special.softmax, "log_softmax": special.log_softmax, "logsumexp": special.logsumexp}


def torch_softmax(op, x, axes, out):
    if len(axes) == 1:
        function = torch.softmax if op == "softmax" else torch.log_softmax
        return lambda: function(x, axes[0], out=out)
    if op != "softmax":
        return None

    def call():
        most = torch.amax(x, axes, keepdim=True)
        torch.sub(x, most, out=out)
        torch.exp(out, out=out)
        torch.div(out, torch.sum(out, axes, keepdim=True), out=out)
    return call


def torch_one(function, x, axes, out):
    """Those that take one axis, or all of them flattened."""
    if len(axes) == x.ndim:
        x, axes = x.reshape(-1), (0,)
    return (lambda: function(x, axes[0], out=out)) if len(axes) == 1 else None


def torch_norm(order, x, axes, out):
    return lambda: torch.linalg.vector_norm(x, order, axes, out=out)


def torch_sumsq(x, axes, out):
    norm = torch_norm(2, x, axes, out)

    def call():
        norm()
        torch.mul(out, out, out=out)
    return call


TORCH = {
    "sum": lambda x, a, out: lambda: torch.sum(x, a, out=out),
    "mean": lambda x, a, out: lambda: torch.mean(x, a, out=out),
    "max": lambda x, a, out: lambda: torch.amax(x, a, out=out),
    "min": lambda x, a, out: lambda: torch.amin(x, a, out=out),
    "var": lambda x, a, out: lambda: torch.var(x, a, unbiased=False, out=out),
    "std": lambda x, a, out: lambda: torch.std(x, a, unbiased=False, out=out),
    "logsumexp": lambda x, a, out: lambda: torch.logsumexp(x, a, out=out),
    "any": lambda *a: torch_one(torch.any, *a), "all": lambda *a: torch_one(torch.all, *a),
    "argmax": lambda *a: torch_one(torch.argmax, *a), "argmin": lambda *a: torch_one(torch.argmin, *a),
    "l1": lambda *a: torch_norm(1, *a), "l2": lambda *a: torch_norm(2, *a),
    "linf": lambda *a: torch_norm(float("inf"), *a), "sumsq": torch_sumsq,
    "softmax": lambda *a: torch_softmax("softmax", *a), "log_softmax": lambda *a: torch_softmax("log_softmax", *a),
}


def torch_tensor(array, dtype):
    if dtype == "bf16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array.view(np.int64) if array.dtype == np.uint64 else array)


def make_numpy(op, dtype, x, axes, out, scratch):
    return NUMPY[op](x, axes, out, scratch) if dtype != "bf16" and op in NUMPY else None


def make_scipy(op, dtype, x, axes, out, scratch):
    return (lambda: SCIPY[op](x, axis=axes)) if dtype != "bf16" and op in SCIPY else None


def make_torch(op, dtype, x, axes, out, scratch):
    if op not in TORCH:
        return None
    try:
        return TORCH[op](torch_tensor(x, dtype), axes, torch_tensor(out, "bf16" if out.dtype == np.uint16 else ""))
    except ValueError:  # negative strides
        return None


def use_threads(threads):
    """PyTorch's; NumPy and SciPy have one."""
    if torch:
        torch.set_num_threads(threads)


# Name -> (maker, whether it uses more than one thread)
PEERS = {"NumPy": (make_numpy, False), "SciPy": (make_scipy, False)}
if torch:
    PEERS["PyTorch"] = (make_torch, True)


def joined(x, axes, out_shape, writes_all):
    """Neighbouring axes of one kind as one axis, axes of size 1 gone: (shape, axes, output's shape), for a dense x."""
    shape, kinds = [], []
    for i, size in enumerate(x.shape):
        if size == 1:
            continue
        if kinds and kinds[-1] == (i in axes):
            shape[-1] *= size
        else:
            shape.append(size)
            kinds.append(i in axes)
    new_axes = tuple(i for i, reduced in enumerate(kinds) if reduced)
    if not new_axes:
        return x.shape, axes, out_shape
    kept = tuple(n for n, reduced in zip(shape, kinds) if not reduced)
    return tuple(shape), new_axes, tuple(shape) if writes_all else kept
