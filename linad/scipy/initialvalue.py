"""Initial value problems: the derivative of the solution that was computed.

SciPy integrates the plain values and chooses the steps. The accepted steps are then taken once
more on the traced values, their lengths held constant:

    k_s = f(t + c_s h, y + h Σ_j a_sj k_j)        y' = y + h Σ_s b_s k_s

Many steps are one `linad.scan` over them, recorded once and compiled; where the field decides on
the time or the state in Python, and where they are few, they are taken one by one.

A program that `linad.jit` records holds all methods but LSODA as loops, with SciPy's control of
the steps, see `linad.scipy.steploops`; their lengths count as constants there as well.

So the derivative is that of the computed trajectory, exactly and to any order, but for the choice
of the steps; it differs from that of the true solution as the trajectory does, by the tolerances.
Values between steps, for ``t_eval``, are those of SciPy's interpolants, differentiated too.

Outside of programs, methods that are implicit give the value, and Radau's method along their steps
the derivative, see `linad.scipy.implicitsteps`; in programs the derivative is that of the method's
own steps. A traced time is a step of length 0 whose derivative is the field's.

The cost is one more evaluation of f a stage, traced; reverse mode keeps what these need.

Source: E. Hairer, S. Nørsett and G. Wanner, "Solving Ordinary Differential Equations I", 1993,
II.4-6; of derivatives with frozen steps, P. Eberhard and C. Bischof, "Automatic differentiation
of numerical integration algorithms", Mathematics of Computation 68, 1999.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.integrate
import scipy.sparse
from scipy.integrate import BDF, DOP853, LSODA, RK23, RK45, Radau
from scipy.optimize import OptimizeResult

from linad.api.derivatives import stop_gradient
from linad.arrays.traces import running_trace
from linad.control import loops
from linad.control.captured import with_captured
from linad.core import tree
from linad.core.marks import Attempt, running_traces
from linad.errors import GuardError, ShapeError, TracerError, UnsupportedError
from linad.linalg.linear_systems import SMALL
from linad.rules.shaping import as_array, astype, form, ravel
from linad.scipy.bdfloops import BDFLoops
from linad.scipy.explicitloops import ExplicitLoops, dop853_between, stages_of, weighted
from linad.scipy.implicit_solutions import Watched, root_of_number
from linad.scipy.implicitloops import ImplicitLoops
from linad.scipy.implicitsteps import ImplicitReplay, LoopedImplicitReplay
from linad.scipy.mirror import holds_traced, inexact
from linad.scipy.radauloops import RadauLoops
from linad.scipy.steploops import StepLoops, holds

EXPLICIT = (RK23, RK45, DOP853)
METHODS: dict[Any, Any] = {"RK23": RK23, "RK45": RK45, "DOP853": DOP853}
METHODS |= {"Radau": Radau, "BDF": BDF, "LSODA": LSODA}
METHODS |= {method: method for method in METHODS.values()}
IN_LOOPS: dict[Any, type[ImplicitLoops]] = {Radau: RadauLoops, BDF: BDFLoops}
OPTIONS = ("first_step", "max_step", "rtol", "atol")
PATHS = 8
"""Ways through a field that are recorded, at most."""
MANY = 600
"""Stages from which on a loop over the steps is worth being compiled."""

Field = Callable[[float, Any], Any]


def needs_tracing(fun: Any, t_span: Any, y0: Any, given: Any, events: Any = None) -> bool:
    """Whether something traced is in the problem, perhaps in what functions refer to.

    ``given`` holds the arguments of ``fun``, and the times to evaluate at.
    """
    if running_trace() is None:
        return False
    if holds_traced((t_span, y0, given)):
        return True
    t0, y0 = t_span[0], np.atleast_1d(np.array(y0, dtype=_dtype(y0)))
    functions = [fun, *(() if events is None else (events,) if callable(events) else events)]
    return any(holds_traced(function(t0, y0, *given[0])) for function in functions)


def _dtype(y: Any) -> Any:
    return complex if np.iscomplexobj(form(y)) else float


def _plain(value: Any) -> Any:
    """The value with plain arrays for traced ones."""
    leaves, structure = tree.flatten(value)
    return tree.unflatten(structure, [form(leaf) for leaf in leaves])


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
        k = stages_of(self.method, self.field, t, y, self.stages[i], h)
        y = y + h * weighted(self.method.B, k)
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
            return y + h * weighted(self.method.P @ x**powers, k)

        return value

    def _between_dop853(self, i: int) -> Callable[[float], Any]:
        """The polynomial of degree seven of DOP853, which needs three more stages."""
        t, t_new = self.times[i : i + 2]
        y, y_new = self.states[i : i + 2]
        return dop853_between(self.field, t, y, y_new, t_new - t, self._slopes[i])


class LoopedReplay:
    """The same as `RungeKuttaReplay`, as loops over the steps and over the times within."""

    def __init__(self, method: Any, field: Field, times: Sequence[float], y0: Any) -> None:
        self.method, self.field, self.times = method, field, np.asarray(times)
        self.lengths = np.diff(self.times)

        def step(carry: Any, row: Any) -> Any:
            (y, slope), (t, h) = carry, row
            k = stages_of(method, field, t, y, slope, h)
            new = y + h * weighted(method.B, k)
            last = field(t + h, new)
            return (new, last), (new, np.stack([*k, last]))

        self.stages = [field(self.times[0], y0)]
        _, (states, self._slopes) = loops.scan(
            step, (y0, self.stages[0]), (self.times[:-1], self.lengths)
        )
        self.states = np.concatenate([np.stack([y0]), states])

    def at(self, times: Any) -> Any:
        """The solution at other times within, in the order of integration: an array (m, n)."""
        here = np.asarray(times, float)
        direction = -1.0 if self.times[-1] < self.times[0] else 1.0
        i = np.searchsorted(direction * self.times[1:], direction * here)
        t, h, y, k = self.times[i], self.lengths[i], self.states[i], self._slopes[i]
        x = (here - t) / np.where(h == 0, 1.0, h)
        if self.method is not DOP853:
            powers = np.arange(1, self.method.P.shape[1] + 1)
            weights = x[:, None] ** powers @ self.method.P.T
            return y + h[:, None] * np.sum(weights[:, :, None] * k, axis=1)

        def between(row: Any) -> Any:
            t, h, y, y_new, k, x = row
            k = [k[j] for j in range(k.shape[0])]
            return dop853_between(self.field, t, y, y_new, h, k)(x)

        return loops.map(between, (t, h, y, self.states[i + 1], k, x))


def _replay(method: Any, field: Field, times: Sequence[float], y0: Any) -> Any:
    """The steps on traced values: as loops if they are many, or else one by one."""
    if method.n_stages * len(times) > MANY and y0.shape[0]:
        attempt = Attempt()
        try:
            return LoopedReplay(method, field, times, y0)
        except (TracerError, GuardError):
            attempt.forget()
    return RungeKuttaReplay(method, field, times, y0)


def _implicit_replay(field: Field, times: Sequence[float], y0: Any, guess: Any) -> Any:
    """Radau's method on traced values: as a loop where its systems are small."""
    if 12 * len(times) > MANY and 0 < 3 * y0.shape[0] <= SMALL and y0.dtype.kind == "f":
        attempt = Attempt()
        try:
            return LoopedImplicitReplay(field, times, y0, guess)
        except (TracerError, GuardError):
            attempt.forget()
    return ImplicitReplay(field, times, y0, guess)


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


def _plain_field(field: Field, t: float, y: Any) -> Field:
    """f on plain values; where it refers to traced ones, by a program that was recorded once.

    Unless Python takes ever other ways in it, or ways that refer to different ones.
    """
    made: Any
    made, captured = with_captured(lambda x: field(*x), (np.float64(t), y), ())
    if not captured:
        return field
    held = [form(v) for v in captured]
    recorded = True

    def plain(t: float, y: Any) -> Any:
        nonlocal recorded
        if recorded and len(made.paths) <= PATHS:
            attempt = Attempt()
            try:
                return made((np.float64(t), y), *held)
            except (TracerError, GuardError):
                attempt.forget()
                recorded = False
        return form(field(t, y))

    return plain


def ahead(field: Field, t: Any, y: Any, h: Any) -> Any:
    """The state h later, for a traced h whose value is 0, or next to it.

    By the classical method of Runge and Kutta: exact in the derivatives in h up to the fourth.
    """
    k1 = field(t, y)
    k2 = field(t + h / 2, y + h / 2 * k1)
    k3 = field(t + h / 2, y + h / 2 * k2)
    k4 = field(t + h, y + h * k3)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


class Solution:
    """The traced solution as a function of time: `sol` of a traced `solve_ivp`.

    Parameters
    ----------
    replay : RungeKuttaReplay or ImplicitReplay
    field : callable
    plain : OdeSolution
        SciPy's own.
    """

    def __init__(self, replay: Any, field: Field, plain: Any) -> None:
        self.replay, self.field, self.plain = replay, field, plain

    def __call__(self, t: Any) -> Any:
        """y (n,) at a time, or (n, m) at m times."""
        here = np.asarray(form(t), float)
        order = np.argsort(here.ravel(), kind="stable")
        if self.replay.times[-1] < self.replay.times[0]:
            order = order[::-1]
        states: list[Any] = [None] * here.size
        for place, state in zip(order, self.replay.at(here.ravel()[order]), strict=True):
            value = self.plain(float(here.ravel()[place]))
            y = value + (state - form(state))
            if holds_traced(t):
                moment = ravel(t)[int(place)]
                start = form(moment)
                y = ahead(self.field, start, y, moment - start)
            states[place] = y
        y = np.stack(states, axis=1)
        return y[:, 0] if here.ndim == 0 else y


def _watched_event(event: Any, args: Any) -> Any:
    """An event for SciPy: of plain numbers."""

    def watch(t: float, y: Any) -> Any:
        return form(event(t, y, *args))

    for name in ("terminal", "direction"):
        if hasattr(event, name):
            setattr(watch, name, getattr(event, name))
    return watch


def _moved_events(result: Any, events: Any, args: Any, sol: Solution) -> None:
    """The times of events with their derivatives, t with g(t, y(t)) = 0, and the states there."""
    for i, event in enumerate(events):
        times, states = [], []
        for t in result.t_events[i]:
            start = sol(t)

            def moved(time: Any, t: Any = t, start: Any = start) -> Any:
                return ahead(sol.field, t, start, time - t)

            crossing = Watched(lambda time, g=event, y=moved: g(time, y(time), *args))
            time = root_of_number("solve_ivp", crossing, t)
            times.append(time)
            states.append(moved(time))
        if times:
            result.t_events[i] = np.stack(times)
            result.y_events[i] = np.stack(states)


def replayed(
    fun: Any,
    t_span: Any,
    y0: Any,
    method: Any,
    t_eval: Any,
    vectorized: bool,
    args: Any,
    options: dict[str, Any],
    dense_output: bool = False,
    events: Any = None,
) -> Any:
    """`scipy.integrate.solve_ivp` on plain values, with the traced solution in ``y``."""
    tolerances = {key: options[key] for key in options if key in OPTIONS}
    if holds_traced(tolerances):
        raise UnsupportedError("solve_ivp: tolerances and steps must be plain numbers")
    if method not in METHODS:
        raise UnsupportedError(
            f"solve_ivp: method={method!r} is not traced by linad; use one of "
            f"{', '.join(repr(name) for name in METHODS if isinstance(name, str))}"
        )
    kind = METHODS[method]
    y0 = np.stack(y0) if isinstance(y0, (list, tuple)) and holds_traced(y0) else as_array(y0)
    if y0.ndim == 0:
        y0 = y0.reshape(1)
    if y0.ndim != 1:
        raise ShapeError(f"solve_ivp: y0 must be a vector, got shape {y0.shape}")
    dtype = np.dtype(_dtype(y0))
    y0 = y0 if y0.dtype == dtype else astype(y0, dtype)
    begin, end = t_span
    span = (float(form(begin)), float(form(end)))
    times = [span[0]]

    class Recorded(kind):  # type: ignore[valid-type, misc]
        def step(self) -> Any:
            message = super().step()
            if self.status != "failed":
                times.append(float(self.t))
            return message

    field = _field(fun, args, vectorized, y0.shape[0], dtype)
    if holds_traced(begin):
        y0 = ahead(field, begin, y0, span[0] - begin)
    plain_args = _plain(tuple(args))
    explicit = issubclass(kind, EXPLICIT)
    whole = not (dense_output or events or holds_traced((begin, end)))
    if whole and any(trace.records for trace in running_traces()):
        loops_of_kind = _loops(kind, field, span, y0, tolerances, options, args)
        found = None if loops_of_kind is None else _as_program(loops_of_kind, t_eval)
        if found is not None:
            return found
    given = () if events is None else (events,) if callable(events) else tuple(events)
    watched = [_watched_event(event, plain_args) for event in given] or None
    moments = None if t_eval is None else np.asarray(_plain(t_eval), float)
    plain = _field(fun, plain_args, vectorized, y0.shape[0], dtype)
    plain = _plain_field(plain, span[0], form(y0))
    result = scipy.integrate.solve_ivp(
        *(lambda t, y: form(plain(t, y)), span, form(y0), Recorded, moments),
        *(dense_output or bool(given) or not explicit, watched),
        **_plain_options(options, plain_args),
    )
    replay: Any
    if explicit:
        replay = _replay(kind, field, times, y0)
    else:
        replay = _implicit_replay(field, times, y0, result.sol)
    _hold(replay.stages[0])
    _hold(replay.states[-1])
    ends = [float(t) for t in result.t]
    if moments is None and ends == list(replay.times):
        states = replay.states
    else:
        states = replay.at(ends)
    if not explicit:
        states = [value + (y - form(y)) for value, y in zip(result.y.T, states, strict=True)]
    sol = Solution(replay, field, result.sol)
    if given or holds_traced((end, t_eval)):
        states = list(states)
    if given:
        _moved_events(result, given, args, sol)
        if result.status == 1 and moments is None:
            i = next(k for k, t in enumerate(result.t_events) if _ends_with(t, ends[-1]))
            states[-1] = result.y_events[i][-1]
            result.t = np.concatenate([result.t[:-1], result.t_events[i][-1:]])
    if holds_traced(end) and result.status == 0 and moments is None:
        states[-1] = ahead(field, span[1], states[-1], end - span[1])
        result.t = np.concatenate([result.t[:-1], as_array(end).reshape(1)])
    if holds_traced(t_eval):
        result.t = as_array(np.stack(list(t_eval)))[: len(ends)]
        states = [
            ahead(field, t, y, result.t[k] - t)
            for k, (t, y) in enumerate(zip(ends, states, strict=True))
        ]
    if len(states):
        result.y = np.stack(list(states), axis=1) if isinstance(states, list) else states.T
    result.sol = sol if dense_output else None
    return result


def _loops(
    kind: Any,
    field: Field,
    span: tuple[float, float],
    y0: Any,
    tolerances: dict[str, Any],
    options: dict[str, Any],
    args: Any,
) -> StepLoops | None:
    """The method as loops of a program; None for those that are not."""
    if issubclass(kind, EXPLICIT):
        return ExplicitLoops(kind, field, span, y0, tolerances)
    method = IN_LOOPS.get(kind)
    small = y0.dtype.kind == "f" and 3 * y0.shape[0] <= SMALL
    if method is None or not small or options.get("jac_sparsity") is not None:
        return None
    jac = options.get("jac")
    if scipy.sparse.issparse(jac):
        return None
    matrix = (lambda t, y: as_array(jac(t, y, *args))) if callable(jac) else jac
    return method(kind, field, span, y0, tolerances, matrix)


def _as_program(method: StepLoops, t_eval: Any) -> Any:
    """What `solve_ivp` returns, by loops of the program that is recorded.

    None where steps fail, and where the field decides on the time or the state in Python: the
    steps are then taken once more, one by one.
    """
    if method.start == method.end or not method.y0.shape[0]:
        return None
    moves = holds_traced(t_eval)
    if t_eval is not None:
        times = astype(inexact(t_eval), float, copy=False) if moves else np.asarray(t_eval, float)
        t = stop_gradient(times) if moves else times
        inside = np.all((t - method.start) * (t - method.end) <= 0)
        if t.ndim != 1 or not t.size or not inside or np.any(np.diff(t) * method.direction <= 0):
            return None  # SciPy has the words for it
    attempt = Attempt()
    try:
        if t_eval is None:
            times, states, last, met = method.every()
        else:
            states, last, met = method.at(t)
        if moves:
            states = loops.map(lambda row: ahead(method.field, *row), (t, states, times - t))
    except (TracerError, GuardError, np.linalg.LinAlgError):
        attempt.forget()
        return None
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


def _ends_with(times: Any, t: float) -> bool:
    return bool(len(times)) and float(form(times[-1])) == t


def _plain_options(options: dict[str, Any], args: Any) -> dict[str, Any]:
    """SciPy's options, with a Jacobian that gives plain numbers."""
    jac = options.get("jac")
    if jac is None:
        return options
    if not callable(jac):
        return options | {"jac": form(jac)}
    return options | {"jac": lambda t, y: form(jac(t, y, *args))}


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
