"""Import this before NumPy and Numba: everything that is compared runs on one thread, and what is
written by hand has vectors as long as linad's kernels have."""

import os

import llvmlite.binding as llvm

for name in (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
):
    os.environ.setdefault(name, "1")
os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)
# Some have threads of their own that no setting stops.
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

features = llvm.get_host_cpu_features().flatten()
if "+avx512vbmi2" in features:  # as `linad.sweeps.cpu.object_code.processor`
    os.environ.setdefault("NUMBA_CPU_FEATURES", f"{features},-prefer-256-bit")
    os.environ.setdefault("NUMBA_CPU_NAME", llvm.get_host_cpu_name())
