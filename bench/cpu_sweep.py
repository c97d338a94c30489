"""The sweep: ndfold alone on every power of two and its neighbours, rows × length, in both orientations. What lies
above 1 MiB has to come near its ceiling everywhere: no cliffs."""
import statistics

from cpu_cases import EXPONENTIALS, Case
from cpu_measure import Result

OPS = ("sum", "softmax")
ORIENTATIONS = ("rows", "columns")
FLOOR = 1 << 20  # bytes: below it calls and caches count for more than streams
DOUBTFUL = 12    # of the worst points are measured again at the end, with all care
MOST = 1 << 28   # elements


def sides(most):
    """1, 2, 3, 4, 5, 7, 8, 9, 15, …: powers of two and their neighbours."""
    return sorted({n for k in range(most.bit_length()) for n in (2**k - 1, 2**k, 2**k + 1) if 0 < n <= most})


def points(mebibytes, quick):
    """Cases by growing size, so that a ceiling and those held against it are measured close together. Neighbours of
    powers of two only where they are judged."""
    most = min(MOST, int(mebibytes * 2**20) // 4)
    lengths = [n for n in sides(most) if not quick or n.bit_count() == 1 and n.bit_length() % 3 == 1]
    pairs = [(a, b) for a in lengths for b in lengths
             if a * b <= most and (4 * a * b >= FLOOR or a.bit_count() == b.bit_count() == 1)]
    pairs.sort(key=lambda pair: pair[0] * pair[1])
    ways = [lambda rows, length: ((rows, length), (1,)), lambda rows, length: ((length, rows), (0,))]  # ORIENTATIONS
    return [Case("sweep", op, "f32", *way(*pair)) for pair in pairs for op in OPS for way in ways]


class Sweep:
    def __init__(self, bench, tell):
        self.bench, self.tell, self.rates = bench, tell, {}

    def run(self, mebibytes, quick):
        results, size = [], 0
        for case in points(mebibytes, quick):
            if case.count.bit_length() > size:
                size = case.count.bit_length()
                self.tell(f"sweep: {4 * case.count / 2**20:.3g} MiB")
            result = self.quickly(case)
            if result:
                results.append(result)
        large = sorted((r for r in results if is_judged(r)), key=lambda r: r.ceiling_share)
        for result in large[:DOUBTFUL]:
            again = self.bench.measure(result.case)
            result.ns, result.memory_ns, result.exponential = again.ns, again.memory_ns, again.exponential
        for result in large:
            result.judge()
        return results

    def quickly(self, case):
        """Median of three short samples, held against the ceilings of the next power of two."""
        result = Result(case)
        x, out = self.bench.views(case)
        subject, _ = self.bench.subject("ndfold", case, x, out)
        if subject is None:
            return None
        once = max(subject.time(1), 1)
        calls = max(1, int(self.bench.settings.sample_ns / 4 / once))
        result.ns = statistics.median(subject.time(calls) for _ in range(3))
        result.bytes = 4 * case.count + out.size * 4
        read, copy, exponential = self.ceilings_near(case.count)
        result.memory_ns = 4 * case.count / read + out.size * 4 * max(0, 1 / copy - 1 / read)
        result.memory = "copy" if out.size * 50 > case.count else "read"
        result.exponential = exponential if case.op in EXPONENTIALS else 0
        return result

    def ceilings_near(self, count):
        """Bytes/ns of the best read and copy, and E, at the next power of two of elements."""
        size = max(4096, 4 << (count - 1).bit_length())
        if size not in self.rates:
            case = Case("sweep", "softmax", "f32", (size // 4,), (0,))
            x, out = self.bench.views(case)
            ceilings = self.bench.ceilings(case, x, out)
            medians = self.bench.medians({name: made.time for name, (made, _) in ceilings.items()})
            best = self.bench.rates(ceilings, medians)
            self.rates[size] = best["read"], best["copy"], best["E"]
        return self.rates[size]


def is_judged(result):
    return 4 * result.case.count >= FLOOR
