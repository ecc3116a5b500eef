"""What a call leaves behind, told in full: numbers or arrays, and which arrays changed.

`attempted` makes a call and then does to one of its results what tells a number from an array and
a view from a copy: ``t = s; s *= 2``, or ``r[...] = 9``. All results and operands are compared
between plain NumPy and linad afterwards, so the calls need no expected values: every function
that linad registers, every method of an array, every kind of index.
"""

import functools
import operator
import warnings

import numpy as np
from released import OLD_NUMPY

from linad.arrays.buffers import concrete
from linad.core.dispatch import FUNCTIONS, UFUNC_METHODS, UFUNCS
from linad.errors import LinadError

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


def _of_dtype(value, dtype):
    """The value in another dtype, its entries as different as they were."""
    if dtype is float:
        return value
    if dtype is bool:
        return value > 0.5
    if dtype is complex:
        return value + (0.5 - value) * 1j
    return (value * 16).astype(dtype) if dtype is int else value.astype(dtype)


def operand(name, dtype=float):
    """A fresh operand; "T" at the end means that it lies in memory transposed."""
    turned = name.endswith("T")
    value = _of_dtype(POINTS[name.removesuffix("T")], dtype)
    if not isinstance(value, np.ndarray):
        return value
    return np.array(value.T).T if turned else np.array(value)


# What is observed.


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
    result = run(*operands)
    told = ()
    if change is not None:
        try:
            told = change(result, k)
        except (TypeError, ValueError) as error:
            if isinstance(error, LinadError):
                raise
            told = ("TypeError" if isinstance(error, TypeError) else "ValueError",)
    return list(leaves(result)), told, operands


def _rounded(entry, digits):
    if type(entry) is float:
        return round(entry, digits) + 0.0 if entry == entry else "nan"
    return f"{entry + 0:.{digits}g}" if type(entry) is complex else entry


def plain(value):
    """A leaf in a form that compares: its kind, dtype and shape, its entries but for rounding."""
    found = concrete(value)
    if isinstance(found, (np.ndarray, np.generic, int, float, complex)):
        entries = np.asarray(found)
        digits = 5 if entries.dtype in (np.float32, np.complex64) else 9
        told = [_rounded(e, digits) for e in entries.ravel().tolist()]
        return kind(found), entries.dtype.name, np.shape(found), told
    return str(value)


def described(outcome):
    """What `attempted` gave, in a form that compares."""
    results, told, operands = outcome
    return [[plain(x) for x in part] for part in (results, told, operands)]


# The calls: a name, the operands, and what is done with them.

UNARY = [(n,) for n in (*POINTS, "(2,3)T")]
BINARY = [
    *[(n, n) for n in POINTS],
    *[("number", "()"), ("()", "number"), ("(3)", "number"), ("number", "(3)"), ("()", "(3)")],
    *[("(2,2)", "(2,2)T"), ("(3)", "()"), ("(2,3)", "(3)")],
]
TERNARY = [(n, n, n) for n in ("number", "()", "(3)", "(0)", "(2,2)")]
KEYWORDS = [
    *[{"axis": axis} for axis in (None, 0, -1, ())],
    *[{"keepdims": True}, {"axis": 0, "keepdims": True}, {"copy": False}, {"order": "F"}],
]

# What depends on anything but its arguments, or shows what a write must not change: where NumPy
# lets such a view be written for now, or refuses to write what has no entries, linad differs.
LEFT_OUT = {
    *("empty", "empty_like", "frombuffer", "fromfile", "save", "savez", "savez_compressed"),
    *("savetxt", "broadcast_arrays", "meshgrid", "sliding_window_view", "diagonal", "diag"),
    *("tofile", "dump", "dumps", "tobytes", "data", "ctypes", "setflags", "resize", "base"),
    *("flags", "flat", "itemset"),
}
PASSED_ON = {
    (np.dot, 3),  # ``out=`` comes back: as a number from NumPy, as the array from linad
    (np.array_repr, 2),  # a width of the line that is an array: NumPy takes its own margin off it
    (np.array_repr, 3),
    (np.polydiv, 2),  # of a polynomial by itself the rest is zeros: linad keeps them, for they move
}


def functions():
    """What NumPy's protocols find, by name."""
    found = {f"np.{f.__name__}": f for f in FUNCTIONS if isinstance(f, type(np.sum))}
    found |= {f"np.{u.__name__}": u for u in UFUNCS if getattr(np, u.__name__, None) is u}
    for ufunc, method in UFUNC_METHODS:
        if getattr(np, ufunc.__name__, None) is ufunc and method != "at":
            found[f"np.{ufunc.__name__}.{method}"] = getattr(ufunc, method)
    return {n: f for n, f in sorted(found.items()) if f.__name__ not in LEFT_OUT}


def calls_of_functions():
    for name, function in functions().items():
        count = function.nin if isinstance(function, np.ufunc) else None
        for names in (*UNARY, *BINARY, *TERNARY):
            if (function, len(names)) not in PASSED_ON and count in (None, len(names)):
                yield name, names, function
        if not isinstance(function, np.ufunc):
            for keywords in KEYWORDS:
                for names in UNARY:
                    yield f"{name} {keywords}", names, functools.partial(function, **keywords)


def _method(name, args, keywords):
    return lambda x: getattr(x, name)(*args, **keywords)


def calls_of_methods():
    for name in dir(np.ndarray):
        if name.startswith("_") or name in LEFT_OUT or not hasattr(np.zeros((2, 2)), name):
            continue
        for names in UNARY:
            if not callable(getattr(np.zeros((2, 2)), name)):
                yield name, names, operator.attrgetter(name)
                continue
            for args in ((), (0,), (-1,), (1,), (float,), ("F",), (0, 0), ([0],)):
                yield f"{name}{args}", names, _method(name, args, {})
            for keywords in KEYWORDS:
                yield f"{name}{keywords}", names, _method(name, (), keywords)


K = np.int64
ZERO = np.array(0)
ALL = slice(None)
INDICES = [
    *(0, -1, K(0), np.int32(0), np.uint8(0), ZERO, True, False, np.True_, np.False_),
    *(np.array(True), np.array(False), (), ..., None, ALL, slice(None, None, 2), slice(1, 1)),
    *([0], [], [True], np.array([0, 0]), np.zeros(0, int), np.array([[0]])),
    *(np.array([True, False, True]), np.zeros(3, bool), np.zeros(0, bool)),
    np.array([[True, False, True], [False, False, False]]),
    *((0, 1), (K(0), 1), (0, K(1)), (K(0), K(1)), (ZERO, 0), (ZERO, np.array(1)), (ZERO, ALL)),
    *((ALL, ZERO), (0, ALL), (K(1), ALL), (ALL, K(0)), (0, ...), (K(0), ...), (ZERO, ...)),
    *((..., 0), (..., K(0)), (0, 0, ...), (K(0), K(1), ...), (ZERO, ZERO, ...), (None, 0)),
    *((0, None), (K(0), None), (ZERO, None), (True, 0), (0, True), (True, ...), (False, ...)),
    *((True, True), ([0], [1]), ([0], 1), (np.array([0, 1]), K(0)), (np.array([0, 1]), ZERO)),
    *((None, None), (None, ...), (0, np.array([True, False, True])), (slice(0, 1), K(1))),
]


def _read(x, i):
    return x[i]


def _written(x, i):
    x[i] = 9.0
    return x


def _changed(x, i):
    x[i] *= 2
    return x


def _of_a_view(x, i):
    return x[1:][i]


def _of_a_result(x, i):
    y = x * 1.0
    return y, y[i]


def _of_own_storage(x, i):
    x[...] = x * 1.0
    return x, x[i], x[...][i]


def _kept_over_a_write(x, i):
    y = x[i]
    x[...] = x * 3.0
    return y


def _flat(x, i):
    return x.flat[i]


def _flat_written(x, i):
    if i == () and OLD_NUMPY:
        raise IndexError("the process would end")
    x.flat[i] = 9.0
    return x


def _put(x, i):
    x.put(i, 9.0)
    return x


def _chosen(x, i):
    return np.choose(i, [x, x * 2])


USES = {
    f.__name__.strip("_"): f
    for f in (
        *(_read, _written, _changed, _of_a_view, _of_a_result, _of_own_storage),
        *(_kept_over_a_write, _flat, _flat_written, _put, _chosen),
    )
} | {
    "take": lambda x, i: (np.take(x, i), x.take(i)),
    "take along": lambda x, i: np.take(x, i, 0),
    "delete": lambda x, i: np.delete(x, i),
    "insert": lambda x, i: np.insert(x, i, 2.0),
    "compress": lambda x, i: np.compress(i, x),
}


def _indexed(use, index):
    return lambda x: use(x, index)


def calls_of_indices():
    for word, use in USES.items():
        for index in INDICES:
            for names in UNARY:
                yield f"{word} {index!r}", names, _indexed(use, index)


# What cannot be done is not compared: linad may refuse more than NumPy, never less in silence.
ERRORS = (LinadError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError)


def differences(calls, run, dtype=float):
    """What differs between NumPy and ``run(function, change, k, operands)``, one line each."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield from _differences(calls, run, dtype)


def _differences(calls, run, dtype):
    for name, names, function in calls:
        try:
            first = attempted(function, None, 0, [operand(n, dtype) for n in names])[0]
        except Exception:
            continue  # not a call
        for label, change in CHANGES.items():
            for k in range(len(first) if change else 1):
                wanted = described(
                    attempted(function, change, k, [operand(n, dtype) for n in names])
                )
                try:
                    found = run(function, change, k, [operand(n, dtype) for n in names])
                except ERRORS:
                    continue
                for part in found:
                    if part != wanted:
                        yield f"{name} of {names}, {label}: {part}, in NumPy {wanted}"
                        break
