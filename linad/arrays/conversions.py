"""Forms of built-in functions and of `math`, where adopted code calls them with traced values.

Every form asks the original first: its errors, and the types of what it gives, are the original's.
"""

import builtins
import cmath
import functools
import math
import types
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import numpy as np
import scipy.special

from linad.arrays.buffers import concrete
from linad.arrays.memory import whole
from linad.arrays.number_texts import NumberText
from linad.arrays.tracer import Tracer
from linad.arrays.traces import running_trace
from linad.core.array_type import Array
from linad.core.tree import bare

Function = Callable[..., Any]


def sample(x: Array) -> Any:
    """The plain value under a traced one, to ask for its type."""
    while type(x) is Tracer:
        x = x._value
    return x


def decided(x: Array) -> Any:
    """The plain value under traced ones, to decide on: a recorded program is guarded by it."""
    if type(x) is Tracer:
        return x.decided
    if isinstance(x, (list, tuple)):
        return [decided(part) for part in x]
    return x


def held(values: Any) -> bool:
    """Whether a traced value is among some values, or in a list among them."""
    for x in values:
        if type(x) is Tracer:
            return True
        if isinstance(x, (list, tuple)) and held(x):
            return True
    return False


def listed(x: Array) -> Any:
    """What can be read once as a list, which can be read again; others stay."""
    return list(x) if hasattr(x, "__next__") else x


def concrete_parts(x: Array) -> Any:
    """A traced array, or those in lists and tuples, as plain ones, to ask for errors."""
    if isinstance(x, (list, tuple)):
        return [concrete_parts(part) for part in x]
    return x.concrete if type(x) is Tracer else x


def number(x: Array) -> Any:
    """A traced array of one entry as a number; others, and what is plain, stay."""
    if type(x) is not Tracer or x.size != 1:
        return x
    return x[()] if not x.ndim else x.reshape(())[()]


# Built-in functions.


def to_float(x: Any = 0.0, /) -> Any:
    """As ``float``; a traced number stays traced."""
    x = bare(x)
    if type(x) is NumberText:
        return x.read()
    made = _own_number(x, "__float__")
    if type(made) is builtins.float:
        return made
    x = made if type(made) is Tracer else x
    if type(x) is not Tracer or x.dtype.kind not in "fc":
        return builtins.float(x)
    builtins.float(sample(x))  # raises for several entries, warns for a complex number
    s = number(x)
    if s.dtype.kind == "c":
        s = s.real
    return s if s.dtype == np.float64 else s.astype(np.float64)[()]


def _own_number(x: Any, name: str) -> Any:
    """What a class of a package's gives as its number; None for all else.

    ``float`` and ``complex`` themselves take no traced answer.
    """
    own = getattr(type(x), name, None)
    return own(x) if type(own) is types.FunctionType and type(x) is not Tracer else None


def to_complex(*args: Any, **kwargs: Any) -> Any:
    """As ``complex``; a traced number stays traced."""
    args = tuple(map(bare, args))
    made = _own_number(args[0], "__complex__") if len(args) == 1 else None
    if type(made) is builtins.complex:
        return made
    args = (made,) if type(made) is Tracer else args
    if kwargs or not held(args):
        return builtins.complex(*args, **kwargs)
    z = number(args[0]) * (1 + 0j)
    return z + 1j * number(args[1]) if len(args) > 1 else z


def to_int(*args: Any, **kwargs: Any) -> Any:
    """As ``int``, which is constant between its steps, as ``np.floor`` is."""
    args = tuple(map(bare, args))
    if args and type(args[0]) is Tracer:
        return builtins.int(whole(args[0]), *args[1:], **kwargs)
    return builtins.int(*args, **kwargs)


def is_instance(x: Any, kind: Any, /) -> bool:
    """As ``isinstance``, for the plain value, or for the SciPy object that one stands for."""
    if type(x) is not Tracer:
        if builtins.isinstance(x, kind):
            return True
        stands = builtins.hasattr(type(x), "stands_for")
        return stands and builtins.issubclass(x.stands_for, kind)
    return builtins.isinstance(sample(x), kind) or _is_own(kind)


def _is_own(kind: Any) -> bool:
    """Whether a class, or one of several, is that of traced values: others ask what it can do."""
    return any(map(_is_own, kind)) if type(kind) is tuple else kind in Tracer.__mro__


def has_attribute(x: Any, name: str, /) -> bool:
    """As ``hasattr``, for the plain value: a number has no length."""
    return builtins.hasattr(sample(x) if type(x) is Tracer else x, name)


def attribute(x: Any, name: str, /, *default: Any) -> Any:
    """As ``getattr``, for what the plain value has."""
    if type(x) is not Tracer:
        return builtins.getattr(x, name, *default)
    if default and not builtins.hasattr(sample(x), name):
        return default[0]
    return builtins.getattr(x, name)


def type_of(*args: Any, **kwargs: Any) -> Any:
    """As ``type``, for the plain value."""
    if len(args) == 1 and type(args[0]) is Tracer:
        return type(sample(args[0]))
    if len(args) == 1 and getattr(type(args[0]), "holds_array", False):
        return type(args[0]).original  # the class that it was made from
    return builtins.type(*args, **kwargs)


BUILTINS: dict[Any, Function] = {
    builtins.float: to_float,
    builtins.complex: to_complex,
    builtins.int: to_int,
    builtins.isinstance: is_instance,
    builtins.getattr: attribute,
    builtins.hasattr: has_attribute,
    builtins.type: type_of,
}


# math and cmath.

of_entries: ContextVar[bool] = ContextVar("linad_of_entries", default=False)
"""Whether functions of `math` take arrays entry by entry, where one is tried for a number."""


def _entry_by_entry(traced: Function, args: tuple[Any, ...]) -> Any:
    """A function of NumPy in the place of one of `math`; NotImplemented where none is to be.

    What is not finite may be what `math` raises at: then it is to be asked for numbers.
    """
    if not (isinstance(traced, np.ufunc) or traced is _log):
        return NotImplemented
    if not any([getattr(a, "ndim", 0) for a in args]):
        return NotImplemented
    found = traced(*args)
    if not np.all(np.isfinite(concrete(found))):
        raise ValueError("math: not finite in some entries")
    return found


def traced_math(original: Function, traced: Function) -> Function:
    """A function of `math`, and what computes it of traced numbers."""
    if _is_unary(original):
        return _of_one_number(original, traced)

    @functools.wraps(original)
    def function(*args: Any, **kwargs: Any) -> Any:
        args = tuple([bare(listed(a)) for a in args])
        if of_entries.get() and (found := _entry_by_entry(traced, args)) is not NotImplemented:
            return found
        if not held(args) or running_trace() is None:
            return original(*args, **kwargs)
        with np.errstate(all="ignore"):
            original(*[concrete_parts(a) for a in args], **kwargs)  # for its errors
            return traced(*[number(a) for a in args], **kwargs)

    return function


def _is_unary(original: Function) -> bool:
    # "($module, x, /)", as C code says it: `inspect` takes a hundred times as long to read that.
    said = getattr(original, "__text_signature__", None) or ""
    return said.endswith(", /)") and said.count(",") == 2


def _of_one_number(original: Function, traced: Function) -> Function:
    """As `traced_math`, without what several arguments cost: plain loops may call it."""

    @functools.wraps(original)
    def function(x: Array, /) -> Any:
        if type(x) is float:
            return original(x)
        x = bare(listed(x))
        if of_entries.get() and (found := _entry_by_entry(traced, (x,))) is not NotImplemented:
            return found
        if not held((x,)):
            return original(x)
        with np.errstate(all="ignore"):
            original(concrete_parts(x))  # for its errors
            return traced(number(x))

    return function


def decision(original: Function) -> Function:
    """A function of `math` that is constant between its steps."""

    @functools.wraps(original)
    def function(*args: Any, **kwargs: Any) -> Any:
        args = tuple(map(bare, args))
        if not held(args) or running_trace() is None:
            return original(*args, **kwargs)
        return original(*map(decided, args), **kwargs)

    return function


def _log(x: Array, base: Array | None = None) -> Any:
    return np.log(x) if base is None else np.log(x) / np.log(base)


def _frexp(x: Array) -> Any:
    exponent = math.frexp(decided(x))[1]
    return x * 2.0**-exponent, exponent


def _total(numbers: Any, start: Any = 0.0) -> Any:
    return functools.reduce(lambda a, b: a + b, numbers, start)


def _product(numbers: Any, *, start: Any = 1.0) -> Any:
    return functools.reduce(lambda a, b: a * b, numbers, start)


def _hypot(*numbers: Any) -> Any:
    return np.linalg.norm(np.stack(numbers))


def _distance(p: Any, q: Any) -> Any:
    return _hypot(*[a - b for a, b in zip(p, q, strict=True)])


def _angle(z: Array) -> Any:
    return np.arctan2(np.imag(z), np.real(z))


_SAME = "sin cos tan sinh cosh tanh exp exp2 expm1 log1p log2 log10 sqrt cbrt degrees radians"
_OTHER = {
    "fabs": "abs",
    "pow": "power",
    "atan2": "arctan2",
    **{f"a{name}": f"arc{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{name: name for name in (*_SAME.split(), "copysign", "fmod")},
}
_TRACED: dict[str, Function] = {
    **{name: getattr(np, other) for name, other in _OTHER.items()},
    "log": _log,
    "erf": scipy.special.erf,
    "erfc": scipy.special.erfc,
    "gamma": scipy.special.gamma,
    "lgamma": scipy.special.gammaln,
    "hypot": _hypot,
    "dist": _distance,
    "fsum": _total,
    "prod": _product,
    "sumprod": lambda p, q: _total([a * b for a, b in zip(p, q, strict=True)]),
    "fma": lambda x, y, z: x * y + z,
    "frexp": _frexp,
    "ldexp": lambda x, i: x * 2.0 ** decided(i),
    "modf": lambda x: (x - np.trunc(x), np.trunc(x)),
    "remainder": lambda x, y: x - y * np.round(x / y),
}
_DECIDED = "floor ceil trunc isnan isinf isfinite isclose"
_OF_COMPLEX = "exp sqrt sin cos tan sinh cosh tanh acos asin atan acosh asinh atanh log10"
_TRACED_COMPLEX: dict[str, Function] = {
    "log": lambda z, base=None: _log(z * (1 + 0j), base),
    "phase": _angle,
    "polar": lambda z: (np.abs(z), _angle(z)),
    "rect": lambda r, angle: r * np.exp(1j * angle),
}


def _of_complex(name: str) -> Function:
    function = getattr(np, _OTHER[name])
    return lambda z: function(z * (1 + 0j))


def _forms(module: Any, traced: dict[str, Function], decided: str) -> dict[str, Function]:
    forms = {n: traced_math(getattr(module, n), f) for n, f in traced.items() if hasattr(module, n)}
    return forms | {n: decision(getattr(module, n)) for n in decided.split()}


MATH = _forms(math, _TRACED, _DECIDED)
CMATH = _forms(
    cmath,
    _TRACED_COMPLEX | {name: _of_complex(name) for name in _OF_COMPLEX.split()},
    "isnan isinf isfinite isclose",
)
