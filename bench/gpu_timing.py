"""Times of what is queued on a GPU: medians of batches between two events, or of nodes of a CUDA graph where the host
would be the slower of the two."""
import statistics
import time
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Pace:
    samples: int = 5
    sample_seconds: float = 0.006
    warm_calls: int = 3
    least_calls: int = 3          # of a sample
    small_bytes: int = 64 << 20   # moved; below: nodes of a graph, for a host takes up to 20 us a call
    dropped_replays: int = 2


USUAL = Pace()
ROTATED_BYTES = 320 << 20  # several times an L2: what is read next has been driven out of it
MOST_CALLS = 200  # of a sample, and nodes of a graph
LEAST_NODES = 20


def median_microseconds(queue, bytes_moved, pace=USUAL):
    """queue(i) queues call i; calls rotate over buffers by themselves."""
    for i in range(pace.warm_calls):
        queue(i)
    torch.cuda.synchronize()
    start = time.perf_counter()
    for i in range(pace.warm_calls + 1):
        queue(i)
    torch.cuda.synchronize()
    estimate = max((time.perf_counter() - start) / (pace.warm_calls + 1), 2e-6)
    wanted = min(MOST_CALLS, int(pace.sample_seconds / estimate))
    if bytes_moved < pace.small_bytes:
        return graph_microseconds(queue, max(LEAST_NODES, wanted), pace)
    calls = max(pace.least_calls, wanted)
    return statistics.median(between_events(lambda: [queue(i) for i in range(calls)]) / calls
                             for _ in range(pace.samples))


def between_events(work):
    """Microseconds from one event to the other."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    work()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e3


def graph_microseconds(queue, nodes=MOST_CALLS, pace=USUAL):
    """Of one node of a graph of as many."""
    graph = torch.cuda.CUDAGraph()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.graph(graph, stream=side):
        for i in range(nodes):
            queue(i)
    found = [between_events(graph.replay) / nodes for _ in range(pace.samples + pace.dropped_replays)]
    return statistics.median(found[pace.dropped_replays:])
