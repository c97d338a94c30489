"""Measures one case: ndfold, its peers and the ceilings in turn on the same buffers; and what follows from it."""
import random
import statistics
import time
from dataclasses import dataclass, field, replace

import numpy as np

import cpu_peers
from cpu_cases import BYTES, EXPONENTIALS, LAYOUTS, REGIMES, out_dtype, out_shape
from cpu_library import ELEMENT, address, problem_of

BARS = {regime.name: regime.bars for regime in REGIMES}
SLOW = 4  # times the fastest: such a contender cannot be the best, and three samples are enough
HOPELESS = 10  # times the fastest, and more than a tenth of a second: its first call is enough
REACHED = .9  # of the memory ceiling: more threads cannot help


@dataclass
class Settings:
    samples: int = 9
    sample_ns: float = 4e6
    peers: bool = True
    instructions: bool = False
    seed: int = 7


@dataclass
class Verdict:
    of: str
    least: float
    value: float
    holds: bool
    allowed: float = 0  # what the memory ceiling lets one reach, in the bar's unit; 0: no limit but the bar's own


@dataclass
class Result:
    case: object
    ns: float = 0
    bytes: int = 0
    memory_ns: float = 0  # what the memory ceilings allow
    memory: str = ""      # "read" or "copy"
    exponential: float = 0  # E: elements/ns of all threads together
    peers: dict = field(default_factory=dict)  # name -> ns
    wrong: list = field(default_factory=list)  # peers whose results differ: they do not count
    beside_ns: float = 0
    instructions: float = 0  # an element
    call_ns: float = 0  # of the free function, through the plan cache
    verdicts: dict = field(default_factory=dict)  # what a bar is of -> Verdict; none where there is no peer
    error: str = ""

    @property
    def elements_per_ns(self):
        return self.case.count / self.ns

    @property
    def memory_share(self):
        return self.memory_ns / self.ns

    @property
    def exponential_share(self):
        return self.elements_per_ns / self.exponential if self.exponential else 0

    @property
    def ceiling_share(self):
        """Of the lower of both ceilings."""
        return max(self.memory_share, self.exponential_share)

    @property
    def best_peer(self):
        """(name, ns), or None."""
        fair = {name: ns for name, ns in self.peers.items() if name not in self.wrong}
        return min(fair.items(), key=lambda item: item[1]) if fair else None

    def judge(self):
        bars = [bar for bar in BARS[self.case.regime] if bar.of != "peer" or self.best_peer]
        self.verdicts = {bar.of: verdict(bar, self) for bar in bars}


def timed(call):
    """A Python callable with Subject's time()."""
    def loop(calls):
        start = time.perf_counter_ns()
        for _ in range(calls):
            call()
        return (time.perf_counter_ns() - start) / calls
    return loop


def in_turn(contenders, settings, shuffle, first=None):
    """Median ns a call of each: name -> loop(calls). Every round runs all of them in a new order, each after one call
    that is not timed, so that noise and what others leave in the caches hit all alike. `first` has the times of first
    calls that were made already."""
    once = {name: ns for name, ns in (first or {}).items() if ns > 1e8}
    for name, loop in contenders.items():
        if name not in once:
            loop(1)
            once[name] = max(loop(1), 1)
            if once[name] < 1e5:
                once[name] = max(loop(max(1, int(1e5 / once[name]))), 1)
    fastest = min(once.values())
    hopeless = {name: ns for name, ns in once.items() if name in (first or {}) and ns > max(1e8, HOPELESS * fastest)}
    contenders = {name: loop for name, loop in contenders.items() if name not in hopeless}
    calls = {name: max(1, min(1 << 20, int(settings.sample_ns / ns))) for name, ns in once.items()}
    samples = {name: [] for name in contenders}
    order = list(contenders)
    for turn in range(settings.samples):
        shuffle.shuffle(order)
        for name in order:
            if once[name] > SLOW * fastest and turn % 4 and once[name] > 1e6:
                continue
            if once[name] < 2e7:
                contenders[name](1)
            samples[name].append(contenders[name](calls[name]))
    return hopeless | {name: statistics.median(values) for name, values in samples.items()}


class Bench:
    def __init__(self, library, buffers, settings):
        self.library, self.buffers, self.settings = library, buffers, settings
        self.shuffle = random.Random(settings.seed)
        self.best = {}  # (what, bytes, threads) -> the kernels worth running again
        self.notes = set()
        self.scratch_memory = {}

    def measure(self, case):
        result = Result(case)
        x, out = self.views(case)
        result.bytes = case.count * x.itemsize + out.size * out.itemsize
        ours, why = self.subject("ndfold", case, x, out)
        if ours is None:
            result.error = why
            return result
        contenders = {"ndfold": ours.time}
        keep = [ours]  # a Subject is freed with its last name
        if case.beside:
            other = self.beside(case)
            contenders["beside"] = other.time
            keep.append(other)
        if case.regime == "tiny":
            called, _ = self.subject("ndfold, cached call", case, x, out)
            contenders["call"] = called.time
            keep.append(called)
        answer = self.answer(ours, out)
        if self.settings.peers:
            self.add_peers(contenders, keep, result, case, x, out, answer)
        ceilings = self.ceilings(case, x, out)
        contenders.update({name: subject.time for name, (subject, _) in ceilings.items()})
        medians = self.medians(contenders, result.peers)
        result.ns = medians["ndfold"]
        result.beside_ns = medians.get("beside", 0)
        result.call_ns = medians.get("call", 0)
        result.peers = {name: ns for name, ns in medians.items() if name in result.peers}
        self.use_ceilings(result, ceilings, medians, x, out)
        if case.regime.startswith("cache") and self.settings.instructions:
            result.instructions = (ours.instructions() or 0) / case.count
        result.judge()
        return result

    def views(self, case):
        holder, view = LAYOUTS[case.layout]
        shape = holder(case.shape)
        count = int(np.prod(shape, dtype=np.int64))
        x = view(self.buffers.input(case.dtype, count, zeros=case.op == "any").reshape(shape))
        return x, self.out_view(case)

    def out_view(self, case):
        kind, shape = np.dtype(ELEMENT[out_dtype(case)]), out_shape(case)
        size = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
        return self.buffers.out(size).view(kind).reshape(shape)

    def subject(self, name, case, x, out):
        problem = problem_of(case.op, case.dtype, out_dtype(case), x, out, case.axes, case.threads)
        return self.library.make(name, problem)

    def beside(self, case):
        """ndfold on what the case is compared with."""
        other = {"one thread": lambda: replace(case, threads=1), "f32": lambda: replace(case, dtype="f32"),
                 "contiguous": lambda: replace(case, layout="dense")}[case.beside]()
        if case.layout == "every other column":  # the same lines of memory are read
            other = replace(other, shape=(case.shape[0], 2 * case.shape[1]))
        made, why = self.subject("ndfold", other, *self.views(other))
        assert made, why
        return made

    def add_peers(self, contenders, keep, result, case, x, out, answer):
        axes = case.axes
        if case.layout == "dense":
            shape, axes, kept = cpu_peers.joined(x, case.axes, out.shape, case.writes_all)
            x, out = x.reshape(shape), out.reshape(kept)
        cpu_peers.use_threads(case.threads)
        for name in self.library.contenders:
            if not name.startswith("ndfold"):
                problem = problem_of(case.op, case.dtype, out_dtype(case), x, out, axes, case.threads)
                made, _ = self.library.make(name, problem)
                if made:
                    self.add_peer(contenders, result, name, made.time, out, answer)
                    keep.append(made)
        for name, (make, _) in cpu_peers.PEERS.items():
            call = make(case.op, case.dtype, x, axes, out, self.scratch)
            if call is None:
                continue
            try:
                self.add_peer(contenders, result, name, timed(call), out, answer if name != "SciPy" else None)
            except (RuntimeError, TypeError) as error:  # PyTorch's way to say that it does not do this
                self.notes.add(f"{name} refuses {case.op} of {case.dtype}: {str(error).splitlines()[0][:80]}")

    def add_peer(self, contenders, result, name, loop, out, answer):
        out[...] = 0
        result.peers[name] = loop(1)
        contenders[name] = loop
        if answer is not None and not alike(answer, sampled(out), result.case):
            result.wrong.append(name)

    def machine_ceilings(self, mebibytes, threads):
        """GB/s of each stream over `mebibytes` and exponentials/ns of each polynomial."""
        size = int(mebibytes * 2**20)
        found = {}
        for kind, names in (("read", self.library.reads), ("copy", self.library.copies)):
            made = {name: self.kernel(kind, index, size, threads) for index, name in enumerate(names)}
            once = self.medians({name: pair[0].time for name, pair in made.items() if pair})
            found[kind] = {name: made[name][1] * (1 + (kind == "copy")) / ns for name, ns in once.items()}
        made = {name: self.library.exponential(index) for index, name in enumerate(self.library.exponentials)}
        once = self.medians({name: subject.time for name, subject in made.items()})
        found["E"] = {name: self.library.exponential_count / ns for name, ns in once.items()}
        return found

    def answer(self, subject, out):
        subject.time(1)
        return sampled(out)

    def scratch(self, x):
        """As large as x, for peers that need it."""
        size = x.size * x.itemsize
        if "scratch" not in self.scratch_memory or self.scratch_memory["scratch"].nbytes < size:
            self.scratch_memory["scratch"] = self.buffers.room(size)
        return self.scratch_memory["scratch"][:size].view(x.dtype).reshape(x.shape)

    def ceilings(self, case, x, out):
        """Name -> (subject, bytes or elements of it): the streams and exponentials that did best at this size."""
        size, threads = case.count * x.itemsize, case.threads
        source = self.buffers.input(case.dtype, case.count, zeros=case.op == "any")
        found = {}
        for kind in self.kinds(case, size, out):
            for index in self.best_kernels(kind, size, threads):
                found[f"{kind} {index}"] = self.kernel(kind, index, size, threads, source)
        return {name: made for name, made in found.items() if made}

    @staticmethod
    def kinds(case, size, out):
        kinds = ["read"]
        if case.op in EXPONENTIALS:
            kinds.append("E")
        if out.size * out.itemsize * 50 > size:
            kinds.append("copy")
        return kinds

    def kernel(self, kind, index, size, threads, source=None):
        """`source`: the case's own memory, for not all of it is equally near; some other without."""
        if kind == "E":
            return self.library.exponential(index), self.library.exponential_count
        if source is None:
            source = self.buffers.input("u8", size)
        target = self.buffers.out(size) if kind == "copy" else source
        made, whole = self.library.stream(int(kind == "copy"), index, address(source), address(target), size, threads)
        return (made, whole) if whole else None

    def best_kernels(self, kind, size, threads):
        """The two best streams of all, from one short measurement a size. E is the first exponential by definition."""
        if kind == "E":
            return [0]
        key = (kind, size, threads)
        if key not in self.best:
            count = len(self.library.reads if kind == "read" else self.library.copies)
            made = {index: self.kernel(kind, index, size, threads) for index in range(count)}
            loops = {index: pair[0].time for index, pair in made.items() if pair}
            quick = replace(self.settings, samples=3)
            medians = in_turn(loops, quick, self.shuffle) if loops else {}
            self.best[key] = sorted(medians, key=medians.get)[:2]
        return self.best[key]

    def medians(self, contenders, first=None):
        return in_turn(contenders, self.settings, self.shuffle, first)

    @staticmethod
    def rates(ceilings, medians):
        """The best of each kind: bytes/ns read, bytes/ns copied (once, not read + written), exponentials/ns."""
        best = {}
        for name, (_, amount) in ceilings.items():
            kind = name.split()[0]
            best[kind] = max(best.get(kind, 0), amount / medians[name])
        return best

    def use_ceilings(self, result, ceilings, medians, x, out):
        """memory_ns: each byte of the input read once, each of the output written once; a write costs what the best
        copy takes more than the best read."""
        rates = self.rates(ceilings, medians)
        read_bytes, written = result.case.count * x.itemsize, out.size * out.itemsize
        if "read" in rates:
            result.memory_ns, result.memory = read_bytes / rates["read"], "read"
        if "copy" in rates:
            write = max(0, 1 / rates["copy"] - 1 / rates["read"])
            result.memory_ns += written * write
            result.memory = "copy"
        result.exponential = rates.get("E", 0) * result.case.threads


def sampled(out):
    """At most some thousands of the results, as f64."""
    flat = out.reshape(-1)
    part = flat[::max(1, flat.size // 4096)]
    if part.dtype == np.uint16:
        return (part.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return part.astype(np.float64)


def alike(ours, theirs, case):
    """Whether a peer computed the same, roughly: naive sums of 2^24 elements are off by 1 %. Ties of argmax differ."""
    if case.op in ("argmax", "argmin"):
        return True
    close = .05 if BYTES[case.dtype] == 2 else .02
    return bool(np.allclose(ours, theirs, rtol=close, atol=close, equal_nan=True))


def verdict(bar, result):
    if bar.of == "ns":
        return Verdict(bar.of, bar.least, result.ns, result.ns <= bar.least)
    if bar.of == "peer":
        value = result.best_peer[1] / result.ns
    elif bar.of == "memory":
        value = result.memory_share
    elif bar.of == "E":
        value = result.exponential_share
        allowed = result.exponential_share / result.memory_share if result.memory_ns else 0
        return Verdict(bar.of, bar.least, value, value >= bar.least, allowed)
    elif bar.of == "ceiling":
        value = result.ceiling_share
    else:
        value = result.beside_ns / result.ns
    holds = value >= bar.least or (bar.of == "one thread" and result.memory_share >= REACHED)
    return Verdict(bar.of, bar.least, value, holds)
