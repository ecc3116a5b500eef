"""What compiling costs: the first kernel, a program of known kernels, a second process."""

import json
import tempfile
from pathlib import Path

from .imports import run_fresh

PROGRAM = """
import json, time
import numpy as np
import linad
from linad.sweeps import cache

def step(x, w):
    return np.tanh(x * w) + np.sin(x)

def first(x, w):
    return np.sum(step(x, w) ** 2)

def seconds(f, *args):
    g = linad.jit(linad.grad(f))
    g(*args)                           # traced, in Python
    start = time.perf_counter()
    g(*args)                           # compiled, and run
    return time.perf_counter() - start

x = np.linspace(0.0, 1.0, 100)
seconds(lambda x, w: np.sum(x * w), x, x)              # Numba's own start is not counted
before = cache.counts.compiled, cache.counts.loaded
new = seconds(first, x, x)
middle = cache.counts.compiled, cache.counts.loaded
known = seconds(first, x[:50], x[:50])  # another program, for other shapes
print(json.dumps({
    "new": new,
    "known": known,
    "kernels": sum(middle) - sum(before),
    "compiled": cache.counts.compiled,
    "loaded": cache.counts.loaded,
}))
"""


def run(folder):
    """Run the program in a process of its own; what it found out."""
    return json.loads(run_fresh(PROGRAM, LINAD_CACHE_DIR=folder).splitlines()[-1])


def first_and_second():
    """What two processes in a row find out, of which the first has an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        first, second = run(folder), run(folder)
    return {
        "a new kernel": first["new"] / max(first["kernels"], 1),
        "a program of known kernels": first["known"],
        "a program from disk": second["new"],
        "kernels compiled by the second process": second["compiled"],
    }


class FirstAndSecondProcess:
    """Kernels compiled into an empty folder, then found there."""

    timeout = 300

    def setup_cache(self):
        return first_and_second()

    def track_milliseconds_a_new_kernel(self, found):
        """Wanted: 50 or less."""
        return 1e3 * found["a new kernel"]

    track_milliseconds_a_new_kernel.unit = "ms"

    def track_milliseconds_a_program_of_known_kernels(self, found):
        """Wanted: 20 or less."""
        return 1e3 * found["a program of known kernels"]

    track_milliseconds_a_program_of_known_kernels.unit = "ms"

    def track_milliseconds_a_program_from_disk(self, found):
        return 1e3 * found["a program from disk"]

    track_milliseconds_a_program_from_disk.unit = "ms"

    def track_kernels_compiled_by_the_second_process(self, found):
        """Wanted: none."""
        return found["kernels compiled by the second process"]

    track_kernels_compiled_by_the_second_process.unit = "kernels"


CALLS = """
import sys, time
sys.path.insert(0, {folder!r})
import numpy as np
import linad
from benchmarks.workloads import WORKLOADS

small = linad.jit(linad.grad(lambda x: np.sum(x * 1.5)))
for _ in range(3):
    small(np.ones(3))                  # Numba's own start is not counted
workload = WORKLOADS[{name!r}]
compiled, inputs = workload.compiled({task!r}), workload.inputs({task!r})
seconds = []
for _ in range(2):
    start = time.process_time()
    compiled(*inputs)
    seconds.append(time.process_time() - start)
print(*seconds)
"""


class FirstTwoCalls:
    """Processor time of calls 1 and 2 of large programs: nothing compiled, and kernels on disk."""

    params = [
        (
            "GMM d=10 k=25, n=1000",
            "bundle adjustment, 31843 observations",
            "LSTM l=2, c=128",
            "LSTM l=2, c=1024",
        ),
        (False, True),
    ]
    param_names = ["workload", "on disk"]
    timeout = 600

    def track_seconds(self, name, on_disk):
        """Wanted: 3 or less, and 0.3 or less."""
        return sum(self._seconds(name, on_disk))

    def track_seconds_of_the_second(self, name, on_disk):
        """Wanted of the LSTM: 2 or less, and 0.3 or less."""
        return self._seconds(name, on_disk)[1]

    def _seconds(self, name, on_disk):
        task = "blocks" if name.startswith("bundle") else "gradient"
        code = CALLS.format(folder=str(Path(__file__).parents[1]), name=name, task=task)
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(1 + on_disk):
                said = run_fresh(code, LINAD_CACHE_DIR=folder)
        return [float(s) for s in said.split()]

    track_seconds.unit = track_seconds_of_the_second.unit = "s"


START = """
import time
import numpy as np
import linad

g = linad.jit(linad.grad(lambda p: np.sum(np.sin(p) * p)))
start = time.process_time()
g(np.ones(3))
g(np.ones(3))
print(time.process_time() - start)
"""


class FirstProgram:
    """Processor time of calls 1 and 2 of the first program of a process, kernels being on disk:
    what Numba's import costs, and whatever else is needed once."""

    timeout = 300

    def track_seconds(self):
        """Wanted: 0.3 or less."""
        with tempfile.TemporaryDirectory() as folder:
            return [float(run_fresh(START, LINAD_CACHE_DIR=folder)) for _ in range(2)][1]

    track_seconds.unit = "s"
