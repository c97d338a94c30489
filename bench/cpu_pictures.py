"""Pictures of a CPU's report: ndfold and its peers as shares of the ceiling, and the sweep."""
import statistics

from cpu_cases import REGIMES
from cpu_sweep import FLOOR, OPS, ORIENTATIONS, is_judged
from pictures import WE, Cell, Panel, draw_map, draw_panels, pyplot

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
        found.setdefault(WE, []).append(ours)
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


def panels_of(results):
    for regime in REGIMES:
        found = shares(results, regime.name)
        if regime.name in LEFT_OUT or not found:
            continue
        ceiling = "E" if regime.name in IN_E else "memory ceiling"
        yield Panel(f"{regime.name.replace('_', ' ')}, share of {ceiling}", found,
                    [bar.least for bar in regime.bars if bar.of in ("memory", "E")], memory_limit(results, regime.name))


def draw_regimes(results, context, path):
    return draw_panels(
        list(panels_of(results)), f"ndfold {context['commit']} beside its peers on {context['cpu']}",
        "Bars are medians over the cases that each one does, ticks the cases; dashed: the share to reach; dotted: what "
        f"memory allows of E. {context['date'][:10]}", path)


def cells_of(results, op, reduced_first):
    for result in results:
        if result.case.op == op and result.case.axes == (0 if reduced_first else 1,):
            first, second = result.case.shape
            length, rows = (first, second) if reduced_first else (second, first)
            yield Cell(length, rows, result.ceiling_share, is_judged(result), f"{first}×{second}")


def draw_sweep(results, context, path):
    if not results:
        return False
    panels = [[(f"{op}, {way}", list(cells_of(results, op, column == 1)))
               for column, way in enumerate(ORIENTATIONS)] for op in OPS]
    draw_map(panels, f"ndfold {context['commit']}, one thread, f32, {context['cpu']}, {context['date'][:10]}; "
             "dashed: 1 MiB", FLOOR // 4, path)
    return True


def write(folder, results, swept, context):
    """regimes.png and sweep.png; the names of those that were drawn."""
    if not pyplot:
        return []
    drawn = [("regimes.png", draw_regimes(results, context, folder / "regimes.png")),
             ("sweep.png", draw_sweep(swept, context, folder / "sweep.png"))]
    return [name for name, there in drawn if there]
