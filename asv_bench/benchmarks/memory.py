"""Memory: what a derivative needs while it runs, and what a compiled program keeps.

``peak`` counts what NumPy allocates during a call, its result included, in units of the
arguments' size: numbers that do not depend on the machine.
"""

import tracemalloc

import numpy as np

import linad

from .workloads import WORKLOADS

CASES = {
    "sum_sin_1000": "gradient",
    "log-normal, 1e5 observations": "gradient",
    "Rosenbrock, n=1e5": "value_and_grad",
    "Bratu, 128x128": "vjp",
    "simple_mlp, 128-256-128, batch 70": "gradient",
    "gp_lml, 128 points": "gradient",
    "GMM d=10 k=25, n=1000": "gradient",
    "GMM d=10 k=25, n=10000": "gradient",
    "logistic regression, 10000x200": "gradient",
}


def peak_bytes(function):
    """Most bytes that the function holds at a time, its result included."""
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


class Memory:
    """Of one call, eager and compiled."""

    params = list(CASES)
    param_names = ["workload"]
    timeout = 120

    def setup(self, name):
        workload, task = WORKLOADS[name], CASES[name]
        self.inputs = workload.inputs(task)
        self.eager, self.compiled = workload.eager(task), workload.compiled(task)
        self.eager(*self.inputs)
        for _ in range(3):
            self.compiled(*self.inputs)
        self.bytes = sum([np.asarray(x).nbytes for x in self.inputs])

    def track_eager_peak_over_inputs(self, name):
        return peak_bytes(lambda: self.eager(*self.inputs)) / self.bytes

    def track_compiled_peak_over_inputs(self, name):
        return peak_bytes(lambda: self.compiled(*self.inputs)) / self.bytes

    def track_workspace_bytes(self, name):
        return linad.explain(self.compiled)(*self.inputs).arena_bytes

    def track_constant_bytes(self, name):
        return linad.explain(self.compiled)(*self.inputs).constant_bytes

    def track_instructions(self, name):
        return len(linad.explain(self.compiled)(*self.inputs).steps)

    def track_kernels(self, name):
        return linad.explain(self.compiled)(*self.inputs).kernels

    track_eager_peak_over_inputs.unit = "inputs"
    track_compiled_peak_over_inputs.unit = "inputs"
    track_workspace_bytes.unit = "bytes"
    track_constant_bytes.unit = "bytes"
    track_instructions.unit = "instructions"
    track_kernels.unit = "kernels"


def peakmem_baseline():
    """What importing everything, the compiler included, takes; subtract it from the others."""
    compiled = linad.jit(linad.grad(lambda x: np.sum(np.sin(x))))
    for _ in range(2):
        compiled(np.ones(3))


def peakmem_wave_gradient_1e6():
    """A compiled gradient of a million numbers."""
    workload = WORKLOADS["sum(tanh sin + square), n=1e6"]
    compiled, inputs = workload.compiled("gradient"), workload.inputs("gradient")
    for _ in range(3):
        compiled(*inputs)
