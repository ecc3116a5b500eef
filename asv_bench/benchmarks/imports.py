"""What ``import linad`` costs, and that it leaves Numba for when it is needed."""

import subprocess
import sys
from statistics import median

SCIPY = "import numpy, scipy.sparse.linalg"
CLOCK = "import time; start = time.perf_counter(); {}; print(time.perf_counter() - start)"


def import_seconds(statements):
    """Seconds a fresh interpreter takes for import statements."""
    done = subprocess.run(
        [sys.executable, "-c", CLOCK.format(statements)],
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


def timeraw_import_linad():
    return "import linad"


def timeraw_import_numpy_and_scipy():
    return SCIPY


def track_import_over_scipy():
    """Seconds over NumPy and scipy.sparse.linalg; wanted: 0.25 or less."""
    rounds = range(7)
    pairs = [(import_seconds(f"{SCIPY}, linad"), import_seconds(SCIPY)) for _ in rounds]
    ours, scipy = zip(*pairs, strict=True)
    return median(ours) - median(scipy)


track_import_over_scipy.unit = "s"


def track_numba_imported():
    """1 where importing linad imports Numba too; wanted: 0."""
    code = "import sys, linad; print(int('numba' in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(done.stdout)


track_numba_imported.unit = "bool"
