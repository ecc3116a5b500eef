"""Agreement of what is computed in two ways: but for rounding, or `DerivativeError`."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linad.core import tree
from linad.core.compiler_lock import compiling
from linad.core.shapes import is_inexact
from linad.errors import DerivativeError


def require(error: float, allowed: float, what: str) -> None:
    """Raise DerivativeError unless ``error <= allowed`` (NaN fails)."""
    if not np.isfinite(error) or np.isnan(allowed):
        raise DerivativeError(
            f"{what}: infinite or NaN; at a kink, or at the end of where the function is defined, "
            f"there is no derivative to check: check it at another point"
        )
    if not error <= allowed:
        raise DerivativeError(f"{what}: off by {error:.3g}, at most {allowed:.3g} is rounding")


def check_program(f: Callable[..., Any], args: Sequence[Any]) -> None:
    """Compare a function's compiled program with the function itself.

    Parameters
    ----------
    f : callable
        A function of floating or complex arrays, or containers of them.
    args : sequence

    Raises
    ------
    DerivativeError
        If they differ by more than rounding, or in shapes or dtypes, or if the program changes
        its arguments.
    """
    with compiling:
        from linad.sweeps.compiled import Compiled
        from linad.sweeps.cpu.target import CPU
    from linad.transforms.record import trace

    y, tape = trace(f, *args)
    arrays = [np.array(a) for a in tree.flatten(tuple(args))[0]]
    compiled = Compiled(tape, arrays, CPU)
    kept = [a.copy() for a in arrays]
    for run in ("first", "second"):
        workspace = compiled.program.borrow()
        workspace.arena[...] = 0xFF  # NaN, -1, True
        compiled.program.give_back(workspace)
        what = f"{run} run of the compiled program"
        for k, (found, expected) in enumerate(
            zip(compiled.arrays(arrays), tree.flatten(y)[0], strict=True)
        ):
            _check_agreement(found, np.asarray(expected), f"{what}: result {k}")
        if any(a.tobytes() != b.tobytes() for a, b in zip(arrays, kept, strict=True)):
            raise DerivativeError(f"{what}: an argument was overwritten")


def _check_agreement(found: np.ndarray, expected: np.ndarray, what: str) -> None:
    """Equal but for rounding, which is judged by the largest entry."""
    if found.shape != expected.shape or found.dtype != expected.dtype:
        raise DerivativeError(
            f"{what} is {found.dtype}{found.shape}, in NumPy {expected.dtype}{expected.shape}"
        )
    inexact = is_inexact(expected.dtype)
    finite = np.isfinite(expected) if inexact else np.zeros(expected.shape, bool)
    if not np.array_equal(found[~finite], expected[~finite], equal_nan=inexact):
        raise DerivativeError(f"{what} is {found}, in NumPy {expected}")
    if finite.any():
        scale = np.max(np.abs(expected[finite]))
        error = np.max(np.abs(found - expected)[finite])
        require(error, 400 * float(np.finfo(expected.dtype).eps) * scale, what)
