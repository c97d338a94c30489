"""What a GPU's sweep measures: rows × length over powers of two and their neighbours, in both orientations; and what
the bus allows at each point. No GPU is needed to know it."""
from dataclasses import dataclass

OPS = ("sum", "softmax")
ORIENTATIONS = ("rows", "columns")
COARSE, COARSE_STEP = (20, 24, 27), 2  # log2 of elements: 4, 64 and 512 MiB of f32; step of log2 of the length
FINE, FINE_STEP = range(19, 29), 1     # as long as there is time
MOST = 1 << 28         # elements
ELEMENT = 4            # bytes
FLOOR = 1 << 20        # bytes: below it a launch counts for more than the bus
BAR = 0.6              # of the ceiling, at every point above


@dataclass(frozen=True)
class Point:
    op: str
    orientation: str
    rows: int
    length: int

    @property
    def count(self):
        return self.rows * self.length

    @property
    def outputs(self):
        return self.count if self.op == "softmax" else self.rows

    @property
    def bytes_moved(self):
        return ELEMENT * (self.count + self.outputs)

    @property
    def shape(self):
        return (self.rows, self.length) if self.orientation == "rows" else (self.length, self.rows)

    @property
    def out_shape(self):
        return self.shape if self.op == "softmax" else (self.rows,)

    @property
    def axes(self):
        return (1,) if self.orientation == "rows" else (0,)


def points(totals, step):
    """By growing size, so that a ceiling and those held against it are measured close together."""
    pairs = {}  # a set that keeps its order
    for total in totals:
        for power in sorted({*range(0, total + 1, step), total}):
            for more, rows_more in ((0, 0), (-1, 0), (1, 0), (0, -1), (0, 1)):
                length, rows = 2**power + more, 2**(total - power) + rows_more
                if length > 0 and rows > 0 and length * rows <= MOST:
                    pairs[rows, length] = None
    return [Point(op, way, *pair) for pair in pairs for op in OPS for way in ORIENTATIONS]


def coarse_points():
    return points(COARSE, COARSE_STEP)


def fine_points():
    """What the coarse ones leave out."""
    coarse = set(coarse_points())
    return [point for point in points(FINE, FINE_STEP) if point not in coarse]


def allowed_microseconds(point, read_us, copy_us, size):
    """Reading each byte once and writing each byte once, at the rates of a stream and of a copy of `size` bytes. A byte
    that is written costs what a copy of it costs beyond a read."""
    reads, writes = ELEMENT * point.count, ELEMENT * point.outputs
    return reads / size * read_us + writes / size * max(0, copy_us - read_us)
