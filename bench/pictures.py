"""What the pictures of CPUs and of GPUs look like: bars of shares of a ceiling, one panel a regime, and a map of a
sweep. Needs python3-matplotlib; without it pyplot is None."""
import math
import statistics
from dataclasses import dataclass, field

try:
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
except ImportError:
    pyplot = None

OURS, THEIRS, BAR, LIMIT, INK = "#0b6e4f", "#b8bfc6", "#c8553d", "#3a6ea5", "#2b2f33"
WE = "ndfold"


@dataclass
class Panel:
    title: str
    shares: dict                              # contender -> shares of the ceiling, one a case
    bars: list = field(default_factory=list)  # shares to reach
    limit: float = None                       # a share that nothing can pass


@dataclass(frozen=True)
class Cell:
    length: int  # reduced
    rows: int
    share: float
    judged: bool
    name: str


def bars(axes, panel):
    """One bar a contender: the median of its cases; ticks are the cases."""
    found = panel.shares
    peers = sorted((n for n in found if n != WE), key=lambda n: statistics.median(found[n]))
    names = peers + [WE]
    for place, name in enumerate(names):
        colour = OURS if name == WE else THEIRS
        middle = statistics.median(found[name])
        axes.barh(place, middle, height=.62, color=colour, zorder=2)
        axes.plot(found[name], [place] * len(found[name]), "|", color=INK, alpha=.35, markersize=7, zorder=3)
        axes.text(1.015, place, f"{middle:.2f}", transform=axes.get_yaxis_transform(), va="center", fontsize=8,
                  color=OURS if name == WE else INK)
    for least in panel.bars:
        axes.axvline(least, color=BAR, linewidth=1.3, linestyle=(0, (4, 2)), zorder=4)
    if panel.limit:
        axes.axvline(panel.limit, color=LIMIT, linewidth=1.3, linestyle=":", zorder=4)
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_ylim(-.6, len(names) - .4)
    axes.set_title(panel.title, fontsize=9, loc="left", color=INK)


def tidy(axes):
    axes.set_xlim(0, 1.05)
    axes.set_xticks([0, .25, .5, .75, 1], ["0", "¼", "½", "¾", "1"], fontsize=8)
    axes.grid(axis="x", color="#e6e8ea", linewidth=.8, zorder=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0)


def draw_panels(panels, heading, footnote, path):
    """Three panels a row; False when there are none."""
    if not panels:
        return False
    columns = min(3, len(panels))
    rows = math.ceil(len(panels) / columns)
    figure, grid = pyplot.subplots(rows, columns, figsize=(4.6 * columns, 2.1 * rows + .7), squeeze=False)
    for axes in grid.flat[len(panels):]:
        axes.axis("off")
    for axes, panel in zip(grid.flat, panels):
        bars(axes, panel)
        tidy(axes)
    figure.suptitle(heading, x=.01, ha="left", fontsize=11)
    figure.text(.01, .005, footnote, fontsize=8, color=INK)
    figure.tight_layout(rect=(0, .02, 1, .985), h_pad=1.2, w_pad=1.5)
    figure.savefig(path, dpi=130)
    pyplot.close(figure)
    return True


def exponent(number):
    return round(math.log2(number))


def draw_map(panels, heading, floor, path):
    """panels: rows of (title, cells). A place is the worst of a power of two and its neighbours; beyond `floor`
    elements (dashed) shares are judged."""
    figure, grid = pyplot.subplots(len(panels), len(panels[0]), figsize=(11.5, 9.6), squeeze=False,
                                   layout="constrained")
    for axes, (title, cells) in zip(grid.flat, (panel for row in panels for panel in row)):
        image = draw_cells(axes, cells, floor, title)
    scale = figure.colorbar(image, ax=grid, shrink=.5, pad=.02)
    scale.set_label("share of the ceiling (the worst of a power of two and its neighbours)", fontsize=8)
    scale.ax.tick_params(labelsize=8)
    figure.suptitle(heading, x=.01, ha="left", fontsize=10)
    figure.savefig(path, dpi=130)
    pyplot.close(figure)


def draw_cells(axes, cells, floor, title):
    shares = {}
    for cell in cells:
        key = exponent(cell.length), exponent(cell.rows)
        shares[key] = min(shares.get(key, 9), cell.share)
    across = max((x for x, _ in shares), default=0) + 1
    down = max((y for _, y in shares), default=0) + 1
    table = [[shares.get((x, y), math.nan) for x in range(across)] for y in range(down)]
    image = axes.imshow(table, origin="lower", vmin=0, vmax=1, cmap="viridis", aspect="auto")
    worst = min((cell for cell in cells if cell.judged), key=lambda cell: cell.share, default=None)
    if worst:
        axes.plot(exponent(worst.length), exponent(worst.rows), "o", markersize=11, markerfacecolor="none",
                  markeredgecolor=BAR, markeredgewidth=2)
        title += f": above 1 MiB at worst {worst.share:.2f} ({worst.name})"
        edge = exponent(floor) - .5
        axes.plot([-.5, edge + .5], [edge + .5, -.5], color=BAR, linewidth=1, linestyle="--")
    axes.set(xlim=(-.5, across - .5), ylim=(-.5, down - .5), xticks=range(0, across, 4), yticks=range(0, down, 4))
    axes.set_title(title, fontsize=9, loc="left")
    axes.set_xlabel("log₂ of the reduced length", fontsize=8)
    axes.set_ylabel("log₂ of the number of rows (or columns)", fontsize=8)
    axes.tick_params(labelsize=8)
    return image
