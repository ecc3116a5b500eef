"""Initial value problems: the derivative of the solution that was computed.

SciPy integrates the plain values and chooses the steps. The accepted steps are then taken once
more on the traced values, their lengths held constant:

    k_s = f(t + c_s h, y + h Σ_j a_sj k_j)        y' = y + h Σ_s b_s k_s

So the derivative is that of the computed trajectory, exactly and to any order, but for the choice
of the steps; it differs from that of the true solution as the trajectory does, by the tolerances.
Values between steps, for ``t_eval``, are those of SciPy's interpolants, differentiated too.

The cost is one more evaluation of f a stage, traced; reverse mode keeps what these need.

Source: E. Hairer, S. Nørsett and G. Wanner, "Solving Ordinary Differential Equations I", 1993,
II.4-6; of derivatives with frozen steps, P. Eberhard and C. Bischof, "Automatic differentiation
of numerical integration algorithms", Mathematics of Computation 68, 1999.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.integrate
from scipy.integrate import DOP853, RK23, RK45

from linad.arrays.traces import running_trace
from linad.core import tree
from linad.errors import ShapeError, UnsupportedError
from linad.rules.shaping import as_array, astype, form, ravel
from linad.scipy.mirror import holds_traced

METHODS: dict[Any, Any] = {"RK23": RK23, "RK45": RK45, "DOP853": DOP853}
METHODS |= {method: method for method in METHODS.values()}
OPTIONS = ("first_step", "max_step", "rtol", "atol")

Field = Callable[[float, Any], Any]


def needs_tracing(fun: Any, t0: Any, y0: Any, args: Any) -> bool:
    """Whether something traced is in the problem, perhaps in what ``fun`` refers to."""
    if running_trace() is None:
        return False
    if holds_traced((t0, y0, args)):
        return True
    return holds_traced(fun(t0, np.atleast_1d(np.array(y0, dtype=_dtype(y0))), *args))


def _dtype(y: Any) -> Any:
    return complex if np.iscomplexobj(form(y)) else float


def _plain(value: Any) -> Any:
    """The value with plain arrays for traced ones."""
    leaves, structure = tree.flatten(value)
    return tree.unflatten(structure, [form(leaf) for leaf in leaves])


def _weighted(weights: Any, terms: Sequence[Any]) -> Any:
    """Σ w_j k_j, without the terms of weight 0."""
    total: Any = 0.0
    for w, k in zip(weights, terms, strict=False):
        if w:
            total = total + float(w) * k
    return total


class RungeKuttaReplay:
    """An explicit Runge-Kutta method on traced values, along steps that are known.

    Parameters
    ----------
    method : class
        RK23, RK45 or DOP853 of `scipy.integrate`.
    field : callable
        f(t, y)
    times : sequence of float
        Where the steps begin and end.
    y0 : array (n,)
    """

    def __init__(self, method: Any, field: Field, times: Sequence[float], y0: Any) -> None:
        self.method, self.field, self.times = method, field, times
        self.states, self.stages = [y0], [field(times[0], y0)]
        self._slopes: list[list[Any]] = []
        for i in range(len(times) - 1):
            self._step(i)

    def _step(self, i: int) -> None:
        t, y = self.times[i], self.states[i]
        h = self.times[i + 1] - t
        k = [self.stages[i]]
        for row, c in zip(self.method.A[1:], self.method.C[1:], strict=True):
            k.append(self.field(t + c * h, y + h * _weighted(row, k)))
        y = y + h * _weighted(self.method.B, k)
        self.states.append(y)
        self.stages.append(self.field(t + h, y))
        self._slopes.append([*k, self.stages[-1]])

    def at(self, times: Any) -> list[Any]:
        """The solution at other times within, in the order of integration."""
        ends = np.asarray(self.times[1:])
        direction = -1.0 if self.times[-1] < self.times[0] else 1.0
        steps = np.searchsorted(direction * ends, direction * np.asarray(times))
        found: dict[int, Any] = {}
        results = []
        for t, i in zip(times, steps, strict=True):
            i = int(i)
            if self.times[i] == self.times[i + 1]:
                results.append(self.states[i])
                continue
            if i not in found:
                interpolant = self._between_dop853 if self.method is DOP853 else self._between
                found[i] = interpolant(i)
            x = (float(t) - self.times[i]) / (self.times[i + 1] - self.times[i])
            results.append(found[i](x))
        return results

    def _between(self, i: int) -> Callable[[float], Any]:
        """The polynomial h Σ_s k_s Σ_p P_sp x^(p+1) of RK23 and RK45."""
        h, k, y = self.times[i + 1] - self.times[i], self._slopes[i], self.states[i]
        powers = np.arange(1, self.method.P.shape[1] + 1)

        def value(x: float) -> Any:
            return y + h * _weighted(self.method.P @ x**powers, k)

        return value

    def _between_dop853(self, i: int) -> Callable[[float], Any]:
        """The polynomial of degree seven of DOP853, which needs three more stages."""
        t, y, k = self.times[i], self.states[i], list(self._slopes[i])
        h = self.times[i + 1] - t
        for row, c in zip(DOP853.A_EXTRA, DOP853.C_EXTRA, strict=True):
            k.append(self.field(t + c * h, y + h * _weighted(row, k)))
        first, last = self._slopes[i][0], self._slopes[i][-1]
        dy = self.states[i + 1] - y
        terms = [dy, h * first - dy, 2 * dy - h * (last + first)]
        terms += [h * _weighted(row, k) for row in DOP853.D]

        def value(x: float) -> Any:
            total: Any = 0.0
            for j, term in enumerate(reversed(terms)):
                total = (total + term) * (1 - x if j % 2 else x)
            return y + total

        return value


def _hold(x: Any) -> None:
    """Record that the steps are good for these values: a tape must not run with others."""
    value = form(x)
    bool(np.all(np.abs(x - value) <= 1e-9 * np.max(np.abs(value), initial=0.0)))


def _field(fun: Any, args: Any, vectorized: bool, n: int, dtype: Any) -> Field:
    """f as a function of t and a vector that gives a vector."""

    def field(t: float, y: Any) -> Any:
        dy = fun(t, y[:, None], *args) if vectorized else fun(t, y, *args)
        if isinstance(dy, (list, tuple)):
            dy = np.stack(dy) if holds_traced(dy) else np.asarray(dy)
        dy = ravel(as_array(dy))
        if dy.shape != (n,):
            raise ShapeError(f"solve_ivp: fun returns {dy.shape[0]} values for a state of {n}")
        return dy if dy.dtype == dtype else astype(dy, dtype)

    return field


def replayed(
    fun: Any,
    t_span: Any,
    y0: Any,
    method: Any,
    t_eval: Any,
    vectorized: bool,
    args: Any,
    options: dict[str, Any],
) -> Any:
    """`scipy.integrate.solve_ivp` on plain values, with the traced solution in ``y``."""
    if holds_traced((t_span, t_eval, options)):
        raise UnsupportedError(
            "solve_ivp: t_span, t_eval and tolerances must be plain numbers; for a derivative in "
            "the final time take fun(t, y), which it is"
        )
    if method not in METHODS:
        names = "'RK45', 'RK23' or 'DOP853'"
        raise UnsupportedError(
            f"solve_ivp: method={method!r} is not traced by linad, the explicit methods are: use "
            f"{names}; for a stiff problem, write implicit steps with np.linalg.solve"
        )
    kind = METHODS[method]
    y0 = np.stack(y0) if isinstance(y0, (list, tuple)) and holds_traced(y0) else as_array(y0)
    if y0.ndim == 0:
        y0 = y0.reshape(1)
    if y0.ndim != 1:
        raise ShapeError(f"solve_ivp: y0 must be a vector, got shape {y0.shape}")
    dtype = np.dtype(_dtype(y0))
    y0 = y0 if y0.dtype == dtype else astype(y0, dtype)
    times = [float(t_span[0])]

    class Recorded(kind):  # type: ignore[valid-type, misc]
        def step(self) -> Any:
            message = super().step()
            if self.status != "failed":
                times.append(float(self.t))
            return message

    plain_args = _plain(tuple(args))
    plain = _field(fun, plain_args, vectorized, y0.shape[0], dtype)
    result = scipy.integrate.solve_ivp(
        lambda t, y: form(plain(t, y)), t_span, form(y0), Recorded, t_eval, **options
    )
    field = _field(fun, args, vectorized, y0.shape[0], dtype)
    replay = RungeKuttaReplay(kind, field, times, y0)
    _hold(replay.stages[0])
    _hold(replay.states[-1])
    states = replay.at(result.t) if t_eval is not None else replay.states[: len(result.t)]
    if states:
        result.y = np.stack(states, axis=1)
    return result


def solution_at(fun: Any, y0: Any, t: Any, args: Any, rtol: float, atol: float) -> Any:
    """The solution (len(t), n) at increasing or decreasing times.

    The value is that of `scipy.integrate.odeint`, whose steps of many orders cannot be taken once
    more; the derivative is that of the solution by DOP853 with the same tolerances.
    """
    if holds_traced(t):
        raise UnsupportedError(
            "odeint: t must be plain numbers; the derivative in a time is func(y, t) there"
        )
    t = np.asarray(t, float)
    steps = np.diff(t)
    if t.ndim != 1 or not t.size or not (np.all(steps >= 0) or np.all(steps <= 0)):
        raise ValueError("odeint: t must be a vector of increasing or of decreasing times")
    distinct, places = np.unique(t, return_inverse=True)
    if t[0] > t[-1]:
        distinct, places = distinct[::-1], len(distinct) - 1 - places
    span = (t[0], t[-1])
    options = {"rtol": rtol, "atol": atol}
    result = replayed(fun, span, y0, "DOP853", distinct, False, args, options)
    if not result.success:
        raise np.linalg.LinAlgError(f"odeint: {result.message}")
    y = result.y.T[places]
    plain = _field(fun, _plain(tuple(args)), False, y.shape[1], np.dtype(float))
    value = scipy.integrate.odeint(
        lambda s, x: form(plain(s, x)), form(y)[0], t, tfirst=True, **options
    )
    return y + (value - form(y))
