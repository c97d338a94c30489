#!/usr/bin/python3
"""Draws gpu.csv and sweep.csv of a folder beside them, as regimes.png and sweep.png: anywhere, no GPU is needed.

Needs Matplotlib (Debian's python3-matplotlib)."""
import argparse
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "bench"))
sys.dont_write_bytecode = True

from gpu_cases import REGIMES, SOFTMAXES  # noqa: E402
from gpu_files import read_table  # noqa: E402
from gpu_points import ELEMENT, FLOOR, OPS, ORIENTATIONS  # noqa: E402
from pictures import WE, Cell, Panel, draw_map, draw_panels, pyplot  # noqa: E402

CONTENDERS = {"ndfold_us": WE, "torch_us": "PyTorch", "compile_us": "torch.compile"}


def panels_of(rows):
    """One a regime, in the order of REGIMES; reductions one an operation."""
    found = {}
    for row in rows:
        if row["regime"] not in REGIMES or row["error"]:
            continue
        regime, ceiling = REGIMES[row["regime"]], "a copy" if row["op"] in SOFTMAXES else "a read stream"
        title = f"{regime.title.format(op=row['op'])}, share of {ceiling}"
        panel = Panel(title, {}, [regime.least] if regime.least else [])
        panel = found.setdefault((list(REGIMES).index(row["regime"]), title), panel)
        for column, name in CONTENDERS.items():
            if row[column]:
                panel.shares.setdefault(name, []).append(float(row["ceiling_us"]) / float(row[column]))
    return [found[key] for key in sorted(found, key=lambda key: key[0])]


def cells_of(rows, op, orientation):
    for row in rows:
        if (row["op"], row["orientation"]) == (op, orientation):
            length, count = int(row["length"]), int(row["rows"])
            shape = (count, length) if orientation == "rows" else (length, count)
            yield Cell(length, count, float(row["share"] or 0), ELEMENT * length * count > FLOOR,
                       "×".join(map(str, shape)))


def whose(where):
    """Of a table's line of context: what was measured, and on what."""
    commit, device = (re.search(rf"\b{key} ([^,]+)", where) for key in ("commit", "device"))
    return f"ndfold {commit[1] if commit else ''}".strip(), device[1] if device else "a GPU"


def draw_cases(source, target):
    where, rows = read_table(source)
    what, device = whose(where)
    return draw_panels(panels_of(rows), f"{what} beside PyTorch on {device}",
                       "Bars are medians over the cases that each one does, ticks the cases; dashed: to be reached.",
                       target)


def draw_sweep(source, target):
    where, rows = read_table(source)
    what, device = whose(where)
    panels = [[(f"{op}, {way}", list(cells_of(rows, op, way))) for way in ORIENTATIONS] for op in OPS]
    draw_map(panels, f"{what}, f32, {device}; dashed: 1 MiB", FLOOR // ELEMENT, target)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, nargs="?", default=TOP / "docs/measurements/gpu")
    folder = parser.parse_args().folder
    if not pyplot:
        sys.exit("Matplotlib is not here (Debian's python3-matplotlib)")
    drawn = 0
    for table, picture, draw in (("gpu.csv", "regimes.png", draw_cases), ("sweep.csv", "sweep.png", draw_sweep)):
        if (folder / table).is_file() and draw(folder / table, folder / picture):
            print(f"written: {folder / picture}")
            drawn += 1
    if not drawn:
        sys.exit(f"{folder} has neither gpu.csv nor sweep.csv")


if __name__ == "__main__":
    main()
