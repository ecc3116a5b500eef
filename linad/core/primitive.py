"""Primitives: the functions a tape is made of.

A primitive is a name, a meaning (its NumPy implementation) and one Jacobian rule an
argument. Calling it on plain arrays runs the implementation; calling it with a traced
value hands the call to the innermost trace among the arguments.
"""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from numpy import ndarray

from linad.core.array_type import Array
from linad.core.former_names import unreadable
from linad.errors import MissingRuleError

Rule = Callable[..., Any]


class Traced:
    """A value that belongs to a trace: the base of `linad.arrays.tracer.Tracer`, its one kind."""

    __slots__ = ("_trace",)

    if TYPE_CHECKING:  # an array like any other, to those who use it

        def __getattr__(self, name: str) -> Any: ...


def lists_traced(value: Any) -> bool:
    """Whether a value is traced, or is among nested lists and tuples."""
    if isinstance(value, (list, tuple)):
        return any([lists_traced(part) for part in value])
    return isinstance(value, Traced)


def innermost_trace(args: tuple[Any, ...]) -> Any:
    """Return the trace of highest level among the traced ``args``; None if none is traced."""
    top = None
    for a in args:
        if isinstance(a, Traced):
            trace = a._trace
            if top is None or trace.level > top.level:
                top = trace
    return top


def lifted(array: Array, value: Array | None) -> Any:
    """An array that ``value`` can be written into: of a trace at least as far in as the value's.

    One that is held by a trace further out, or by none, becomes a constant of the value's.
    """
    if isinstance(value, Traced):
        trace = value._trace
        if not isinstance(array, Traced) or array._trace.level < trace.level:
            return trace.constant(array)
    return array


_NOT_PLAIN = ("constant", "outputs", "vjp_rule", "whole", "zero_slope_args")
"""What says of a primitive that it is more, or less, than one result and a rule an argument."""


class Primitive:
    """A function with Jacobian rules.

    Parameters
    ----------
    name : str
        How tapes and messages call it. Unique among linad's own primitives.
    impl : callable
        ``impl(*arrays, **params)`` on plain arrays; returns an array, or a tuple of arrays
        when ``outputs`` is not None. Must not write into its arguments.
    constant : bool
        True when the derivative is zero wherever it exists (comparison, rounding, argmax):
        no rule is needed, and boolean or integer results leave the trace.
    outputs : int, optional
        Number of results when there are several.
    view : bool
        Whether the result may share memory with the first argument, as a slice does.
    captures_args : bool
        Whether its operators may refer to the arguments; a sum's do not.
    register : bool
        Whether `registry` lists it; linad's own primitives are listed, a user's are not.

    Attributes
    ----------
    rules : dict
        The Jacobian rules, by argument.
    plain : bool
        Whether an operation is one result and a rule an argument, as nearly all are.
    slopes : int
        Of a function of one or two arrays, entry by entry, that has nothing but a slope an
        argument: how many these are; 0 for any other.
    zero_slope_args : set of int
        Arguments in which the derivative is zero wherever it exists, as that of a step in its
        place: no link leads through them.
    aside : bool
        Whether it is a rule's own look at a value, and no use that the function makes of it.
    of_equal : callable or None
        The Jacobian rule of both arguments at once where they are one array: one operator in
        place of two.
    on_numbers : callable or None
        What gives the same of two of NumPy's numbers, at a fraction of the cost: the operator.
    decides : bool
        Whether its result, which has no derivative, says on which side of a threshold values are:
        a comparison, or a sign.
    searches : bool
        Whether it is a program in which some value is searched for by decisions that come ever
        closer to a tie: see `linad.core.near_ties`.
    guards : bool
        Whether it checks that a run goes the recorded way, as a guard does and a loop of guards:
        it runs, whoever reads its results.
    dear : bool
        Whether its results, which have no derivative, are kept for the way back through a loop,
        and not made again.
    endless : bool
        Whether it may go on for ever, where it is given what the recorded way would not give it:
        it runs after the guards before it.
    parts : tuple
        The bodies that a loop or a branch is made of, each with a ``tape``.
    partial : str
        What its first argument must be lest it raises, as "regular" or "positive definite"; empty
        for what raises for wrong shapes and dtypes only.
    bounds : tuple of str
        Parameters that this is about, as the length that positions are to be within.
    stumbles : callable or None
        Whether it may raise for such operands, ``stumbles(*operands)``, if that needs more.
    vjp_rule : callable or None
        A rule for all arguments at once, ``vjp_rule(*arrays, **params) -> (y, pullback)``; it
        takes the place of the Jacobian rules.
    whole : callable or None
        A rule that gives one operator for all arguments at once,
        ``whole(arrays, active) -> (y, J)``: the results, and a map from tuples of tangents of
        the active arguments to tuples of tangents of the results. In place of Jacobian rules.
    expansion : callable or None
        What a target that compiles may run in place of an equation, ``expansion(eqn) -> Tape``, or
        None. Where it cannot do what the primitive does, it stops.

    Notes
    -----
    Arrays are positional, static parameters keyword-only. A rule has the signature
    ``rule(y, *arrays, **params) -> JacobianOperator`` from the argument's shape to the
    result's. With several results its pushforward returns a tuple (None is zero), and its
    pullback takes one (None where nothing used a result).
    """

    registry: ClassVar[dict[str, "Primitive"]] = {}
    plain: bool

    # What few primitives say of themselves.
    aside = False
    decides = False
    searches = False
    guards = False
    endless = False
    dear = False
    parts: tuple[Any, ...] = ()
    partial = ""
    bounds: tuple[str, ...] = ()
    stumbles: Callable[..., bool] | None = None
    expansion: Callable[[Any], Any] | None = None

    def __init__(
        self,
        name: str,
        impl: Callable[..., Any],
        *,
        constant: bool = False,
        outputs: int | None = None,
        view: bool = False,
        captures_args: bool = True,
        register: bool = True,
    ) -> None:
        if register:
            if name in self.registry:
                raise ValueError(f"a primitive named {name!r} is registered already")
            self.registry[name] = self
        self.name = self.__name__ = self.__qualname__ = name
        self.impl = impl
        self.constant = constant
        self.outputs = outputs
        self.view = view
        self.captures_args = captures_args
        self.__doc__ = impl.__doc__
        self.slopes = 0
        self.of_equal: Rule | None = None
        self.on_numbers: Callable[[Any, Any], Any] | None = None
        self.zero_slope_args: frozenset[int] = frozenset()
        self.vjp_rule: Rule | None = None
        self.whole: Rule | None = None
        self.rules: dict[int, Rule] = {}
        self._each: Rule | None = None

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name in _NOT_PLAIN:
            said = [getattr(self, other, None) for other in _NOT_PLAIN]
            super().__setattr__("plain", not any(said))

    def jacobian(self, wrt: int | str) -> Callable[[Rule], Rule]:
        """Register the Jacobian rule of one argument.

        Parameters
        ----------
        wrt : int or "each"
            Position of the argument. With "each" one rule serves every argument of a
            variadic primitive and has the signature ``rule(i, y, *arrays, **params)``.

        Returns
        -------
        decorator
            Gives the rule back unchanged.
        """

        def register(rule: Rule) -> Rule:
            if wrt == "each":
                self._each = rule
            elif isinstance(wrt, int):
                self.rules[wrt] = rule
            else:
                raise TypeError(f"{self.name}: wrt must be an argument position or 'each'")
            return rule

        return register

    def rule_of(self, i: int) -> Rule:
        """Return the rule of argument ``i``, called as ``rule(y, *arrays, **params)``.

        Raises
        ------
        MissingRuleError
            When no rule is registered for that argument.
        """
        rule = self.rules.get(i)
        if rule is None:
            if self._each is None:
                raise MissingRuleError(
                    f"{self.name}: no Jacobian for argument {i}; register one with "
                    f"@{self.name}.jacobian(wrt={i})"
                )
            rule = self.rules[i] = functools.partial(self._each, i)
        return rule

    def on(self, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """As a call, of arguments that are in order already: at half the cost of one."""
        trace = None
        for a in args:
            if (  # most are arrays, and are asked in a third of the time
                type(a) is not ndarray
                and isinstance(a, Traced)
                and (trace is None or a._trace.level > trace.level)
            ):
                trace = a._trace
        if trace is None:
            return self.impl(*args, **params)
        return trace.apply(self, args, params)

    def __call__(self, *args: Any, **params: Any) -> Any:
        trace = None
        for a in args:  # as `innermost_trace`, with a call less
            if (
                type(a) is not ndarray
                and isinstance(a, Traced)
                and (trace is None or a._trace.level > trace.level)
            ):
                trace = a._trace
        if trace is None:
            return self.impl(*args, **params)
        return trace.apply(self, args, params)

    def __reduce__(self) -> tuple[Any, ...] | str:
        # A copy, pickled or not, is the primitive itself, found by its name.
        if self.registry.get(self.name) is self:
            return registered, (self.name,)
        return self.__qualname__

    def __repr__(self) -> str:
        return f"<primitive {self.name}>"


def registered(name: str) -> Primitive:
    """Return linad's own primitive of that name."""
    if name not in Primitive.registry:
        raise unreadable(f"A derivative with the primitive {name!r}")
    return Primitive.registry[name]
