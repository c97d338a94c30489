"""What a call costs its host on a GPU: a run of a plan beside a bare launch of an empty kernel, and a free function
whose plan is in the cache beside that run. Batches are queued without waiting, then the stream drains; all in turn."""
import statistics

import torch

from gpu_files import write_table
from gpu_timing import graph_microseconds

BATCH, ROUNDS, DROPPED = 100, 60, 5  # fewer than a stream takes before its host has to wait
RUN_BAR, CALL_BAR = 1000, 500        # nanoseconds above a launch, and above a run
CASES = (("softmax", (256, 256), (1,)), ("softmax", (256, 256), (0,)), ("softmax", (8, 16), (1,)),
         ("sum", (256, 256), (1,)), ("sum", (1 << 20,), (0,)), ("softmax", (4, 1 << 20), (1,)))
COLUMNS = ("op", "shape", "axes", "strategy", "launches", "workspace", "launch_ns", "launch_with_arguments_ns",
           "run_ns", "run_above_launch_ns", "call_ns", "call_above_run_ns", "call_after_draining_ns", "node_us")


def medians_in_turn(contenders):
    """name -> nanoseconds a call; contenders: name -> function of a number of calls."""
    found = {name: [] for name in contenders}
    for _ in range(DROPPED + ROUNDS):
        for name, nanoseconds in contenders.items():
            found[name].append(nanoseconds(BATCH))
            torch.cuda.synchronize()
    return {name: statistics.median(values[DROPPED:]) for name, values in found.items()}


def measure(library, op, shape, axes):
    x = torch.randn(shape, device="cuda", dtype=torch.float32)
    kept = [n for axis, n in enumerate(shape) if axis not in axes]
    out = torch.empty_like(x) if op == "softmax" else torch.empty(kept, device="cuda", dtype=torch.float32)
    plan = library.plan(op, x, out, axes)
    scratch = torch.empty(max(plan.workspace, 1), device="cuda", dtype=torch.uint8)
    torch.cuda.synchronize()
    found = medians_in_turn({"launch": lambda calls: library.launch_ns(False, calls),
                             "launch_with_arguments": lambda calls: library.launch_ns(True, calls),
                             "run": lambda calls: plan.run_ns(x, out, scratch, calls),
                             "call": lambda calls: library.call_ns(op, x, out, axes, calls),
                             "call_after_draining": lambda calls: library.call_ns(op, x, out, axes, 1)})
    result = {"op": op, "shape": "x".join(map(str, shape)), "axes": ",".join(map(str, axes)),
              "strategy": plan.strategy, "launches": plan.launches, "workspace": plan.workspace}
    result |= {f"{name}_ns": nanoseconds for name, nanoseconds in found.items()}
    result["run_above_launch_ns"] = found["run"] - plan.launches * found["launch"]
    result["call_above_run_ns"] = found["call"] - found["run"]
    result["node_us"] = graph_microseconds(lambda i: plan.run(x, out, scratch))
    return result


def line(result):
    holds = result["run_above_launch_ns"] <= RUN_BAR, result["call_above_run_ns"] <= CALL_BAR
    return (f"{result['op']:8} {result['shape']:>10} {result['axes']:4} {result['strategy']:19} {result['launches']:3} "
            f"{result['workspace']:9} {result['run_ns']:8.0f} {result['run_above_launch_ns']:+9.0f} {'x✓'[holds[0]]} "
            f"{result['call_ns']:8.0f} {result['call_above_run_ns']:+9.0f} {'x✓'[holds[1]]} "
            f"{result['call_after_draining_ns']:9.0f} {result['node_us']:8.2f}")


def run(library, where, folder):
    """Prints a line a case, and writes host.csv where a folder is given."""
    results = []
    with torch.cuda.stream(torch.cuda.Stream()):  # not the default one, which waits for others
        print(f"{'op':8} {'shape':>10} {'axes':4} {'strategy':19} {'n':>3} {'workspace':>9} {'run ns':>8} "
              f"{'- launch':>9}   {'call ns':>8} {'- run':>9}   {'drained':>9} {'node us':>8}")
        for case in CASES:
            results.append(measure(library, *case))
            print(line(results[-1]), flush=True)
        nodes = [graph_microseconds(lambda i, full=full: library.launch_ns(full, 1)) for full in (False, True)]
    launches = [statistics.median(result[name] for result in results)
                for name in ("launch_ns", "launch_with_arguments_ns")]
    print(f"an empty kernel: launch {launches[0]:.0f} ns, node {nodes[0]:.2f} us; "
          f"with ndfold's parameters: launch {launches[1]:.0f} ns, node {nodes[1]:.2f} us")
    if folder:
        empty = [{"op": name, "launch_ns": launch, "node_us": node} for name, launch, node
                 in zip(("an empty kernel", "an empty kernel with ndfold's parameters"), launches, nodes)]
        write_table(folder / "host.csv", where, COLUMNS, results + empty)
