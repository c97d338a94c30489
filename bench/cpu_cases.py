"""Which cases are measured, and the bar that each regime has to reach. Data, and the few words to make it."""
from dataclasses import dataclass, replace

import numpy as np

FILL = None  # in a shape: as large as the input's size allows
BYTES = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8, "i32": 4, "u8": 1}
REDUCTIONS = ("sum", "max", "min", "mean", "sumsq", "any", "all")
NORMS = ("l1", "l2", "linf")
SOFTMAXES = ("softmax", "log_softmax")
EXPONENTIALS = SOFTMAXES + ("logsumexp",)


@dataclass(frozen=True)
class Bar:
    """At least `least` of `of`: "memory" (share of the memory ceiling), "E", "peer" (best peer's time over ours), the
    time of the case beside it over ours ("contiguous", "f32", "one thread"); or at most so many "ns"."""
    of: str
    least: float


@dataclass(frozen=True)
class Regime:
    name: str
    title: str
    bars: tuple


@dataclass(frozen=True)
class Case:
    regime: str
    op: str
    dtype: str
    shape: tuple
    axes: tuple
    layout: str = "dense"
    threads: int = 1
    beside: str = ""  # what the same run also measures ndfold on: "contiguous", "f32", "one thread"

    @property
    def writes_all(self):
        return self.op in SOFTMAXES

    @property
    def count(self):
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def name(self):
        """Google Benchmark's way: parts between slashes."""
        parts = [self.regime, self.op, self.dtype, "x".join(map(str, self.shape))]
        parts += ["axes " + ",".join(map(str, self.axes))]
        parts += [self.layout] if self.layout != "dense" else []
        return "/".join(parts + ([f"{self.threads} threads"] if self.threads > 1 else []))


REGIMES = (
    Regime("inner", "sum, max, min, mean, sumsq, any, all: inner and all axes", (Bar("memory", .9), Bar("peer", 1))),
    Regime("outer", "the same: outer, middle, alternating, several axes", (Bar("memory", .8), Bar("peer", 1))),
    Regime("argument", "argmax, argmin, every orientation", (Bar("memory", .7),)),
    Regime("moments", "var, std, norms", (Bar("memory", .8),)),
    Regime("logsumexp_rows", "logsumexp f32, rows", (Bar("E", .75),)),
    Regime("logsumexp_axes", "logsumexp f32, any axes", (Bar("E", .55),)),
    Regime("softmax_rows", "softmax, log_softmax f32, rows of any length", (Bar("E", .67), Bar("peer", 1.6))),
    Regime("softmax_axes", "softmax f32, any other axes", (Bar("E", .4), Bar("peer", 2))),
    Regime("threads", "several threads, until their memory ceiling is reached", (Bar("one thread", 1.8),)),
    Regime("half_softmax", "softmax of f16 and bf16, in elements/ns", (Bar("f32", .8),)),
    Regime("half_reduce", "sum and max of f16 and bf16, every orientation", (Bar("memory", .6),)),
    Regime("cache_softmax", "softmax in cache", (Bar("peer", 1.2),)),
    Regime("cache_reduce", "reductions in cache", (Bar("peer", 1),)),
    Regime("strided", "transposed, sliced, negative strides", (Bar("contiguous", .7),)),
    Regime("tiny", "[8,16] through a plan", (Bar("ns", 120),)),
    Regime("sweep", "no cliffs: every power of two and its neighbours, above 1 MiB", (Bar("ceiling", .4),)),
)

ALL, ROWS, COLUMNS = ((FILL,), (0,)), ((FILL, 4096), (1,)), ((FILL, 4096), (0,))
TALL, MIDDLE = ((FILL, 256), (0,)), ((FILL, 512, 512), (1,))
SEVERAL, ALTERNATING = ((128, FILL, 512), (0, 2)), ((FILL, 64, 32, 128), (1, 3))
LONG_ALTERNATION = ((16, 32, 16, 32, 16, FILL), (1, 3, 5))
OTHERS = (COLUMNS, TALL, MIDDLE, SEVERAL, ALTERNATING)
ORIENTATIONS = (ALL, ROWS) + OTHERS


def rows_of(*lengths):
    return tuple(((FILL, length), (1,)) for length in lengths)


def product(regime, ops, dtypes, layouts, **more):
    return [Case(regime, op, dtype, *where, **more) for dtype in dtypes for op in ops for where in layouts]


def strided_cases():
    """Views of every kind; each beside the dense array of its shape."""
    views = ("transposed", "padded rows", "sliced", "reversed", "every other row", "every other column")
    cases = [Case("strided", op, "f32", (FILL, 4096), axes, layout, beside="contiguous")
             for layout in views for op, axes in (("sum", (1,)), ("sum", (0,)), ("max", (1,)), ("softmax", (1,)),
                                                  ("softmax", (0,)), ("argmax", (1,)))]
    whole = [Case("strided", op, "f32", (FILL, 64, 32, 128), (1, 3), "axes reversed", beside="contiguous")
             for op in ("sum", "softmax")]
    return cases + whole


def cases_of(threads):
    """Every case, shapes not yet filled. `threads` is a list; above 1 there are the regimes "threads" and "tiny"."""
    cases = product("inner", REDUCTIONS, ("f32", "f64", "i32", "u8"), (ALL, ROWS))
    cases += product("inner", ("sum", "max", "mean"), ("f32",), rows_of(8, 17, 64, 100, 1000, 50257))
    cases += product("inner", ("sum", "max"), ("f64", "i32", "u8"), rows_of(64, 1000))
    cases += product("outer", REDUCTIONS, ("f32", "f64", "i32", "u8"), (COLUMNS,))
    cases += product("outer", ("sum", "max"), ("f32", "f64", "i32", "u8"), OTHERS[1:])
    cases += product("outer", ("sum", "max", "mean"), ("f32",),
                     (LONG_ALTERNATION, ((FILL, 1000), (0,)), ((FILL, 64), (0,)), ((32, FILL), (0,))))
    cases += product("argument", ("argmax", "argmin"), ("f32",), ORIENTATIONS + rows_of(64, 1000))
    cases += product("argument", ("argmax",), ("f64", "i32", "u8"), (ROWS, COLUMNS, SEVERAL))
    cases += product("moments", ("var", "std") + NORMS, ("f32",), (ALL, ROWS, COLUMNS, MIDDLE, SEVERAL))
    cases += product("moments", ("var", "l2"), ("f64",), (ROWS, COLUMNS))
    cases += product("moments", ("var", "l2"), ("f32",), rows_of(64, 1000))
    cases += product("logsumexp_rows", ("logsumexp",), ("f32",), (ALL,) + rows_of(64, 1000, 4096, 50257))
    cases += product("logsumexp_axes", ("logsumexp",), ("f32",), OTHERS + (LONG_ALTERNATION,))
    cases += product("softmax_rows", ("softmax",), ("f32",), (ALL,) + rows_of(
        1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 48, 64, 100, 127, 128, 256, 1000, 1024, 4096, 4097, 16384, 50257,
        65536, 1 << 18, 1 << 20))
    cases += product("softmax_rows", ("log_softmax",), ("f32",), rows_of(7, 64, 1000, 4096, 50257) + (ALL,))
    cases += product("softmax_axes", ("softmax",), ("f32",),
                     OTHERS + (LONG_ALTERNATION, ((FILL, 1000), (0,)), ((32, FILL), (0,)), ((FILL, 3, 1024), (1,))))
    cases += product("softmax_axes", ("log_softmax",), ("f32",), (COLUMNS, MIDDLE, SEVERAL))
    for many in (t for t in threads if t > 1):
        cases += product("threads", ("sum", "max", "argmax", "var"), ("f32",), (ALL, ROWS, COLUMNS, SEVERAL),
                         threads=many, beside="one thread")
        cases += product("threads", ("softmax", "logsumexp"), ("f32",), rows_of(64, 4096, 50257) + OTHERS + (ALL,),
                         threads=many, beside="one thread")
        cases += product("threads", ("sum",), ("f64", "u8", "bf16"), (ROWS, COLUMNS), threads=many, beside="one thread")
    cases += product("half_softmax", SOFTMAXES, ("f16", "bf16"),
                     rows_of(64, 1000, 4096, 50257) + (COLUMNS, MIDDLE, SEVERAL), beside="f32")
    cases += product("half_reduce", ("sum", "max"), ("f16", "bf16"), ORIENTATIONS + rows_of(64, 1000))
    in_cache = [((256, 256), (1,)), ((64, 1024), (1,)), ((256, 256), (0,)), ((64, 1024), (0,))]
    cases += product("cache_softmax", SOFTMAXES, ("f32",), in_cache)
    cases += product("cache_reduce", ("sum", "max", "logsumexp", "argmax"), ("f32",), in_cache)
    cases += strided_cases()
    for few in threads:  # more of them must not be woken
        cases += product("tiny", ("softmax", "sum", "max"), ("f32",), [((8, 16), (1,)), ((8, 16), (0,))], threads=few)
    return cases


def filled(case, mebibytes):
    """The case with its shape decided: as many MiB of input as asked for, and no fewer than one of each axis. What runs
    beside f32 is as large in f32."""
    if FILL not in case.shape:
        return case
    width = BYTES["f32"] if case.beside == "f32" else BYTES[case.dtype]
    others = int(np.prod([n for n in case.shape if n is not FILL], dtype=np.int64))
    fill = max(1, int(mebibytes * 2**20) // width // others)
    return replace(case, shape=tuple(fill if n is FILL else n for n in case.shape))


# Layout -> (the array that holds the view, the view of that array); (shape) -> shape, array -> view.
LAYOUTS = {
    "dense": (lambda s: s, lambda a: a),
    "transposed": (lambda s: s[::-1], lambda a: a.T),
    "axes reversed": (lambda s: s[::-1], lambda a: a.T),
    "padded rows": (lambda s: (*s[:-1], s[-1] + 24), lambda a: a[..., :-24]),
    "sliced": (lambda s: (s[0] + 3, s[1] + 19), lambda a: a[1:-2, 5:-14]),
    "reversed": (lambda s: s, lambda a: a[::-1, ::-1]),
    "every other row": (lambda s: (2 * s[0], s[1]), lambda a: a[::2]),
    "every other column": (lambda s: (s[0], 2 * s[1]), lambda a: a[:, ::2]),
}


def out_shape(case):
    if case.writes_all:
        return case.shape
    return tuple(n for i, n in enumerate(case.shape) if i not in case.axes)


def out_dtype(case):
    """ndfold's default (include/ndfold/op.h)."""
    if case.op in ("any", "all"):
        return "bool"
    if case.op in ("argmax", "argmin"):
        return "i64"
    if case.dtype in ("f16", "bf16", "f32", "f64") or case.op in ("max", "min"):
        return case.dtype
    if case.op in ("sum", "sumsq"):
        return "u64" if case.dtype == "u8" else "i64"
    return "f64"
