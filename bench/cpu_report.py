"""Results as text, JSON, CSV and Markdown."""
import csv
import json
import math

from cpu_cases import REGIMES

UNITS = {"memory": "memory", "ceiling": "ceiling", "E": "E", "ns": "ns", "peer": "× peer", "f32": "× f32",
         "one thread": "× one thread", "contiguous": "× contiguous"}
HEAD = (f"{'op':11} {'type':5} {'shape':22} {'axes':7} {'ms':>9} {'GB/s':>6} {'elem/ns':>7} {'memory':>7} {'E':>5} "
        f"{'best peer':12} {'×':>6}  bars")


def number(value):
    """Three digits that matter."""
    if not math.isfinite(value):
        return "–"
    return f"{value:.0f}" if value >= 100 else f"{value:.2f}" if value < 10 else f"{value:.1f}"


def bar_text(bar):
    return f"{'≤' if bar.of == 'ns' else '≥'} {number(bar.least)} {UNITS[bar.of]}"


def verdict_text(verdict):
    text = f"{number(verdict.value)} {UNITS[verdict.of]} {'✓' if verdict.holds else '✗'}"
    if not verdict.holds and 0 < verdict.allowed < verdict.least:
        text += f" (memory allows {number(verdict.allowed)})"
    if verdict.of == "one thread" and verdict.holds and verdict.value < verdict.least:
        text += " (at the memory ceiling)"
    return text


def title(name):
    regime = next(r for r in REGIMES if r.name == name)
    return f"{name}: {regime.title}; {', '.join(map(bar_text, regime.bars))}"


def line(result):
    case = result.case
    shape = "x".join(map(str, case.shape)) + ("" if case.layout == "dense" else f" {case.layout}")
    head = f"{case.op:11} {case.dtype:5} {shape:22} {','.join(map(str, case.axes)):7}"
    if result.error:
        return f"{head} {result.error}"
    exponential = f"{result.exponential_share:5.2f}" if result.exponential else "     "
    peer = f"{result.best_peer[0]:12} {number(result.best_peer[1] / result.ns):>6}" if result.best_peer else " " * 19
    more = ""
    if result.instructions:
        more += f", {result.instructions:.2f} instructions an element"
    if result.call_ns:
        more += f", {result.call_ns:.0f} ns through the cached call"
    if result.wrong:
        more += f", left out for wrong results: {' '.join(result.wrong)}"
    return (f"{head} {result.ns / 1e6:9.4f} {result.bytes / result.ns:6.1f} {result.elements_per_ns:7.2f} "
            f"{result.memory_share:6.0%}  {exponential} {peer}  "
            f"{', '.join(map(verdict_text, result.verdicts.values()))}{more}").rstrip()


def worst_of(pairs):
    """Of (verdict, result): the one furthest below its bar."""
    def margin(pair):
        verdict = pair[0]
        return verdict.least / verdict.value if verdict.of == "ns" else verdict.value / verdict.least
    failing = [pair for pair in pairs if not pair[0].holds]
    return min(failing or pairs, key=margin)


def summary(results):
    """Rows (regime, bar, cases, cases that hold, worst verdict, worst result)."""
    rows = []
    for regime in REGIMES:
        for bar in regime.bars:
            pairs = [(r.verdicts[bar.of], r) for r in results if r.case.regime == regime.name and bar.of in r.verdicts]
            if pairs:
                rows.append((regime, bar, len(pairs), sum(v.holds for v, _ in pairs), *worst_of(pairs)))
    return rows


def summary_text(results):
    lines = [f"{'regime':16} {'bar':20} {'hold':>8}  worst"]
    for regime, bar, count, holding, verdict, result in summary(results):
        name = result.case.name.split("/", 1)[1]
        lines.append(f"{regime.name:16} {bar_text(bar):20} {holding:3}/{count:<4}  {verdict_text(verdict)}: {name}")
    return "\n".join(lines)


def markdown(results):
    lines = ["| regime | bar | holds | worst | where |", "|---|---|---|---|---|"]
    for regime, bar, count, holding, verdict, result in summary(results):
        lines.append(f"| {regime.title} | {bar_text(bar)} | {holding} of {count} | {verdict_text(verdict)} | "
                     f"`{result.case.name.split('/', 1)[1]}` |")
    return "\n".join(lines)


def record(result):
    """One flat row of CSV and JSON."""
    case = result.case
    row = {"regime": case.regime, "op": case.op, "dtype": case.dtype, "shape": "x".join(map(str, case.shape)),
           "axes": ",".join(map(str, case.axes)), "layout": case.layout, "threads": case.threads, "error": result.error}
    if result.error:
        return row
    row |= {"ns": result.ns, "bytes": result.bytes, "gigabytes_per_second": result.bytes / result.ns,
            "elements_per_ns": result.elements_per_ns, "memory_ceiling_ns": result.memory_ns,
            "memory_ceiling": result.memory, "share_of_memory": result.memory_share,
            "E_elements_per_ns": result.exponential, "share_of_E": result.exponential_share}
    if result.best_peer:
        row |= {"best_peer": result.best_peer[0], "best_peer_ns": result.best_peer[1],
                "times_best_peer": result.best_peer[1] / result.ns}
    row |= {f"{name} ns": ns for name, ns in result.peers.items()}
    if case.beside:
        row |= {"beside": case.beside, "beside_ns": result.beside_ns}
    if result.instructions:
        row["instructions_per_element"] = result.instructions
    if result.call_ns:
        row["cached_call_ns"] = result.call_ns
    for verdict in result.verdicts.values():
        row |= {f"bar {verdict.of}": verdict.least, f"holds {verdict.of}": verdict.holds}
        if verdict.allowed:
            row[f"memory allows {verdict.of}"] = verdict.allowed
    return row


def google_benchmark(results, context):
    """The shape of Google Benchmark's --benchmark_format=json."""
    rows = []
    for result in results:
        row = record(result)
        rows.append({"name": result.case.name, "run_name": result.case.name, "run_type": "aggregate",
                     "aggregate_name": "median", "threads": result.case.threads, "time_unit": "ns",
                     "real_time": result.ns, "cpu_time": result.ns,
                     "bytes_per_second": result.bytes / result.ns * 1e9 if result.ns else 0,
                     "items_per_second": result.case.count / result.ns * 1e9 if result.ns else 0,
                     **{key: value for key, value in row.items() if key != "threads"}})
        if result.error:
            rows[-1] |= {"error_occurred": True, "error_message": result.error}
    return {"context": context, "benchmarks": rows}


def write_csv(path, results, context):
    rows = [record(result) for result in results]
    columns = list(dict.fromkeys(key for row in rows for key in row))
    with open(path, "w", encoding="utf-8", newline="") as file:
        for key, value in context.items():
            file.write(f"# {key}: {json.dumps(value, ensure_ascii=False)}\n")
        writer = csv.DictWriter(file, columns, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def write(folder, results, swept, context):
    """cpu.json, cpu.csv, sweep.csv and the pictures; the files that were written."""
    import cpu_pictures
    folder.mkdir(parents=True, exist_ok=True)
    judged = [result for result in swept if result.verdicts]
    text = json.dumps(google_benchmark(results + judged, context), indent=1, ensure_ascii=False, allow_nan=False)
    (folder / "cpu.json").write_text(text + "\n", encoding="utf-8")
    write_csv(folder / "cpu.csv", results, context)
    if swept:
        write_csv(folder / "sweep.csv", swept, context)
    names = ["cpu.json", "cpu.csv"] + ["sweep.csv"] * bool(swept) + cpu_pictures.write(folder, results, swept, context)
    return [folder / name for name in names]
