"""The methods of initial value problems as loops of a program that `linad.jit` records."""

from typing import Any

import numpy as np
import scipy.sparse
from scipy.integrate import BDF, DOP853, RK23, RK45, Radau
from scipy.optimize import OptimizeResult

from linad.api.derivatives import stop_gradient
from linad.control import loops
from linad.control.both_ways import in_any_way
from linad.core.array_type import Array
from linad.errors import GuardError, TracerError
from linad.linalg.linear_systems import SMALL
from linad.rules.shaping import as_array, astype
from linad.scipy.bdfloops import BDFLoops
from linad.scipy.explicitloops import ExplicitLoops
from linad.scipy.implicitloops import ImplicitLoops
from linad.scipy.mirror import holds_traced, inexact
from linad.scipy.radauloops import RadauLoops
from linad.scipy.replays import Field
from linad.scipy.steploops import StepLoops, holds
from linad.scipy.trajectories import ahead

EXPLICIT = (RK23, RK45, DOP853)
IN_LOOPS: dict[Any, type[ImplicitLoops]] = {Radau: RadauLoops, BDF: BDFLoops}


def loops_of(
    kind: Any,
    field: Field,
    span: tuple[Any, Any],
    y0: Array,
    tolerances: dict[str, Any],
    options: dict[str, Any],
    args: Any,
    part: float,
) -> StepLoops | None:
    """The method as loops of a program, an explicit one with parts of steps no longer than one;
    None for those that are not."""
    if issubclass(kind, EXPLICIT):
        return ExplicitLoops(kind, field, span, y0, tolerances, part)
    method = IN_LOOPS.get(kind)
    small = y0.dtype.kind == "f" and 3 * y0.shape[0] <= SMALL
    if method is None or not small or options.get("jac_sparsity") is not None:
        return None
    jac = options.get("jac")
    if scipy.sparse.issparse(jac):
        return None
    matrix = (lambda t, y: as_array(jac(t, y, *args))) if callable(jac) else jac
    return method(kind, field, span, y0, tolerances, matrix)


def as_program(method: StepLoops, t_eval: Any) -> Any:
    """What `solve_ivp` returns, by loops of the program that is recorded.

    None where steps fail, and where the field decides on the time or the state in Python in a way
    that is not a choice of a loop: the steps are then taken once more, one by one.
    """
    if method.start == method.end or not method.y0.shape[0]:
        return None
    times = None
    if t_eval is not None:
        moves = holds_traced(t_eval)
        times = astype(inexact(t_eval), float, copy=False) if moves else np.asarray(t_eval, float)
        t = stop_gradient(times) if moves else times
        inside = np.all((t - method.start) * (t - method.end) <= 0)
        if t.ndim != 1 or not t.size or not inside or np.any(np.diff(t) * method.direction <= 0):
            return None  # SciPy has the words for it
    found = in_any_way(
        lambda field: _solved(method, field, times),
        *(method.field, TracerError, GuardError, np.linalg.LinAlgError),
    )
    if found is None:
        return None
    times, states, last, met = found
    if not holds(last.failed, 0.0):
        return None
    nfev, njev, nlu = [
        c if isinstance(c, int) else astype(c, int) for c in method.counts(last, met)
    ]
    return OptimizeResult(
        t=times,
        y=states.T,
        sol=None,
        t_events=None,
        y_events=None,
        nfev=nfev,
        njev=njev,
        nlu=nlu,
        status=0,
        message="The solver successfully reached the end of the integration interval.",
        success=True,
    )


def _solved(method: StepLoops, field: Any, times: Array | None) -> Any:
    """Times, states, where it ended, and the steps that hold a time."""
    method.field = field
    if times is None:
        return method.every()
    if not holds_traced(times):
        return times, *method.at(times)
    t = stop_gradient(times)
    states, last, met = method.at(t)
    states = loops.map(lambda row: ahead(method.field, *row), (t, states, times - t))
    return times, states, last, met
