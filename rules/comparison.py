"""Comparisons, logic, rounding, tests and bits: functions whose derivative is zero.

Each is constant between its jumps. Boolean and integer results leave the trace as plain
arrays; rounded floats stay traced, without derivative.
"""

import inspect
import sys
from typing import Any

import numpy as np

from linad.core.adopted import WATCHERS, is_adopted
from linad.core.array_type import Array
from linad.core.callers import ENGINES, package_of, warn_user
from linad.core.dispatch import implements
from linad.core.installed import is_installed, line_of
from linad.core.primitive import Primitive, Traced
from linad.core.ufunc_keywords import refuse_out
from linad.errors import DisconnectedWarning
from linad.rules.elementwise import constant

# Order and equality.

equal = constant("equal", np.equal)
not_equal = constant("not_equal", np.not_equal)
less = constant("less", np.less)
less_equal = constant("less_equal", np.less_equal)
greater = constant("greater", np.greater)
greater_equal = constant("greater_equal", np.greater_equal)

for _order in (equal, not_equal, less, less_equal, greater, greater_equal):
    _order.decides = True

# Logic and bits; NumPy refuses floats where it has no meaning for them.

for _ufunc in (
    np.logical_and,
    np.logical_or,
    np.logical_xor,
    np.logical_not,
    np.bitwise_and,
    np.bitwise_or,
    np.bitwise_xor,
    np.invert,
    np.left_shift,
    np.right_shift,
    np.bitwise_count,
    np.gcd,
    np.lcm,
):
    constant(_ufunc.__name__, _ufunc)

# Tests of a number.

isfinite = constant("isfinite", np.isfinite)
isinf = constant("isinf", np.isinf)
isnan = constant("isnan", np.isnan)
isnat = constant("isnat", np.isnat)
signbit = constant("signbit", np.signbit)
signbit.decides = True

# Rounding.

floor = constant("floor", np.floor)
ceil = constant("ceil", np.ceil)
rint = constant("rint", np.rint)
round_ = Primitive("round", lambda x, *, decimals: np.round(x, decimals), constant=True)
fix_ = Primitive("fix", lambda x: np.trunc(x), constant=True)


@implements(np.round, np.around)
def round(a: Array, decimals: int = 0, out: Any = None) -> Any:
    if out is not None:
        refuse_out("round", (out,))
    if WATCHERS and decimals > 0 and isinstance(a, Traced):
        _warn_of_digits(a, decimals)
    return round_(a, decimals=decimals)


def _warn_of_digits(a: Any, decimals: int) -> None:
    """Say where a package that is adopted rounds to decimals: its caller may not know."""
    frame = sys._getframe(2)
    while package_of(frame) in ENGINES and frame.f_back is not None:
        frame = frame.f_back
    file = frame.f_code.co_filename
    if not is_adopted(frame) or not is_installed(file) or a._trace.is_constant(a):
        return
    warn_user(
        f"{line_of(file, frame.f_lineno)} rounds a traced value to {decimals} decimals, whose "
        f"derivative is 0 everywhere: what depends on arguments through it alone has derivative 0",
        DisconnectedWarning,
    )


@implements(np.fix)
def fix(x: Array, out: Any = None) -> Any:
    if out is not None:
        refuse_out("fix", (out,))
    return fix_(x)


# NumPy functions that answer yes or no. One answer for all entries is a Python bool.


_OPTIONS = ("equal_nan", "out")
"""What is no operand of these; tolerances are, where one is traced."""


def _test(function: Any, single: bool = False) -> None:
    def impl(*arrays: Any, **keywords: Any) -> Any:
        return np.asarray(function(*arrays, **keywords))[()]

    primitive = Primitive(function.__name__, impl, constant=True)
    signature = inspect.signature(function)

    def test(*arrays: Any, **keywords: Any) -> Any:
        if keywords.get("out") is not None:
            refuse_out(function.__name__, (keywords["out"],))
        if any([isinstance(value, Traced) for value in keywords.values()]):
            given = signature.bind(*arrays, **keywords)
            given.apply_defaults()
            arrays = tuple([v for k, v in given.arguments.items() if k not in _OPTIONS])
            keywords = {k: v for k, v in keywords.items() if k in _OPTIONS}
        answer = primitive(*arrays, **keywords)
        return bool(answer) if single else answer

    test.__name__ = function.__name__
    implements(function)(test)


for _each in (np.isreal, np.iscomplex, np.isposinf, np.isneginf, np.isclose):
    _test(_each)
for _single in (np.allclose, np.array_equal, np.array_equiv):
    _test(_single, single=True)


@implements(np.iscomplexobj)
def iscomplexobj(x: Array) -> bool:
    return bool(x.dtype.kind == "c")


@implements(np.isrealobj)
def isrealobj(x: Array) -> bool:
    return bool(x.dtype.kind != "c")


constant("_ones_like", np._core.umath._ones_like)  # type: ignore[attr-defined]
