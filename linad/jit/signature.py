"""The signature of a call of a jitted function: what it is known by, and what is data.

Arrays, floats and complex numbers among the arguments are data: another value is another run of
the same program. All else (containers, integers, booleans, strings, other objects; shapes and
dtypes; what the function reads from outside) makes another program when it changes. Arrays from
outside are operands, as arguments are.
"""

import inspect
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

import numpy as np

from linad.arrays.foreign_operands import OTHER_ARITHMETIC, refuse_arithmetic
from linad.arrays.tracer import Tracer
from linad.arrays.zero_dim import is_number
from linad.core import tree
from linad.core.array_type import Array
from linad.core.foreign_arrays import leaves_taken_in
from linad.core.memory_layouts import copied
from linad.core.shapes import name_of
from linad.core.tape import Equation
from linad.errors import DTypeError, OptionError
from linad.jit.carried_along import has_code
from linad.jit.direct_arrays import direct_arrays, states_of
from linad.jit.identity import says_is
from linad.jit.outside import Look, Outside
from linad.jit.random_draws import refuse_generator
from linad.jit.static_values import Itself, StaticValue
from linad.jit.told_apart import is_labelled
from linad.jit.written_attributes import Attributes


class Signature:
    """A call, taken apart: arrays, and what is part of the program.

    Parameters
    ----------
    leaves, structure
        Of the container ``(args, kwargs)``.
    fixed : set of int
        Leaves that are part of the program by request.
    orders : tuple
        The orders of keys in it, as `linad.core.tree.key_orders`.
    narrow : bool
        Whether Python numbers are part of it; see `is_dynamic`.

    Attributes
    ----------
    arrays : list
        Arrays, numbers and traced values, in order.
    key : tuple
        Containers, orders of their keys, static values, and dtypes and shapes of the arrays;
        what stands outside, once `see` has looked there.
    look : Look or None
        What the function reads from outside.
    outside : list of ndarray
        The arrays among it, as they are at this call.
    place : Outside or None
        Where it has looked.
    unread : dict
        Attributes that the function writes before it reads them.
    took_in : bool
        Whether arrays of other libraries were among the leaves, where NumPy's are now.
    """

    __slots__ = (
        *("arrays", "dynamic", "fixed", "key", "leaves", "look", "narrow", "outside"),
        *("place", "structure", "took_in", "unread"),
    )

    def __init__(
        self,
        leaves: list[Any],
        structure: Any,
        fixed: set[int],
        orders: tuple[Any, ...] = (),
        narrow: bool = False,
    ) -> None:
        given, leaves = leaves, leaves_taken_in(leaves)
        self.took_in = leaves is not given
        self.leaves, self.structure = leaves, structure
        self.narrow, self.fixed = narrow, fixed
        narrow = narrow or self.holds_single_precision()
        self.dynamic = [k for k, x in enumerate(leaves) if k not in fixed and is_dynamic(x, narrow)]
        self.look: Look | None = None
        self.outside: list[np.ndarray] = []
        self.place: Outside | None = None
        self.unread: Attributes = {}
        moving = set(self.dynamic)
        self.arrays = [leaves[k] for k in self.dynamic]
        self.key: tuple[Any, ...] = (
            structure,
            orders,
            tuple([_type_of(x) if k in moving else StaticValue(x) for k, x in enumerate(leaves)]),
        )

    def see(self, outside: Outside) -> None:
        """Look at what stands outside: it is part of the key, and its arrays are operands."""
        given = [x for x in self.static_leaves if has_code(x)]
        named = self._with_names(given, outside.f) if given else ()
        self.place = outside
        self.look, self.outside = outside.look(named)
        self._leave_out(outside.unread if self.look is None else self.look.unread)
        if self.look is not None:
            self.key = (*self.key, self.look.key)
            if any([says_is(f.__code__) for f in self.look.functions]):
                # Equal tables are one key, and no one object.
                self.key += tuple([Itself(x) for x in given if is_labelled(x)])

    def _leave_out(self, unread: Attributes) -> None:
        """Attributes that the function writes before it reads them count for nothing."""
        self.unread = unread
        if not unread:
            return
        structure, orders, kinds = self.key
        parts = list(kinds)
        for k, x in enumerate(self.leaves):
            if type(parts[k]) is StaticValue and id(x) in unread:
                parts[k] = StaticValue(x, unread[id(x)][1])
        self.key = structure, orders, tuple(parts)

    def _with_names(self, given: list[Any], f: Callable[..., Any]) -> list[tuple[str, Any]]:
        """Static arguments with the names of their parameters, "" where they have none."""
        code = getattr(f, "__code__", None)
        args, kwargs = tree.unflatten(self.structure, self.leaves)
        names = code.co_varnames[: code.co_argcount] if isinstance(code, CodeType) else ()
        places = {id(a): name for name, a in [*zip(names, args, strict=False), *kwargs.items()]}
        return [(places.get(id(x), ""), x) for x in given]

    @property
    def static_leaves(self) -> list[Any]:
        """The leaves that are part of the program."""
        if len(self.dynamic) == len(self.leaves):
            return []
        moving = set(self.dynamic)
        return [x for k, x in enumerate(self.leaves) if k not in moving]

    @property
    def operands(self) -> list[Any]:
        """All that the program reads."""
        return [*self.arrays, *self.outside] if self.outside else self.arrays

    def direct(self, f: Callable[..., Any]) -> tuple[set[int], set[int]]:
        """Of the arrays from outside, which only meet traced values, themselves or as parts of
        sparse matrices: see `direct_arrays`."""
        if self.look is None or not self.outside:
            return set(), set()
        moving = {id(self.leaves[k]) for k in self.dynamic}
        args, kwargs = tree.unflatten(self.structure, self.leaves)
        return direct_arrays(f, states_of(args, kwargs, moving), self.look, self.outside)

    def call(self, f: Callable[..., Any], arrays: Sequence[Any]) -> Any:
        """Call a function with other arrays in the same places."""
        args, kwargs = self.filled(arrays)
        return f(*args, **kwargs)

    def filled(self, arrays: Sequence[Any]) -> Any:
        """Positional and named arguments with other arrays in the same places."""
        leaves = list(self.leaves)
        for k, a in zip(self.dynamic, arrays, strict=True):
            leaves[k] = a
        return tree.unflatten(self.structure, leaves)

    def on_values(self) -> "Signature":
        """The same call with copies of its arrays, and of the values of traced ones."""
        leaves = list(self.leaves)
        copies: dict[int, Any] = {}  # one array by two names stays one
        for k in self.dynamic:
            given = leaves[k]
            x = given.concrete if isinstance(given, Tracer) else given
            if isinstance(x, np.ndarray):
                x = copies.setdefault(id(given), copied(x))
            leaves[k] = x
        fixed = set(range(len(leaves))) - set(self.dynamic)
        plain = Signature(leaves, self.structure, fixed)
        plain.look, plain.outside = self.look, self.outside
        plain.place = self.place
        plain._leave_out(self.unread)
        return plain

    def objects_have_changed(self) -> bool:
        """Whether something among the arguments that is part of the program is another now."""
        pairs = zip(self.key[2], self.leaves, strict=True)
        return any(
            [type(p) is StaticValue and p != StaticValue(x, p.without) for p, x in pairs]
        )

    def holds_single_precision(self) -> bool:
        """Whether an array or number is of single precision."""
        # Asked of the class: an object may answer any name, as a dictionary with attributes does.
        return any([hasattr(type(x), "dtype") and x.dtype in NARROW for x in self.leaves])

    def met_single_precision(self, equations: Sequence[Equation]) -> bool:
        """Whether Python numbers have to be part of the program after all; see `is_dynamic`."""
        # What was so when these arguments were taken apart: another thread may have found it since.
        if self.narrow or not any([isinstance(x, (float, complex)) for x in self.arrays]):
            return False
        return in_single_precision(equations)


def is_python_number(x: Array) -> bool:
    """Whether an argument is a Python number; one of NumPy's derived classes is not."""
    return type(x) in (float, complex)


NARROW = (np.dtype("float32"), np.dtype("complex64"), np.dtype("float16"))
"""Dtypes that a Python number, but no array of one, leaves as they are."""


def in_single_precision(equations: Sequence[Equation]) -> bool:
    """Whether some of a program's arrays are of single precision."""
    operands = [a for eqn in equations for a in (*eqn.inputs, *eqn.outputs)]
    return any([getattr(a, "dtype", None) in NARROW for a in operands])


def is_dynamic(x: Array, narrow: bool) -> bool:
    """Whether a leaf may change from call to call without another program.

    A Python float beside arrays of single precision is static: NumPy would compute in single
    precision with it, and in double precision with an array of one.

    Raises
    ------
    UnsupportedError
        For matrices and masked arrays, which calculate by other rules, and for generators of
        random numbers.
    DTypeError
        For arrays of objects.
    """
    if isinstance(x, Tracer):
        return True
    if isinstance(x, np.ndarray):
        if isinstance(x, OTHER_ARITHMETIC):
            refuse_arithmetic(x, "jit: an argument")
        if x.dtype.hasobject:
            raise DTypeError(
                f"jit: an array among the arguments must hold numbers, strings or dates, got dtype "
                f"{x.dtype}"
            )
        return x.dtype.kind in "biufc"
    if isinstance(x, np.generic):
        return x.dtype.kind in "fc"
    if type(x) in (float, complex):
        return not narrow  # one of a subclass is an object with methods of its own
    refuse_generator(x)
    return False


def native(x: Array) -> Any:
    """An array in the byte order of the machine, and NumPy's own dtype of that name."""
    dtype = np.dtype(x.dtype.newbyteorder("=").str)
    return x if x.dtype is dtype else x.astype(dtype)


def as_recorded(x: Array) -> Any:
    """What a program is recorded on: an array or NumPy's number as `native`, else NumPy's number.

    ``s += 1`` changes a 0-d array, and gives another number: a number is no 0-d array here.
    """
    if isinstance(x, (np.ndarray, np.generic)):
        return native(x)
    return np.dtype(type(x)).type(x)


def _type_of(x: Array) -> tuple[Any, Any]:
    """Dtype and shape; of a number, which is not an array without axes, its dtype alone."""
    if type(x) is not np.ndarray and is_number(x):
        return getattr(x, "dtype", None) or np.dtype(type(x)), None
    return x.dtype, x.shape


class StaticArguments:
    """Which arguments of a function are static by request.

    An argument is meant whether it comes by position or by keyword, where the function's
    signature says what its positions are called.

    Parameters
    ----------
    f : callable
    argnums : int or sequence of int
    argnames : str or sequence of str

    Raises
    ------
    OptionError
        If the function has no such argument.
    """

    def __init__(
        self, f: Callable[..., Any], argnums: int | Sequence[int], argnames: str | Sequence[str]
    ) -> None:
        self.argnums = (argnums,) if isinstance(argnums, int) else tuple(argnums)
        self.argnames = (argnames,) if isinstance(argnames, str) else tuple(argnames)
        self._numbers, self._names = set(self.argnums), set(self.argnames)
        if not (self.argnums or self.argnames):
            return
        try:
            known = list(inspect.signature(f).parameters.values())
        except (TypeError, ValueError):  # a function of C may not tell
            return
        kinds = {p.kind for p in known}
        placed = [p.name for p in known if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        named = {p.name for p in known if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
        count = len(placed)
        if inspect.Parameter.VAR_KEYWORD not in kinds:
            for name in sorted(self._names - named):
                raise OptionError(
                    f"jit: static_argnames has {name!r}; {name_of(f)} takes by keyword: "
                    f"{sorted(named)}"
                )
        if inspect.Parameter.VAR_POSITIONAL not in kinds:
            for k in self.argnums:
                if not -count <= k < count:
                    raise OptionError(
                        f"jit: static_argnums has {k!r}; {name_of(f)} takes {count} arguments by "
                        f"position: {placed}"
                    )
            self._numbers = {k % count for k in self._numbers}
        self._names |= {placed[k] for k in self._numbers if 0 <= k < count}
        self._numbers |= {k for k, name in enumerate(placed) if name in self._names}

    def flatten(
        self, args: tuple[Any, ...], kwargs: Any
    ) -> tuple[list[Any], Any, set[int], tuple[Any, ...]]:
        """Leaves and structure of a call, which leaves are static by request, orders of keys."""
        if not self._names and not self._numbers:
            leaves, structure = tree.flatten((args, kwargs))
            return leaves, structure, set(), tree.key_orders((args, kwargs))
        numbers = {k % len(args) for k in self._numbers if -len(args) <= k < len(args)}
        wrapped = tuple([_Fixed(a) if k in numbers else a for k, a in enumerate(args)])
        named = {k: _Fixed(v) if k in self._names else v for k, v in kwargs.items()}
        leaves, structure = tree.flatten((wrapped, named))
        fixed = {k for k, x in enumerate(leaves) if type(x) is _Fixed}
        leaves = [x.value if type(x) is _Fixed else x for x in leaves]
        return leaves, structure, fixed, tree.key_orders((wrapped, named))


class _Fixed:
    """A static argument on its way through containers, which it hides from."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value
