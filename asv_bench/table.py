"""Measure all workloads and print one table; with ``--write`` keep the results and plot them.

    python asv_bench/table.py                         linad beside NumPy
    python asv_bench/table.py --quick                 less exact, without the long programs
    python asv_bench/table.py --peers                 and beside every other library installed
    python asv_bench/table.py --peers --write docs/performance

Everything runs on one thread, in one process, in turn; times are medians. Each result is
compared with linad's own before it is timed.
"""

import argparse
import json
import math
import platform
import sys
import time
import warnings
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import one_thread  # noqa: F401  # before NumPy
from benchmarks import median_seconds
from benchmarks.compile import first_and_second
from benchmarks.mlp import PRECISIONS, products_alone
from benchmarks.workloads import WORKLOADS
from benchmarks.workloads.peers import PEERS, package_of, prepared
from benchmarks.workloads.workload import same
from growth import growth

LIBRARIES = ("numpy", "scipy", "numba", *dict.fromkeys(map(package_of, PEERS)))


def measured(workload, task, peers, duration):
    """One row: seconds of everything that can do the task, in turn."""
    inputs, arguments = workload.inputs(task), workload.inputs("value")
    eager, compiled = workload.eager(task), workload.compiled(task)
    wanted = eager(*inputs)
    start = time.perf_counter()
    compiled(*inputs)
    recorded = time.perf_counter()
    found = compiled(*inputs)
    first = {"record": recorded - start, "compile": time.perf_counter() - recorded}
    rtol = 1e-3 if "float32" in workload.name else 1e-8
    same(found, wanted, rtol)
    contestants = {
        "numpy": lambda: workload.function(*arguments),
        "eager": lambda: eager(*inputs),
        "compiled": lambda: compiled(*inputs),
    }
    for peer in peers:
        theirs = prepared(peer, workload, task)
        if theirs is not None:
            same(theirs(), wanted, rtol)
            contestants[peer] = theirs
    # What takes a hundred times longer than others does not get to interrupt them.
    names = list(contestants)
    once = dict(zip(names, [_once(f) for f in contestants.values()], strict=True))
    slow = [n for n in names if once[n] > 0.2]
    fast = [n for n in names if n not in slow]
    times = dict(
        zip(fast, median_seconds(*[contestants[n] for n in fast], seconds=duration), strict=True)
    )
    for name in slow:
        [times[name]] = median_seconds(contestants[name], seconds=0.0, warmup=0)
    seconds = {n: times[n] for n in names}
    if "torch.compile" in seconds:  # one library, at its best
        seconds["torch"] = min(seconds["torch"], seconds.pop("torch.compile"))
    return {
        "name": workload.name,
        "topic": workload.topic,
        "task": task,
        "published": workload.published,
        "target": workload.target,
        "first": first,
        "seconds": seconds,
    }


def _once(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def machine():
    """What it ran on, in words that do not name the machine."""
    versions = {}
    for library in LIBRARIES:
        try:
            versions[library] = version(library)
        except PackageNotFoundError:
            continue
    model = platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text().splitlines()
        model = next((x.split(":")[1].strip() for x in lines if x.startswith("model name")), model)
    return {"processor": model, "python": platform.python_version(), "versions": versions}


def short(seconds):
    """Three digits and a unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def ratio(over):
    """Two decimals, or as many as the first digit takes."""
    return f"{over:.{max(2, -math.floor(math.log10(over)))}f}"


def columns(row, peers):
    """The cells of a row: times, then ratios."""
    t = row["seconds"]
    ours = t["compiled"]

    def over(name):
        return ratio(ours / t[name]) if name in t else "-"

    cells = [row["name"], row["task"], short(t["numpy"]), short(t["eager"]), short(ours)]
    cells += [over("numpy"), f"{row['published']:.2f}" if row["published"] else "-"]
    cells += [over(p) for p in peers]
    return cells


def heads(peers):
    return [
        "workload",
        "task",
        "NumPy",
        "eager",
        "compiled",
        "/NumPy",
        "publ.",
        *["/" + p for p in peers],
    ]


NOTE = """\
NumPy: the function itself. eager, compiled: the derivative by linad. All others are ratios,
time of the compiled derivative over: NumPy's function; publ.: the best such ratio that
Mooncake, Enzyme and Zygote publish, over their own language's function; and each library's own
derivative. Below 1.00 linad is faster."""


def as_text(rows, peers):
    """The table, aligned."""
    lines = [heads(peers), *[columns(r, peers) for r in rows]]
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    made = [
        "  ".join(
            c.ljust(w) if k < 2 else c.rjust(w)
            for k, (c, w) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    ]
    return "\n".join([made[0], "-" * len(made[0]), *made[1:], "", NOTE])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", action="store_true", help="compare with other libraries")
    parser.add_argument("--quick", action="store_true", help="short runs, no long programs")
    parser.add_argument("--only", nargs="+", help="parts of workloads' names")
    parser.add_argument("--write", type=Path, help="folder for results.json, table and plots")
    chosen = parser.parse_args()
    # Other libraries warn of their own installations.
    warnings.simplefilter("ignore")
    peers = list(PEERS) if chosen.peers else []
    seconds = 0.05 if chosen.quick else 0.5
    rows = []
    for workload in WORKLOADS.values():
        if chosen.only is None:
            if chosen.quick and workload.long:
                continue
        elif not any(part in workload.name for part in chosen.only):
            continue
        for task in workload.tasks:
            rows.append(measured(workload, task, peers, seconds))
            print(f"{workload.name}, {task}", file=sys.stderr, flush=True)
    found = [p for p in peers if any(p in r["seconds"] for r in rows)]
    print(as_text(rows, found))
    if chosen.write:
        results = {"machine": machine(), "peers": found, "rows": rows}
        results |= {"growth": growth(seconds), "first calls": first_and_second()}
        results["products"] = {p: products_alone(p, seconds) for p in PRECISIONS}
        chosen.write.mkdir(parents=True, exist_ok=True)
        text = json.dumps(_rounded(results), indent=1)
        (chosen.write / "results.json").write_text(text + "\n", encoding="utf-8")
        from plots import write_all

        write_all(chosen.write)


def _rounded(x):
    """Four digits are more than a clock is worth."""
    if isinstance(x, dict):
        return {k: _rounded(v) for k, v in x.items()}
    if isinstance(x, list):
        return [_rounded(v) for v in x]
    return float(f"{x:.4g}") if isinstance(x, float) else x


if __name__ == "__main__":
    main()
