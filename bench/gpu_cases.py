"""Which cases are measured on a GPU. Samples of regimes: a rule that helps one alone is no rule."""
import random
from dataclasses import dataclass
from math import prod

BYTES = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8, "i32": 4, "u8": 1}
SOFTMAXES = ("softmax", "log_softmax")
FOLDS = ("sum", "max", "argmax", "logsumexp", "var")


@dataclass(frozen=True)
class Regime:
    title: str           # with {op}: one picture an operation
    least: float = None  # share of the ceiling that each of its cases has to reach, where one number says it


# Those that have a picture.
REGIMES = {"rows": Regime("softmax, rows", .95), "long_rows": Regime("softmax, longer rows", .80),
           "columns": Regime("softmax, columns and middle axes"), "several": Regime("softmax, several axes"),
           "half": Regime("softmax of bf16 and f16"), "strided": Regime("softmax, strided layouts"),
           "reduce": Regime("{op}", .95), "reduce_half": Regime("{op} of bf16", .95)}


@dataclass(frozen=True)
class Case:
    regime: str
    name: str
    op: str
    dtype: str
    shape: tuple
    axes: tuple
    layout: str = "dense"  # dense, transposed (last two axes), sliced ([..., ::2]), padded, misaligned, reversed

    @property
    def writes_all(self):
        return self.op in SOFTMAXES

    @property
    def bytes_read(self):
        return prod(self.shape) * BYTES[self.dtype]

    @property
    def bytes_moved(self):
        return self.bytes_read * (2 if self.writes_all else 1)


# Name, shape, axes.
ROWS = (("rows8", (8388608, 8), (1,)), ("rows17", (3947580, 17), (1,)), ("rows129", (520222, 129), (1,)),
        ("rows1023", (65600, 1023), (1,)), ("rows4097", (16380, 4097), (1,)), ("rows64", (1048576, 64), (1,)),
        ("rows100", (655360, 100), (1,)),
        ("rows1k", (65536, 1024), (1,)), ("rows4k", (16384, 4096), (1,)), ("rows8k", (8192, 8192), (1,)),
        ("rows16k", (4096, 16384), (1,)), ("seed_cols4k", (65536, 4096), (1,)),
        ("rows32k", (4096, 32768), (1,)), ("vocab50257", (2048, 50257), (1,)), ("attn1k", (4, 32, 1024, 1024), (3,)),
        ("nchw_spatial", (64, 256, 64, 64), (2, 3)))
LONG_ROWS = (("rows256k", (512, 262144), (1,)), ("rows1m_x64", (64, 1048576), (1,)), ("rows1m_x4", (4, 1048576), (1,)),
             ("giant2^22", (1, 4194304), (1,)), ("giant2^24", (1, 16777216), (1,)), ("vocab128256", (1024, 128256), (1,)),
             ("rows64k", (2048, 65536), (1,)), ("rows750k", (180, 750000), (1,)), ("rows2m", (64, 2097152), (1,)),
             ("rows4m", (32, 4194304), (1,)))
COLUMNS = (("col_256_256k", (256, 262144), (0,)), ("mid512", (64, 512, 4096), (1,)),
           ("mid1500", (16, 1500, 4096), (1,)), ("col_4k_16k", (4096, 16384), (0,)),
           ("col_16k_4k", (16384, 4096), (0,)), ("seed_row64k", (65536, 4096), (0,)),
           ("nhwc_spatial", (32, 64, 64, 512), (1, 2)), ("col_16k_4097", (16384, 4097), (0,)),
           ("col_1m_65", (1048576, 65), (0,)), ("col_3", (3, 22369621), (0,)), ("col_7", (7, 9586980), (0,)),
           ("col_32_odd", (32, 2097151), (0,)), ("col_128_odd", (128, 524287), (0,)), ("col_8k_8k", (8192, 8192), (0,)),
           ("mid1024", (64, 1024, 2048), (1,)), ("mid2048", (32, 2048, 2048), (1,)))
SEVERAL = (("ax02", (128, 256, 2048), (0, 2)), ("ax13", (16, 64, 32, 2048), (1, 3)),
           ("ax135_6d", (16, 32, 16, 32, 16, 32), (1, 3, 5)), ("ax024_6d", (16, 32, 16, 32, 16, 32), (0, 2, 4)),
           ("ax13_odd", (512, 31, 128, 33), (1, 3)))
SMALL = (("small256", (256, 256), (1,)), ("small256_ax0", (256, 256), (0,)), ("tiny8x16", (8, 16), (1,)))

REDUCED = (("all2^28", (268435456,), (0,)), ("inner16k", (16384, 16384), (1,)), ("outer16k", (16384, 16384), (0,)),
           ("inner64", (4194304, 64), (1,)), ("outer64", (4194304, 64), (0,)), ("few_long", (8, 33554432), (1,)),
           ("mid512", (64, 512, 8192), (1,)), ("ax02", (128, 256, 8192), (0, 2)),
           ("bn_nhwc", (64, 64, 64, 1024), (0, 1, 2)), ("bn_nchw", (64, 1024, 64, 64), (0, 2, 3)),
           ("ax135_6d", (32, 32, 16, 32, 16, 32), (1, 3, 5)), ("outer65", (4128768, 65), (0,)),
           ("outer4097", (65536, 4097), (0,)), ("ax13_odd", (512, 31, 128, 33), (1, 3)),
           ("bn_7x7", (4096, 512, 7, 7), (0, 2, 3)))
REDUCED_SMALL = (("all2^20", (1048576,), (0,)), ("all2^16", (65536,), (0,)), ("rows4x64k", (4, 65536), (1,)),
                 ("small256", (256, 256), (1,)), ("small256_ax0", (256, 256), (0,)), ("col4096x64", (4096, 64), (0,)))


def of(regime, ops, dtypes, problems, layouts=("dense",)):
    return [Case(regime, name, op, dtype, shape, axes, layout) for op in ops for dtype in dtypes
            for name, shape, axes in problems for layout in layouts]


def all_cases():
    """In the order of the report."""
    cases = of("rows", ("softmax",), ("f32",), ROWS)
    cases += of("long_rows", ("softmax",), ("f32",), LONG_ROWS)
    cases += of("columns", ("softmax",), ("f32",), COLUMNS)
    cases += of("several", ("softmax",), ("f32",), SEVERAL)
    cases += of("half", ("softmax",), ("bf16", "f16"), (ROWS[3], ROWS[7], COLUMNS[3], SEVERAL[0], SEVERAL[4]))
    cases += of("half", ("softmax",), ("bf16",), (ROWS[12], LONG_ROWS[1], *LONG_ROWS[5:7]))
    cases += of("strided", ("softmax",), ("f32",), (("rows4k", (16384, 4096), (1,)), ("col_4k", (4096, 16384), (0,))),
                ("transposed", "sliced", "padded", "misaligned", "reversed"))
    cases += of("small", ("softmax",), ("f32",), SMALL)
    cases += of("reduce", FOLDS, ("f32",), REDUCED)
    cases += of("reduce_half", FOLDS, ("bf16",), REDUCED)
    cases += of("small", ("sum", "argmax"), ("f32",), REDUCED_SMALL)
    return cases


SIDES = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 16, 17, 20, 24, 31, 32, 33, 48, 49, 50, 63, 64, 65, 80, 96, 100, 127, 128,
         129, 160, 196, 197, 224, 255, 256, 257, 300, 384, 512, 513, 577, 768, 1000, 1023, 1024, 1025, 1280, 1500, 2000,
         2047, 2048, 3000, 4096, 4097, 5000, 8192, 10000, 16384, 20000, 32768, 50257, 65536, 100000, 131072)


def random_cases(seed, count, mebibytes=128):
    """Problems of some mebibytes that nobody chose: up to five axes, any of them reduced, in any layout."""
    draw = random.Random(seed)
    for number in range(count):
        dtype = draw.choice(("f32", "f32", "f32", "bf16", "f16"))
        rank, shape = draw.choice((1, 2, 2, 3, 3, 4, 5)), []
        left = int(mebibytes * 2**20 / BYTES[dtype] * draw.uniform(.6, 1.4))
        for others in range(rank - 1, 0, -1):
            shape.append(draw.choice([side for side in SIDES if side * 2**others <= left] or [1]))
            left //= shape[-1]
        shape.append(max(1, left))
        draw.shuffle(shape)
        axes = [axis for axis in range(rank) if draw.random() < .5] or [draw.randrange(rank)]
        if len(axes) == rank > 1:
            axes.pop(draw.randrange(rank))
        layouts = ("dense",) * 6 + (("transposed", "padded") if rank > 1 else ("misaligned",))
        op = draw.choice(("sum", "max", "argmax", "var", "logsumexp", "softmax", "softmax", "softmax", "log_softmax"))
        yield Case("random", f"{seed}.{number}", op, dtype, tuple(shape), tuple(axes), draw.choice(layouts))
