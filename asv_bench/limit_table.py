"""Measure how far linad is from the limit: from the derivatives written by hand.

    python asv_bench/limit_table.py                              one table
    python asv_bench/limit_table.py --only Bratu GMM             parts of workloads' names
    python asv_bench/limit_table.py --write docs/performance     and keep it

What the limit is stands in `asv_bench/benchmarks/workloads/limit.py`. Everything runs on one
thread; a row is the median of at least 25 pairs of short runs in turn, by the processor's time,
and the quartiles of their ratios. Results are compared before anything is timed.
"""

import argparse
import datetime as dt
import functools
import os
import sys
import warnings
from pathlib import Path

import one_thread  # noqa: F401  # before NumPy
from benchmarks import quartiles_of_ratio
from benchmarks.jacobians import CompiledBratu
from benchmarks.split import ManyReverseSweeps, NewtonCG
from benchmarks.workloads import WORKLOADS
from benchmarks.workloads.workload import same
from table import machine, short

import linad


def pairs_of_workloads():
    """Name, task, linad's call and the limit's, and whether BLAS takes most of the limit."""
    for workload in WORKLOADS.values():
        for task in workload.by_hand:
            make = functools.partial(_pair, workload, task)
            yield workload.name, task, make, workload.by_blas


def _pair(workload, task):
    inputs, compiled = workload.inputs(task), workload.compiled(task)
    rtol = 1e-3 if "float32" in workload.name else 1e-8
    for _ in range(3):
        found = compiled(*inputs)
    same(found, workload.eager(task)(*inputs), rtol)
    return (lambda: compiled(*inputs)), workload.written_by_hand(task, found, rtol)


def pairs_of_operators():
    """The same of Jacobians as matrices and operators."""
    yield "sparse Jacobian of Bratu, 128x128", "a matrix of its own", _sparse, False
    yield "sparse Jacobian of Bratu, 128x128", "refilled", _refilled, False
    yield "network, R^200 to R^100", "100 pullbacks one by one", _one_by_one, True
    yield "network, R^200 to R^100", "100 pullbacks at once", _at_once, True
    yield "logistic Hessian, 10000x200", "linearize at a new point", _linearized, True
    yield "logistic Hessian, 10000x200", "one product", _product, True


def _ready(kind):
    made = kind()
    made.setup()
    return made


def _sparse():
    made = _ready(CompiledBratu)
    return made.time_sparse_jacobian, made.by_hand


def _refilled():
    made = _ready(CompiledBratu)
    return (lambda: linad.sparse_jacobian(made.f, made.u, out=made.held)), made.by_hand


def _one_by_one():
    made = _ready(ManyReverseSweeps)
    return made.one_by_one, made.products_one_by_one


def _at_once():
    made = _ready(ManyReverseSweeps)
    return made.batched, made.products


def _linearized():
    made = _ready(NewtonCG)
    return made.linearize, made.products_of_x


def _product():
    made = _ready(NewtonCG)
    return (lambda: made.H @ made.v), made.by_hand


HEAD = ["workload", "task", "linad", "over the limit", "quartiles", "wanted"]

WANTED, WANTED_BY_BLAS = "1.25", "1.1, BLAS"
"""What a row is to be over the limit, at most; less where products of BLAS or factorisations of
LAPACK, which both sides call, take most of it."""


def markdown(rows, before, after):
    """The table, and how it was measured."""
    lines = [HEAD, ["---"] * 2 + ["--:"] * 4, *rows]
    text = ["| " + " | ".join(line) + " |" for line in lines]
    about = machine()
    versions = [f"{k} {about['versions'][k]}" for k in ("numpy", "scipy", "numba")]
    today = dt.datetime.now(dt.UTC).date()
    cores = f"{about['processor']}, {os.cpu_count()} cores, of which one was used"
    load = f"load average {before:.1f} at the beginning, {after:.1f} at the end"
    text += ["", f"{today}; {cores}; {load}; Python {about['python']}, {', '.join(versions)}."]
    return "\n".join(text) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", help="parts of workloads' names")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each row")
    parser.add_argument("--write", type=Path, help="folder for limit.txt")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    before, rows = os.getloadavg()[0], []
    for name, task, make, by_blas in [*pairs_of_workloads(), *pairs_of_operators()]:
        if chosen.only and not any(part in name for part in chosen.only):
            continue
        (low, middle, high), seconds = quartiles_of_ratio(*make(), seconds=chosen.seconds)
        wanted = WANTED_BY_BLAS if by_blas else WANTED
        found = [short(seconds), f"{middle:.2f}", f"{low:.2f} to {high:.2f}"]
        rows.append([name, task, *found, wanted])
        print(*rows[-1], sep="  ", file=sys.stderr, flush=True)
    made = markdown(rows, before, os.getloadavg()[0])
    print(made)
    if chosen.write:
        (chosen.write / "limit.txt").write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
