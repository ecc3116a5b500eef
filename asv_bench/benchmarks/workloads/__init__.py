"""What is measured: each workload once, as a plain NumPy function with arguments, a derivative
written by hand where there is one, and what the peers need to do the same.

The benchmarks of a topic, the table (`asv_bench/table.py`) and the plots share them.
"""

from . import (
    adbench,
    dynamics,
    elementwise,
    fields,
    likelihoods,
    linalg,
    networks,
)
from .workload import TASKS, Workload

MODULES = (elementwise, linalg, likelihoods, networks, fields, adbench, dynamics)
WORKLOADS = {w.name: w for module in MODULES for w in module.WORKLOADS}
FAMILIES = {f.name: f for module in MODULES for f in module.FAMILIES}

__all__ = ["FAMILIES", "TASKS", "WORKLOADS", "Workload"]
