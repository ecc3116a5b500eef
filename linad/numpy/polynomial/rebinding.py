"""NumPy's functions of polynomials, run with `linad.numpy` in the place of NumPy.

numpy.polynomial is Python code over ``np.array``, ``np.empty`` and arithmetic, and NumPy
dispatches next to nothing of it. A function here is NumPy's own code whose global names ``np``
and ``pu`` (its helpers) are traced ones: nothing is written twice, and the traced value is NumPy's
to the last step. It takes over when an argument is traced; for plain arguments NumPy's own
function is called.

A last coefficient that is traced stays where it is 0, which NumPy drops: it has a derivative. So
the degree of a polynomial is a matter of what it is made of, and not of the values; but for roots
and divisors, which have no derivative there.

Conversions between bases are linear, y = c @ M. They are computed that way: the rows of M are
NumPy's conversions of the unit vectors.
"""

import re
from collections.abc import Callable
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np
from numpy.polynomial import polyutils

import linad.numpy as traced_numpy
from linad.core.array_type import Array
from linad.core.primitive import Traced
from linad.scipy.mirror import traced_form
from linad.scipy.twins import same_code

_CONVERSION = re.compile(r"poly2[a-z]+|[a-z]+2poly")
_LED = re.compile(r"(?!_|.*from).*(roots|companion|div)")  # what divides by a last coefficient
_PLAIN = re.compile(r".*gauss|chebpts[12]|format_float")  # take an integer, or give text


def rebound_names(module: ModuleType) -> dict[str, Any]:
    """The names of a module, of which those that compute are traced."""
    names = {**vars(module), "np": traced_numpy}
    if module is not polyutils:
        names["pu"] = HELPERS
    for name, value in vars(module).items():
        if not _is_python(value):
            continue
        if value.__module__ != module.__name__:  # polytrim and its kind are polyutils.trimcoef
            names[name] = getattr(HELPERS, value.__name__)
        else:
            converts = _CONVERSION.fullmatch(name)
            names[name] = _converted(value) if converts else same_code(value, names)
            if _LED.fullmatch(name):
                names[name] = _led(names[name])
    if module is polyutils:
        names |= {"trimseq": _trimmed, "_add": _sum, "_sub": _difference}
        # It makes complex corners of real ones.
        names["getdomain"] = same_code(module.getdomain, {**names, "complex": _complex})
    return names


def _trimmed(seq: Any) -> Any:
    """As `numpy.polynomial.polyutils.trimseq`, of coefficients that do not move."""
    return seq if isinstance(seq, Traced) else polyutils.trimseq(seq)


def _led(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function without the zeros at the end of its last series, as NumPy drops them."""

    def led(*series: Array) -> Any:
        *others, c = HELPERS.as_series(series)
        if isinstance(c, Traced):  # NumPy's function writes into what is divided
            others = [np.array(a, like=c) for a in others]
        return f(*others, polyutils.trimseq(c))

    return led


def _sum(c1: Array, c2: Array) -> Any:
    """The sum of two series; NumPy's writes into the longer one, which may be plain."""
    a, b = HELPERS.as_series([c1, c2])
    n = max(len(a), len(b))
    return _trimmed(_of_length(a, n) + _of_length(b, n))


def _difference(c1: Array, c2: Array) -> Any:
    a, b = HELPERS.as_series([c1, c2])
    return _sum(a, -b)


def _of_length(c: Array, n: int) -> Any:
    """A series with zeros up to a length."""
    return np.concatenate([c, np.zeros(n - len(c), c.dtype)]) if len(c) < n else c


def _complex(real: Array, imaginary: Array) -> Any:
    """As Python's ``complex``, in double precision as well."""
    return (real + 1j * imaginary).astype(complex)


def _is_python(value: Any) -> bool:
    """Whether it is a function of numpy.polynomial that is written in Python."""
    return type(value) is FunctionType and value.__module__.startswith("numpy.polynomial.")


def traced_functions(module: ModuleType) -> dict[str, Callable[..., Any]]:
    """The public functions of a module, each with its traced form."""
    rebound = rebound_names(module)
    return {
        name: traced_form(value)(rebound[name])
        for name, value in vars(module).items()
        if _is_python(value) and not name.startswith("_") and not _PLAIN.fullmatch(name)
    }


def _converted(conversion: FunctionType) -> Callable[..., Any]:
    """The traced form of a conversion between bases."""

    def convert(c: Array) -> Any:
        [c] = HELPERS.as_series([c])
        wanted = conversion(np.ones(1, c.dtype)).dtype  # from powers it is never single
        rows = np.zeros((len(c), len(c)), np.finfo(wanted).dtype)
        for k, unit in enumerate(np.eye(len(c), dtype=rows.dtype)):
            image = conversion(unit)
            rows[k, : len(image)] = image
        return c.astype(wanted) @ rows

    return convert


HELPERS = SimpleNamespace(**rebound_names(polyutils))
