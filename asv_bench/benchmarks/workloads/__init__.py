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

WORKLOADS = {
    w.name: w
    for topic in (elementwise, linalg, likelihoods, networks, fields, adbench, dynamics)
    for w in topic.WORKLOADS
}

__all__ = ["TASKS", "WORKLOADS", "Workload"]
