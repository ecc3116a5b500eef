"""What ``import linad`` costs, and that it leaves Numba for when it is needed."""

import os
import subprocess
import sys
from statistics import median

SCIPY = "import numpy, scipy.sparse.linalg"
CLOCK = "import time; start = time.perf_counter(); {}; print(time.perf_counter() - start)"


def run_fresh(code, *args, **environment):
    """What a fresh interpreter prints. It keeps bytecode, as an installed package has it."""
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", code, *args]
    done = subprocess.run(
        command, env=kept | environment, capture_output=True, text=True, check=True
    )
    return done.stdout


def import_seconds(statements):
    """Seconds a fresh interpreter takes for import statements."""
    return float(run_fresh(CLOCK.format(statements)))


def timeraw_import_linad():
    return "import linad"


def timeraw_import_numpy_and_scipy():
    return SCIPY


def track_import_over_scipy():
    """Seconds over NumPy and scipy.sparse.linalg; wanted: 0.25 or less."""
    import_seconds(f"{SCIPY}, linad")
    rounds = range(7)
    pairs = [(import_seconds(f"{SCIPY}, linad"), import_seconds(SCIPY)) for _ in rounds]
    ours, scipy = zip(*pairs, strict=True)
    return median(ours) - median(scipy)


track_import_over_scipy.unit = "s"


def track_numba_imported():
    """1 where importing linad imports Numba too; wanted: 0."""
    return int(run_fresh("import sys, linad; print(int('numba' in sys.modules))"))


track_numba_imported.unit = "bool"
