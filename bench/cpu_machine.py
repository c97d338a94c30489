"""Where and on what was measured: the context of every report."""
import datetime
import os
import pathlib
import platform
import subprocess

import numpy as np
import scipy

import cpu_peers

CACHES = pathlib.Path("/sys/devices/system/cpu/cpu0/cache")
INTERESTING = ("avx2", "fma", "avx512f", "avx512bw", "avx512_bf16", "asimd")


def first_line(path):
    try:
        return pathlib.Path(path).read_text(encoding="utf-8").splitlines()[0]
    except (OSError, IndexError):
        return ""


def processor():
    """(model, SIMD flags)"""
    facts = {}
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition(":")
            facts.setdefault(key.strip(), value.strip())
    except OSError:
        pass
    flags = facts.get("flags", facts.get("Features", "")).split()
    model = facts.get("model name", platform.machine())
    family = f" family {facts['cpu family']} model {facts['model']}" if "cpu family" in facts else ""
    return model + family, [flag for flag in INTERESTING if flag in flags]


def caches():
    found = []
    for folder in sorted(CACHES.glob("index*")):
        if (kind := first_line(folder / "type")) != "Instruction":
            level, size = first_line(folder / "level"), first_line(folder / "size")
            found.append({"level": int(level), "type": kind, "size": size})
    return found


def commit(top):
    def git(*words):
        done = subprocess.run(["git", "-C", str(top), *words], capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else ""
    try:
        name = git("rev-parse", "--short", "HEAD")
        return name + (" with changes" if name and git("status", "--porcelain", "--untracked-files=no") else "")
    except OSError:
        return ""


def context(top, library):
    model, flags = processor()
    versions = {"NumPy": np.__version__, "SciPy": scipy.__version__}
    if cpu_peers.torch:
        versions["PyTorch"] = cpu_peers.torch.__version__
    return {"date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"), "commit": commit(top),
            "cpu": model, "simd": flags, "num_cpus": os.cpu_count(), "usable_cpus": len(os.sched_getaffinity(0)),
            "caches": caches(), "ndfold_host": library.host, "ndfold_level": library.level,
            "huge_pages": first_line("/sys/kernel/mm/transparent_hugepage/enabled"), "versions": versions}
