"""Initial value problems: the derivative of the solution that was computed.

SciPy integrates the plain values and chooses the steps. The accepted steps are then taken once
more on the traced values, their lengths held constant:

    k_s = f(t + c_s h, y + h Σ_j a_sj k_j)        y' = y + h Σ_s b_s k_s

Many steps are one `linad.scan` over them, recorded once and compiled; where the field decides on
the time or the state in Python, and where they are few, they are taken one by one.

A program that `linad.jit` records holds the methods as loops, with SciPy's control of the steps,
see `linad.scipy.steploops`; their lengths count as constants there as well. LSODA's steps are of
many orders: its place is taken by Radau's method where it had found the problem stiff, else by
DOP853.

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

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.integrate
from scipy.integrate import BDF, DOP853, LSODA, RK23, RK45, Radau

from linad.api.derivatives import stop_gradient
from linad.arrays.traces import running_trace
from linad.control.captured import with_captured
from linad.core import tree
from linad.core.array_type import Array
from linad.core.long_loops import counting
from linad.core.reasons import because
from linad.core.showing import shown
from linad.errors import ShapeError, UnsupportedError
from linad.rules.shaping import as_array, astype, form
from linad.scipy.crossings import may_jump, sides_of, stretches_of
from linad.scipy.heldsides import HeldSides
from linad.scipy.implicit_solutions import in_program
from linad.scipy.long_integrations import Integration
from linad.scipy.loopedmethods import EXPLICIT, as_program, loops_of
from linad.scipy.mirror import holds_traced
from linad.scipy.neverbegun import never_begun
from linad.scipy.replays import Field, explicit_replay, implicit_replay
from linad.scipy.resolvedsteps import longest_part, parted, times_within
from linad.scipy.restingsteps import RestWatch
from linad.scipy.rightsides import field_of, plain_field, refuse_memory
from linad.scipy.steploops import with_usual
from linad.scipy.stretches import PiecewiseReplay
from linad.scipy.trajectories import (
    Solution,
    ahead,
    events_of,
    move_events,
    tell_of_two,
    watched_event,
)
from linad.scipy.unseenjumps import JumpWatch, look_ahead

METHODS: dict[Any, Any] = {"RK23": RK23, "RK45": RK45, "DOP853": DOP853}
METHODS |= {"Radau": Radau, "BDF": BDF, "LSODA": LSODA}
METHODS |= {method: method for method in METHODS.values()}
OPTIONS = ("first_step", "max_step", "rtol", "atol")


def needs_tracing(fun: Any, t_span: Any, y0: Any, given: Any, events: Any = None) -> bool:
    """Whether something traced is in the problem, perhaps in what functions refer to.

    ``given`` holds the arguments of ``fun``, and the times to evaluate at.
    """
    if running_trace() is None:
        return False
    if holds_traced((t_span, y0, given)):
        return True
    t0, y0 = t_span[0], np.atleast_1d(np.array(y0, dtype=_dtype(y0)))
    functions = [fun, *events_of(events)]
    if any(holds_traced(function(t0, y0, *given[0])) for function in functions):
        return True
    _, decided_on = with_captured(lambda x: fun(*x, *given[0]), (np.float64(form(t0)), y0), ())
    return bool(decided_on)  # where it jumps depends on what is traced


def _dtype(y: Any) -> Any:
    return complex if np.iscomplexobj(form(y)) else float


def plain_values(value: Any) -> Any:
    """The value with plain arrays for traced ones."""
    leaves, structure = tree.flatten(value)
    return tree.unflatten(structure, [form(leaf) for leaf in leaves])


def _hold(x: Array, why: str) -> None:
    """Record that the steps are good for these values: a tape must not run with others."""
    value = form(x)
    with because(why):
        bool(np.all(np.abs(x - value) <= 1e-9 * np.max(np.abs(value), initial=0.0)))


def _hold_slope(slope: Array) -> None:
    """Record that there is no solution where the right side is not finite at the start."""
    with because("solve_ivp takes no step where its function is infinite or NaN at the start"):
        bool(np.all(np.isfinite(slope)))


def _why_steps(dense_output: bool, events: Any, t_eval: Any, jumps: bool) -> str:
    """Why a program holds for the steps that were taken, and no others."""
    if jumps:
        return (
            "solve_ivp is a program of its own for each set of steps where its function jumps at "
            "times that depend on what is computed: leave linad.jit out"
        )
    if events:
        return (
            "solve_ivp with events is a program of its own for each set of steps: give t_eval in "
            "their place if the times are known, or leave linad.jit out"
        )
    if dense_output:
        return (
            "solve_ivp with dense_output is a program of its own for each set of steps: give the "
            "times by t_eval"
        )
    if t_eval is None:
        return "solve_ivp without t_eval is a program of its own for each set of steps: give t_eval"
    return (
        "solve_ivp is a program of its own for each set of steps where its function decides in "
        "Python on the state, or has more unknowns than its implicit method holds in a program"
    )


class InitialValueProblem:
    """An initial value problem with traced numbers, and the same with plain ones.

    Attributes
    ----------
    begin, end : number or array
        The times, which may be traced.
    span : tuple of float
        The same as plain numbers.
    given_y0, y0 : array (n,)
        The state at ``begin``, and at ``span[0]``.
    field, plain : Field
        The right side with traced arguments, and with plain ones.
    """

    def __init__(self, fun: Any, t_span: Any, y0: Any, vectorized: bool, args: Any) -> None:
        try:
            self.args = tuple(args)
        except TypeError:
            raise TypeError(
                f"solve_ivp: args must be a tuple, as (k,), got {shown(form(args))}"
            ) from None
        self.plain_args = plain_values(self.args)
        self.given_y0 = self.y0 = _state(y0)
        if len(t_span) != 2:
            raise ValueError(
                f"solve_ivp: t_span must be two numbers, (first, last), got {len(t_span)}; the "
                f"times at which y is wanted are t_eval="
            )
        self.begin, self.end = t_span
        self.span = (float(form(self.begin)), float(form(self.end)))
        n, dtype = self.y0.shape[0], self.y0.dtype
        self.field = field_of(fun, self.args, vectorized, n, dtype)
        self.plain = field_of(fun, self.plain_args, vectorized, n, dtype)
        if holds_traced(self.begin):
            self.y0 = ahead(self.field, self.begin, self.y0, self.span[0] - self.begin)

    def never_begun(self, t_eval: Any, events: Any) -> Any:
        """The result where the right side is not finite at the start; None where it is."""
        if np.isfinite(form(self.plain(self.span[0], form(self.y0)))).all():
            return None
        slope = self.field(self.span[0], self.y0)
        _hold_slope(slope)
        result = never_begun(self.begin, self.y0, t_eval, events)
        result.y = result.y * (np.nan * np.sum(slope))  # neither is its derivative a number
        return result

    def looped(self, kind: Any, tolerances: dict[str, Any]) -> Any:
        """The method whose loops stand for those of the one that is asked for."""
        if kind is LSODA and self.y0.dtype.kind == "f":
            return _looped_lsoda(self.plain, self.span, form(self.y0), tolerances)
        return kind

    def in_loops(
        self,
        kind: Any,
        tolerances: dict[str, Any],
        options: dict[str, Any],
        t_eval: Any,
        part: float,
    ) -> Any:
        """The result by loops of a program, with steps in parts that are no longer than one; None
        where it cannot hold them."""
        limits: Any = self.span
        first = self.y0
        if holds_traced((self.begin, self.end)):  # the program is good for others
            limits = stop_gradient((self.begin, self.end))
            first = ahead(self.field, self.begin, self.given_y0, limits[0] - self.begin)
        loops = loops_of(kind, self.field, limits, first, tolerances, options, self.args, part)
        return None if loops is None else as_program(loops, t_eval)


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
    kind = _checked_method(method, tolerances)
    problem = InitialValueProblem(fun, t_span, y0, vectorized, args)
    y0, span, end, field = problem.y0, problem.span, problem.end, problem.field
    found = problem.never_begun(t_eval, events)
    if found is not None:
        return found
    given = events_of(events)
    ends_traced = t_eval is None and holds_traced((problem.begin, end))
    first = form(problem.plain(span[0], form(y0)))
    recorded = sides_of(field, span[0], form(y0))
    sides = recorded if recorded is not None and recorded.decides else None
    jumps = in_program() and sides is not None and may_jump(sides, span[0], form(y0))
    if in_program() and not (dense_output or given or ends_traced) and not jumps:
        steady = plain_field(problem.plain, span[0], form(y0))
        ahead_of = (lambda t, y: form(steady(t, y))), span, form(y0), tolerances
        looped = problem.looped(kind, tolerances)
        part = longest_part(looped, recorded, holds_traced(y0), *ahead_of)
        found = problem.in_loops(looped, tolerances, options, t_eval, part)
        if found is not None:
            look_ahead(Radau if kind is LSODA else kind, sides, *ahead_of)  # it is not re-entrant
            return found
    watched = [watched_event(event, problem.plain_args) for event in given] or None
    moments = None if t_eval is None else np.asarray(plain_values(t_eval), float)
    dense = dense_output or bool(given) or sides is not None or not issubclass(kind, EXPLICIT)
    times = [span[0]]
    plain = plain_field(problem.plain, span[0], form(y0))

    def right_side(t: float, y: Array) -> Any:
        return form(plain(t, y))

    rest = RestWatch(kind, right_side, sides) if issubclass(kind, EXPLICIT) else None
    plain_options = _plain_options(options, problem.plain_args)
    result = scipy.integrate.solve_ivp(
        *(right_side, span, form(y0)),
        _recording(kind, times, span[1], JumpWatch(right_side, sides), rest),
        *(moments, dense, watched),
        **plain_options,
    )
    if rest is not None and rest.is_stiff and result.sol is None:
        steps = (right_side, span, form(y0), kind, None, True)
        result.sol = scipy.integrate.solve_ivp(*steps, **plain_options).sol
    if plain is not problem.plain and not in_program():
        seen = np.append(span[0], result.t), np.column_stack([form(y0), result.y])
        refuse_memory(problem.plain, first, plain, *seen)
    rtol, atol = with_usual(tolerances).values()
    ends = result.sol(np.array(times)) if rest is None else rest.states
    within = times_within(kind, recorded, rest, holds_traced(y0), times, ends, rtol, atol)
    problem_of = kind, rest, field, sides
    replay, states = _taken_once_more(*problem_of, times, within, atol, y0, result)
    why = _why_steps(dense_output, events, t_eval, jumps)
    _hold(replay.stages[0], why)
    _hold(replay.states[-1], why)
    around = replay.field_at if isinstance(replay, PiecewiseReplay) else lambda t: field
    sol = Solution(replay, around, result.sol)
    if given:
        move_events(result, given, problem.args, sol)
    if given or holds_traced((end, t_eval)):
        states = _moved(result, around, list(states), end, t_eval, bool(given))
    if len(states):
        result.y = np.stack(list(states), axis=1) if isinstance(states, list) else states.T
    result.sol = sol if dense_output else None
    return result


def _taken_once_more(
    kind: Any,
    rest: RestWatch | None,
    field: Field,
    sides: HeldSides | None,
    times: list[float],
    within: list[list[float]],
    atol: Any,
    y0: Array,
    result: Any,
) -> tuple[Any, Any]:
    """SciPy's steps on the traced values, and the states at the times of its result."""
    explicit = rest is not None and not rest.is_stiff
    taken = len(times)
    times = parted(times, within if rest is None else rest.within(times, within))
    whole = rest.ends if explicit and rest is not None and len(times) > taken else None

    def make(field: Field, times: list[float], y: Array) -> Any:
        if explicit:
            return explicit_replay(kind, field, times, y, whole)
        return implicit_replay(field, times, y, result.sol)

    stretches = None if sides is None else stretches_of(sides, times, result.sol)
    replay = make(field, times, y0) if stretches is None else PiecewiseReplay(make, stretches, y0)
    ends = [float(t) for t in result.t]
    all_steps = stretches is None and ends == list(replay.times)
    states = replay.states if all_steps else replay.at(ends)
    if not explicit or len(times) > taken or stretches is not None:
        tell_of_two(kind.__name__, atol, result, states)
        states = [value + (y - form(y)) for value, y in zip(result.y.T, states, strict=True)]
    return replay, states


def _checked_method(method: Any, tolerances: dict[str, Any]) -> Any:
    if holds_traced(tolerances):
        raise UnsupportedError("solve_ivp: tolerances and steps must be plain numbers")
    if method not in METHODS:
        raise UnsupportedError(
            f"solve_ivp: method={method!r} is not traced by linad; use one of "
            f"{', '.join(repr(name) for name in METHODS if isinstance(name, str))}"
        )
    return METHODS[method]


def _state(y0: Any) -> Any:
    """The first state, as a vector of floats or complex numbers."""
    y0 = as_array(y0)
    if y0.ndim != 1:
        raise ShapeError(f"solve_ivp: y0 must be a vector, got shape {y0.shape}")
    return astype(y0, np.dtype(_dtype(y0)), copy=False)


def _looped_lsoda(
    plain: Field, span: tuple[float, float], y0: Array, tolerances: dict[str, Any]
) -> Any:
    """The method whose loops stand for LSODA's."""
    limits = with_usual(tolerances)
    field = plain_field(plain, span[0], y0)
    return METHODS[in_place_of_lsoda(field, y0, np.linspace(*span, LOOKS), limits)[1]]


def telling(method: Any, end: float) -> Any:
    """A method that tells how far it is, where a fit allows so many steps and no more."""
    if counting() is None or not isinstance(method, (str, type)) or method not in METHODS:
        return method
    return _recording(METHODS[method], [], end)


def _recording(
    kind: Any,
    times: list[float],
    end: float,
    watch: JumpWatch | None = None,
    rest: RestWatch | None = None,
) -> Any:
    """A SciPy method that enters the end of each step into ``times``, and is watched."""
    integration = Integration(kind.__name__, end, issubclass(kind, EXPLICIT))

    class Recorded(kind):  # type: ignore[misc]
        def step(self) -> Any:
            t, y = float(self.t), self.y
            message = super().step()
            # LSODA corrects the state now and then in steps of no length: part of the next one.
            while self.status == "running" and self.t == t:
                integration.stepped(t)
                message = super().step()
            if self.status != "failed":
                times.append(float(self.t))
                integration.stepped(times[-1])
                if watch is not None:
                    watch.stepped(t, y, times[-1], self.y, getattr(self, "f", None))
                if rest is not None:
                    rest.stepped(self, t, y)
            return message

    return Recorded


def _moved(
    result: Any,
    around: Callable[[float], Field],
    states: list[Any],
    end: Any,
    t_eval: Any,
    events: bool,
) -> list[Any]:
    """The states at times that are traced, and are put into ``result.t``: that of an event, the
    end, those that were asked for."""
    ends = [float(t) for t in result.t]
    if events and result.status == 1 and t_eval is None:
        i = next(k for k, t in enumerate(result.t_events) if _ends_with(t, ends[-1]))
        states[-1] = result.y_events[i][-1]
        result.t = np.concatenate([result.t[:-1], result.t_events[i][-1:]])
    if holds_traced(end) and result.status == 0 and t_eval is None:
        planned = float(form(end))
        states[-1] = ahead(around(planned), planned, states[-1], end - planned)
        result.t = np.concatenate([result.t[:-1], as_array(end).reshape(1)])
    if holds_traced(t_eval):
        result.t = as_array(np.stack(list(t_eval)))[: len(ends)]
        states = [
            ahead(around(t), t, y, result.t[k] - t)
            for k, (t, y) in enumerate(zip(ends, states, strict=True))
        ]
    return states


def _ends_with(times: Array, t: float) -> bool:
    return bool(len(times)) and float(form(times[-1])) == t


def _plain_options(options: dict[str, Any], args: tuple[Any, ...]) -> dict[str, Any]:
    """SciPy's options in plain numbers, with a Jacobian that gives such."""
    if options.get("jac_sparsity") is not None:
        options = options | {"jac_sparsity": plain_values(options["jac_sparsity"])}
    jac = options.get("jac")
    if jac is None:
        return options
    if not callable(jac):
        return options | {"jac": form(jac)}
    return options | {"jac": lambda t, y: form(jac(t, y, *args))}


def in_place_of_lsoda(
    plain: Field, y0: Array, times: Array, options: dict[str, Any]
) -> tuple[Any, str]:
    """The solution (len(times), n) by LSODA, and a method whose steps can be taken once more.

    Radau's where LSODA had found the problem stiff, else DOP853.
    """
    value, told = scipy.integrate.odeint(
        lambda s, y: form(plain(s, y)), y0, times, tfirst=True, full_output=True, **options
    )
    return value, "Radau" if (told["mused"] == STIFF).any() else "DOP853"


STIFF = 2
"""What LSODA calls the formulas of backward differentiation."""

LOOKS = 20
"""Times at which LSODA is asked which formulas it uses."""
