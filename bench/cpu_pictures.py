"""Pictures of a report: ndfold and its peers as shares of the ceiling, and the sweep. Needs python3-matplotlib."""
import math
import statistics

from cpu_cases import REGIMES
from cpu_sweep import FLOOR, OPS, ORIENTATIONS, is_judged

try:
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
except ImportError:
    pyplot = None

OURS, THEIRS, BAR, LIMIT, INK = "#0b6e4f", "#b8bfc6", "#c8553d", "#3a6ea5", "#2b2f33"
IN_E = ("logsumexp_rows", "logsumexp_axes", "softmax_rows", "softmax_axes", "half_softmax", "cache_softmax")
LEFT_OUT = ("tiny", "sweep")


def shares(results, regime):
    """Contender -> shares of the regime's ceiling, one a case."""
    found = {}
    for result in results:
        if result.case.regime != regime or result.error:
            continue
        ours = result.exponential_share if regime in IN_E else result.ceiling_share
        if not ours:
            continue
        found.setdefault("ndfold", []).append(ours)
        for name, ns in result.peers.items():
            if name not in result.wrong and ns:
                found.setdefault(name, []).append(ours * result.ns / ns)
    return found


def memory_limit(results, regime):
    """The share of E that memory allows in the middle case, where that is less than 1."""
    limits = [r.exponential_share / r.memory_share for r in results
              if r.case.regime == regime and regime in IN_E and not r.error]
    limit = statistics.median(limits) if limits else 1
    return limit if limit < 1 else None


def bars(axes, regime, found, limit):
    """One bar a contender: the median of its cases; ticks are the cases."""
    peers = sorted((n for n in found if n != "ndfold"), key=lambda n: statistics.median(found[n]))
    names = peers + ["ndfold"]
    for place, name in enumerate(names):
        colour = OURS if name == "ndfold" else THEIRS
        middle = statistics.median(found[name])
        axes.barh(place, middle, height=.62, color=colour, zorder=2)
        axes.plot(found[name], [place] * len(found[name]), "|", color=INK, alpha=.35, markersize=7, zorder=3)
        axes.text(1.015, place, f"{middle:.2f}", transform=axes.get_yaxis_transform(), va="center", fontsize=8,
                  color=OURS if name == "ndfold" else INK)
    for bar in regime.bars:
        if bar.of in ("memory", "E"):
            axes.axvline(bar.least, color=BAR, linewidth=1.3, linestyle=(0, (4, 2)), zorder=4)
    if limit:
        axes.axvline(limit, color=LIMIT, linewidth=1.3, linestyle=":", zorder=4)
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_ylim(-.6, len(names) - .4)
    axes.set_title(f"{regime.name.replace('_', ' ')}, share of {'E' if regime.name in IN_E else 'memory ceiling'}",
                   fontsize=9, loc="left", color=INK)


def tidy(axes):
    axes.set_xlim(0, 1.05)
    axes.set_xticks([0, .25, .5, .75, 1], ["0", "¼", "½", "¾", "1"], fontsize=8)
    axes.grid(axis="x", color="#e6e8ea", linewidth=.8, zorder=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0)


def draw_regimes(results, context, path):
    panels = [(regime, found) for regime in REGIMES if regime.name not in LEFT_OUT
              and (found := shares(results, regime.name))]
    if not panels:
        return False
    columns = min(3, len(panels))
    rows = math.ceil(len(panels) / columns)
    figure, grid = pyplot.subplots(rows, columns, figsize=(4.6 * columns, 2.1 * rows + .7), squeeze=False)
    for axes in grid.flat[len(panels):]:
        axes.axis("off")
    for axes, (regime, found) in zip(grid.flat, panels):
        bars(axes, regime, found, memory_limit(results, regime.name))
        tidy(axes)
    figure.suptitle(f"ndfold {context['commit']} beside its peers on {context['cpu']}", x=.01, ha="left", fontsize=11)
    figure.text(.01, .005, "Bars are medians over the cases that each one does, ticks the cases; dashed: the share to "
                f"reach; dotted: what memory allows of E. {context['date'][:10]}", fontsize=8, color=INK)
    figure.tight_layout(rect=(0, .02, 1, .985), h_pad=1.2, w_pad=1.5)
    figure.savefig(path, dpi=130)
    pyplot.close(figure)
    return True


def exponent(number):
    return round(math.log2(number))


def draw_sweep(results, context, path):
    """Each cell: the worst of a power of two and its neighbours."""
    if not results:
        return False
    figure, grid = pyplot.subplots(len(OPS), len(ORIENTATIONS), figsize=(11.5, 9.6), squeeze=False,
                                   layout="constrained")
    for row, op in enumerate(OPS):
        for column, way in enumerate(ORIENTATIONS):
            image = panel(grid[row][column], [r for r in results if r.case.op == op and r.case.axes == (1 - column,)],
                          column, f"{op}, {way}")
    scale = figure.colorbar(image, ax=grid, shrink=.5, pad=.02)
    scale.set_label("share of the ceiling (the worst of a power of two and its neighbours)", fontsize=8)
    scale.ax.tick_params(labelsize=8)
    figure.suptitle(f"ndfold {context['commit']}, one thread, f32, {context['cpu']}, {context['date'][:10]}; "
                    "dashed: 1 MiB", x=.01, ha="left", fontsize=10)
    figure.savefig(path, dpi=130)
    pyplot.close(figure)
    return True


def panel(axes, results, reduced_first, title):
    cells = {}
    for result in results:
        length, rows = result.case.shape if reduced_first else result.case.shape[::-1]
        key = exponent(length), exponent(rows)
        cells[key] = min(cells.get(key, 9), result.ceiling_share)
    across = max((x for x, _ in cells), default=0) + 1
    down = max((y for _, y in cells), default=0) + 1
    table = [[cells.get((x, y), math.nan) for x in range(across)] for y in range(down)]
    image = axes.imshow(table, origin="lower", vmin=0, vmax=1, cmap="viridis", aspect="auto")
    worst = min((r for r in results if is_judged(r)), key=lambda r: r.ceiling_share, default=None)
    if worst:
        length, rows = worst.case.shape if reduced_first else worst.case.shape[::-1]
        axes.plot(exponent(length), exponent(rows), "o", markersize=11, markerfacecolor="none", markeredgecolor=BAR,
                  markeredgewidth=2)
        title += f": above 1 MiB at worst {worst.ceiling_share:.2f} ({worst.case.shape[0]}×{worst.case.shape[1]})"
        edge = exponent(FLOOR // 4) - .5
        axes.plot([-.5, edge + .5], [edge + .5, -.5], color=BAR, linewidth=1, linestyle="--")
    axes.set(xlim=(-.5, across - .5), ylim=(-.5, down - .5), xticks=range(0, across, 4), yticks=range(0, down, 4))
    axes.set_title(title, fontsize=9, loc="left")
    axes.set_xlabel("log₂ of the reduced length", fontsize=8)
    axes.set_ylabel("log₂ of the number of rows (or columns)", fontsize=8)
    axes.tick_params(labelsize=8)
    return image


def write(folder, results, swept, context):
    """regimes.png and sweep.png; the names of those that were drawn."""
    if not pyplot:
        return []
    drawn = [("regimes.png", draw_regimes(results, context, folder / "regimes.png")),
             ("sweep.png", draw_sweep(swept, context, folder / "sweep.png"))]
    return [name for name, there in drawn if there]
