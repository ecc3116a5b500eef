"""A user's own primitive: ``@linad.primitive`` and the forms its rules may take."""

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, overload

import numpy as np

from linad.api.opaque import is_opaque
from linad.api.overwriting_primitives import Overwriting
from linad.api.rule_results import (
    as_jacobian,
    called,
    check_adjoint,
    check_linear,
    seen_or_opaque,
)
from linad.core.array_type import Array
from linad.core.cuda_kernels import is_cuda_kernel, python_function
from linad.core.marks import Attempt
from linad.core.options import FUNCTION, POSITIVE_COUNT, TEXT, Kind, is_integer, takes
from linad.core.primitive import Primitive, Rule, Traced, innermost_trace
from linad.core.shapes import check_function
from linad.core.showing import shown
from linad.core.vectors import normal
from linad.errors import ArgumentError, WrongRuleError
from linad.operators.base import JacobianOperator
from linad.transforms.linearize import linearize_pullback

P = ParamSpec("P")
R = TypeVar("R")

GRID = Kind(
    "a function that returns (blocks, threads), or these",
    lambda given: callable(given) or isinstance(given, tuple),
)

ARGUMENT = Kind(
    "the name or the position of an argument",
    lambda given: isinstance(given, str) or is_integer(given),
)


_OF_OTHERS = {"defvjp", "defjvp", "def_vjp", "def_jvp", "defjvps", "defvjps", "vjp", "jvp", "grad"}
"""How rules are registered in other libraries."""


class UserPrimitive(Primitive, Generic[P, R]):
    """A function that linad does not look into, with a rule of its own.

    Made by `primitive`. Rules are registered with `jacobian`, one an argument, or with
    `pullback`, one for all arguments. Each is tested at its first use: both directions
    against each other, at random vectors.
    """

    def __init__(self, function: Callable[..., Any], name: str, outputs: int | None) -> None:
        def impl(*args: Any, **params: Any) -> Any:
            y = function(*args, **params)
            return np.asarray(y)[()] if outputs is None else tuple(np.asarray(v)[()] for v in y)

        super().__init__(name, impl, outputs=outputs, register=False)
        self.function = function
        functools.update_wrapper(self, function)
        self._tested: set[int | str] = set()
        self._untested: Any = None  # the rule with a pullback, as it was given

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name by which tapes call it; a mark tells it from one of linad's own."""
        return f"@{self._name}" if self._name in self.registry else self._name

    @name.setter
    def name(self, name: str) -> None:
        self._name = name

    def __call__(self, /, *args: P.args, **params: P.kwargs) -> R:
        trace: Any = innermost_trace(args)
        if trace is None:
            return self.impl(*args, **params)
        if self.vjp_rule is None or self.outputs is not None:
            return trace.apply(self, args, params)
        attempt = Attempt()
        try:
            return trace.apply(self, args, params)
        except Exception as error:
            if not is_opaque(error) or not self._runs_plain(args, params):
                raise
            attempt.forget()
            self._take_apart()
            return trace.apply(self, args, params)

    def _runs_plain(self, args: tuple[Any, ...], params: dict[str, Any]) -> bool:
        """Whether the rule with a pullback, which does not trace, runs on plain numbers."""
        values = [a.concrete if isinstance(a, Traced) else a for a in args]
        attempt = Attempt()
        try:
            y, pull = self._untested(*values, **params)
            pull(np.ones(y.shape, y.dtype))
        except Exception as error:
            if is_opaque(error):
                attempt.forget()
                return False
            raise
        return True

    def _take_apart(self) -> None:
        """Make of the rule with a pullback one rule for each argument, which may be opaque."""
        vjp_rule, self.vjp_rule = self._untested, None

        def rule_of(wrt: int) -> Rule:
            def rule(y: Array, *args: Any, **params: Any) -> Any:
                _, pull = vjp_rule(*args, **params)

                def pull_one(cotangent: Array) -> Any:
                    found = pull(cotangent)
                    part = (found if isinstance(found, (tuple, list)) else (found,))[wrt]
                    return np.zeros(np.shape(args[wrt])) if part is None else part

                return pull_one

            return rule

        self._each = lambda i, y, *args, **params: self._of_each(rule_of(i), i, y, args, params)

    def _of_each(
        self, rule: Rule, wrt: int, y: Array, args: tuple[Any, ...], params: Any
    ) -> JacobianOperator:
        self.jacobian(wrt)(rule)
        return self.rules[wrt](y, *args, **params)  # type: ignore[no-any-return]

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Say how rules are registered to those who know another library's way."""
            hint = "; @f.jacobian(wrt=0) or @f.pullback registers a rule" * (name in _OF_OTHERS)
            words = f"{type(self).__name__!r} object has no attribute {name!r}{hint}"
            raise AttributeError(words, name=name, obj=self)

    def jacobian(self, wrt: int | str) -> Callable[[Rule], Rule]:
        """Register the rule of one argument; see `primitive` for what it may return."""
        if not is_integer(wrt):
            raise ArgumentError(
                f"{self.name}: wrt must be the position of an argument, as in "
                f"@{self._name}.jacobian(wrt=0), got {shown(wrt)}"
            )
        wrt = int(wrt)
        count = _positions(self.function)
        if not 0 <= wrt < count:
            raise ArgumentError(
                f"{self.name}: wrt must be the position of an argument, 0 to {count - 1:g}, got "
                f"{wrt}"
            )
        name = f"{self.name}: the Jacobian rule of argument {wrt}"

        def register(rule: Rule) -> Rule:
            FUNCTION.check(self.name, "a Jacobian rule", rule)

            def plain(y: Array, *args: Any, **params: Any) -> JacobianOperator:
                found = called(rule, (y, *args), params, name, "the result and the arguments")
                return as_jacobian(found, y, args[wrt], name)

            def checked(y: Array, *args: Any, **params: Any) -> JacobianOperator:
                if self.outputs is None and innermost_trace((y, *args)) is not None:
                    return seen_or_opaque(plain, checked, y, args, wrt, params, name)
                J = plain(y, *args, **params)
                if wrt not in self._tested and self.outputs is None:
                    check_adjoint(J, name)
                    self._tested.add(wrt)
                return J

            self.rules[wrt] = checked
            return rule

        return register

    def pullback(self, rule: Rule) -> Rule:
        """Register a rule with a pullback closure, for all arguments at once.

        Parameters
        ----------
        rule : callable
            ``rule(*arrays, **params) -> (y, pullback)``, where ``pullback(cotangent)``
            returns a tuple with a cotangent for each argument (None for zero). Both are
            written in NumPy.

        Returns
        -------
        rule
            Unchanged.

        Notes
        -----
        The closure is traced and split into primitive operations; the tape keeps these, not
        the closure. Forward mode applies their adjoints in the opposite order.
        """

        name = f"{self.name}: the pullback rule"
        FUNCTION.check(self.name, "a pullback rule", rule)

        def vjp_rule(*args: Any, **params: Any) -> Any:
            found = called(rule, args, params, name, "the arguments")
            if not isinstance(found, tuple) or len(found) != 2 or not callable(found[1]):
                raise WrongRuleError(f"{name} must return a pair (y, pullback), got {shown(found)}")
            return _plain(found[0], self.outputs), found[1]

        self._untested = vjp_rule
        self.vjp_rule = self._test_linear(vjp_rule)
        return rule

    def _test_linear(self, vjp_rule: Rule) -> Rule:
        """``vjp_rule``, tested at its first use on plain arrays: its pullback must be linear."""

        def tested(*args: Any, **params: Any) -> Any:
            y, pull = vjp_rule(*args, **params)
            results = y if self.outputs is not None else (y,)
            if "vjp_rule" not in self._tested and not innermost_trace((*args, *results)):
                self._tested.add("vjp_rule")
                try:
                    self._compare(args, params, pull, results)
                except BaseException:
                    self._tested.discard("vjp_rule")
                    raise
            return y, pull

        return tested

    def _compare(
        self, args: tuple[Any, ...], params: Any, pull: Callable[..., Any], results: tuple[Any, ...]
    ) -> None:
        active = [
            i
            for i, a in enumerate(args)
            if isinstance(a, (np.ndarray, np.floating, np.complexfloating)) and a.dtype.kind in "fc"
        ]
        _, L = linearize_pullback(self, list(args), active, params)
        rng = np.random.default_rng(0)
        seeds = [normal(np.shape(r), np.asarray(r).dtype, rng) for r in results]
        found = pull(seeds[0] if self.outputs is None else tuple(seeds))
        found = found if isinstance(found, (tuple, list)) else (found,)
        for i, expected in zip(active, L.push_leaves(seeds), strict=True):
            given = np.zeros(np.shape(args[i])) if found[i] is None else np.asarray(found[i])
            check_linear(given, expected, f"{self.name}: argument {i}")


def _positions(function: Callable[..., Any]) -> float:
    """How many arguments by position a function takes; infinity where it does not tell."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a function of C
        return np.inf
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return np.inf
    return sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)


def _plain(y: Array, outputs: int | None) -> Any:
    """Results as arrays or NumPy scalars; traced ones stay."""
    if outputs is not None:
        return tuple(_plain(v, None) for v in y)
    return y if isinstance(y, Traced) else np.asarray(y)[()]


@overload
def primitive(
    function: Callable[P, R], *, name: str | None = ..., outputs: int | None = ...
) -> UserPrimitive[P, R]: ...


@overload
def primitive(
    function: None = ..., *, name: str | None = ..., outputs: int | None = ...
) -> Callable[[Callable[P, R]], UserPrimitive[P, R]]: ...


@overload
def primitive(
    function: None = ...,
    *,
    name: str | None = ...,
    writes: str | int,
    state: Callable[..., Any] | None = ...,
    grid: Any = ...,
    host: Callable[..., Any] | None = ...,
) -> Callable[[Callable[..., Any]], Overwriting]: ...


@takes(
    name=TEXT.optional,
    outputs=POSITIVE_COUNT.optional,
    writes=ARGUMENT.optional,
    state=FUNCTION.optional,
    grid=GRID.optional,
    host=FUNCTION.optional,
)
def primitive(
    function: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    outputs: int | None = None,
    writes: str | int | None = None,
    state: Callable[..., Any] | None = None,
    grid: Any = None,
    host: Callable[..., Any] | None = None,
) -> Any:
    """Make a function a primitive, with a Jacobian of its own. A decorator.

    Parameters
    ----------
    function : callable
        ``function(*arrays, **params)`` on plain arrays: compiled code, a call of a library,
        anything. It must not write into its arguments.
    name : str, optional
        How tapes and messages call it; the function's name by default.
    outputs : int, optional
        Number of results when it returns a tuple.
    writes : str or int, optional
        The argument that the function overwrites, by name or position; it returns nothing then.
        Its rules overwrite as well. ``@f.tangent`` registers ``tangent(*tangents, y, *arrays)``,
        which turns the tangent of what is overwritten into that of its new value ``y``;
        ``@f.adjoint`` likewise ``adjoint(*cotangents, y, *arrays)``, which adds to the cotangents
        of the other arguments. The arrays are as they were before. All three functions may be
        compiled by Numba; compiled programs call such functions without Python.
    state : callable, optional
        With ``writes``: of the arguments, returns an array or a tuple of arrays like the scratch
        memory that the function takes behind its arguments. It is made once for each shape,
        and lent to one call at a time; what is in it at the beginning means nothing.
    grid : callable or pair, optional
        With ``writes``, of a kernel that `numba.cuda.jit` made: of its arguments, returns the
        blocks of the grid and the threads of a block, each a number or up to three of them. Only
        shapes and dtypes count, the entries are zeros. Programs on a GPU launch the kernel; on the
        host its threads run one after the other.
    host : callable, optional
        With ``grid``: does on NumPy's arrays what the kernel does. For kernels that use more of
        `numba.cuda` than indices and ``atomic.add``: shared memory, say.

    Returns
    -------
    callable
        Call it like the function. Register rules with ``@f.jacobian(wrt=i)``, which gets
        ``(y, *arrays, **params)`` and returns a LinearOperator, a matrix (dense or sparse), a
        pair of functions ``(pushforward, pullback)`` or a pullback function; or with
        ``@f.pullback``, which gets ``(*arrays, **params)`` and returns ``(y, pullback)``.

    Raises
    ------
    WrongRuleError
        At first use, when the two directions of a rule are not adjoint, or a pullback is
        not linear.

    Notes
    -----
    A rule written in NumPy calls is differentiated again for higher orders. Write elementary
    operations, not compiled calls, in rules.

    Examples
    --------
    >>> import numpy as np, linad
    >>> @linad.primitive
    ... def cube(x):
    ...     return x**3
    >>> @cube.jacobian(wrt=0)
    ... def cube_wrt_x(y, x):
    ...     return lambda dx: 3 * x**2 * dx, lambda ybar: 3 * x**2 * ybar
    >>> linad.derivative(cube)(2.0)
    np.float64(12.0)
    """
    if function is None:
        given: dict[str, Any] = {"writes": writes, "state": state, "grid": grid, "host": host}
        return functools.partial(primitive, name=name, outputs=outputs, **given)
    if writes is not None:
        called = name or getattr(function, "__name__", None) or python_function(function).__name__
        return Overwriting(function, writes, called, state, grid, host)
    if grid is not None or host is not None or is_cuda_kernel(function):
        raise ArgumentError(
            "primitive: a kernel of numba.cuda.jit overwrites an argument: name it, writes='c', "
            "and pass grid=, a function of the arguments that returns (blocks, threads)"
        )
    check_function("primitive", function)
    return UserPrimitive(function, name or function.__name__, outputs)
