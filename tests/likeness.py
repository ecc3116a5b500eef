"""What a call leaves behind, told in full: numbers or arrays, and which arrays changed.

`observed` runs a call on operands and then does to each result what tells a number from an array
and a view from a copy: ``t = s; s *= 2``, and ``r[...] = 9``. What comes back is compared between
plain NumPy and linad, so `CALLS` needs no expected values.
"""

import itertools
import warnings

import numpy as np

from linad.buffers import concrete
from linad.coverage import numpy_functions, numpy_ufuncs
from linad.dispatch import FUNCTIONS, UFUNC_METHODS, UFUNCS
from linad.errors import LinadError
from linad.primitive import Traced
from linad.specimens import CALLS as SPECIMENS

# Operands. A number and an array without axes are not the same.

POINTS = {
    "number": np.float64(0.75),
    "()": np.array(0.625),
    "(3)": np.array([0.5, 0.25, 0.875]),
    "(1)": np.array([0.375]),
    "(0)": np.zeros(0),
    "(2,3)": np.array([[0.62, 0.17, 0.29], [0.11, 0.73, 0.38]]),
    "(2,2)": np.array([[0.62, 0.17], [0.11, 0.73]]),
    "(1,1)": np.array([[0.375]]),
    "(2,0)": np.zeros((2, 0)),
}


def operand(name):
    """A fresh operand; "T" at the end means that it lies in memory transposed."""
    turned = name.endswith("T")
    value = POINTS[name.removesuffix("T")]
    if not isinstance(value, np.ndarray):
        return value
    return np.array(value.T).T if turned else value.copy()


# What is observed.


class Refused(Exception):
    """linad does not trace the call, and says so."""


def leaves(result):
    if isinstance(result, (tuple, list)):
        for part in result:
            yield from leaves(part)
    elif isinstance(result, dict):
        for part in result.values():
            yield from leaves(part)
    else:
        yield result


def kind(leaf):
    """A number or an array, or what else it is."""
    value = concrete(leaf)
    if isinstance(value, np.ndarray):
        return "array"
    return "number" if isinstance(value, (np.generic, int, float, complex)) else type(leaf).__name__


def sharing(leaf, operands):
    """Which operands a result shares memory with."""
    return tuple([k for k, x in enumerate(operands) if _share(leaf, x)])


def _share(a, b):
    a, b = concrete(a), concrete(b)
    return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.shares_memory(a, b)


def doubled(result, k):
    s = list(leaves(result))[k]
    t = s
    s *= 2
    return t, s


def filled(result, k):
    r = list(leaves(result))[k]
    if kind(r) != "array":
        raise TypeError("an array is needed")
    r[...] = 9
    return r, r


CHANGES = {"": None, "t = s; s *= 2": doubled, "r[...] = 9": filled}


def attempted(run, change, k, operands):
    """A call, then a change of its k-th result: all results, and the operands afterwards."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        result = run(*operands)
        told = ()
        if change is not None:
            try:
                told = change(result, k)
            except (TypeError, ValueError) as error:
                if isinstance(error, LinadError):
                    raise
                told = (type(error).__name__,)
        return list(leaves(result)), told, operands


def plain(value):
    """A leaf as text that tells its kind and its entries."""
    found = concrete(value)
    if isinstance(found, (np.ndarray, np.generic, int, float, complex)):
        entries = np.round(np.asarray(found, complex), 9) + 0.0
        return f"{kind(value)}{list(np.shape(found))} {entries.tolist()}"
    return str(value)


def described(outcome):
    """What `attempted` gave, as text."""
    results, told, operands = outcome
    return [[plain(x) for x in part] for part in (results, told, operands)]


# The calls.

FUNCTION_NAMES = {f: n for n, f in {**numpy_functions(), **numpy_ufuncs()}.items()}


def name_of(function):
    return FUNCTION_NAMES.get(function) or getattr(function, "__qualname__", str(function))


UNARY = [(n,) for n in (*POINTS, "(2,3)T")]
BINARY = [
    *[(n, n) for n in POINTS],
    *[("number", "()"), ("()", "number"), ("(3)", "number"), ("number", "(3)"), ("()", "(3)")],
    *[("(2,2)", "(2,2)T"), ("(3)", "()"), ("(2,3)", "(3)")],
]
TERNARY = [(n, n, n) for n in ("number", "()", "(3)", "(0)", "(2,2)")]
