"""One call of each function that linad may meet, for `survey.table` to try.

A call takes the function and a 3 x 3 matrix ``a``, traced or not, and makes from it what the
function wants. ``CALLS`` lists those that need more than the matrix, a row, or two of either;
SciPy's are in `survey.scipy_calls`, those of numpy.polynomial in
`survey.polynomial_calls`.
"""

import contextlib
import inspect
import io
import itertools
import operator
import os
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Call = Callable[[Any, Any], Any]
Arguments = list[tuple[str, Any]]

MATRIX = np.array([[0.62, 0.17, 0.29], [0.11, 0.73, 0.38], [0.23, 0.41, 0.84]])
"""The point: well conditioned, no two entries alike, inside of most functions' domains."""

DIRECTION = np.array([[0.31, -0.74, 0.52], [0.93, 0.27, -0.48], [-0.66, 0.85, 0.19]])
"""Where the point moves."""

INDICES = np.array([2, 0, 1])
ROW = object()  # stands for a traced row
MASK = np.array([True, False, True])


def positive(a: Any) -> Any:
    """A symmetric positive definite matrix made from ``a``."""
    return a @ a.T + np.eye(3, dtype=a.dtype)


def _writes(*others: Any) -> Call:
    """A call that writes a traced row into a traced array, and gives that array."""

    def call(f: Any, a: Any) -> Any:
        target = 1 * a[0]
        f(target, *[a[1] if other is ROW else other for other in others])
        return target

    return call


def _fills(f: Any, a: Any) -> Any:
    target = 1 * a
    f(target, a[0, 0] ** 2)
    return target


def _uninitialised(f: Any, a: Any) -> Any:
    made = f(a) if f is np.empty_like else f(3, like=a)
    made[...] = 2.0
    return made


def _like(*args: Any) -> Call:
    """A call of a constructor with ``like=``."""
    return lambda f, a: f(*args, like=a)


# An equation, a sum of squares and a fit, all of which a matrix moves.


def bracketed(f: Any, a: Any) -> Any:
    return f(lambda t: t**3 + t - a[0, 0], 0.0, 2.0)


def least(f: Any, a: Any) -> Any:
    return f(lambda x: np.sum((x - a[0]) ** 2 + x**4), np.zeros(3), disp=False)


def misfit(a: Any) -> Any:
    return lambda x: np.stack([x[0] - a[0, 0], x[1] ** 3 + x[0] - a[1, 1]])


def riccati(f: Any, a: Any) -> Any:
    return f(a, np.eye(3), a @ a.T, np.eye(3))


CALLS: dict[str, Call] = {
    **{f"scipy.optimize.{k}": bracketed for k in ("bisect", "brenth", "brentq", "ridder")},
    "scipy.optimize.toms748": bracketed,
    **{f"scipy.optimize.{name}": least for name in ("fmin", "fmin_bfgs")},
    "scipy.optimize.minimize": lambda f, a: f(lambda x: np.sum((x - a[0]) ** 4), np.zeros(3)).x,
    "scipy.optimize.minimize_scalar": lambda f, a: f(lambda t: (t - a[0, 0]) ** 2 + t**4).x,
    "scipy.optimize.fixed_point": lambda f, a: f(lambda t: np.cos(t) * a[0, 0], 0.5),
    "scipy.optimize.newton": lambda f, a: f(lambda t: t**3 + t - a[0, 0], 0.5),
    "scipy.optimize.root_scalar": lambda f, a: f(lambda t: t**3 - a[0, 0], bracket=(0.0, 2.0)).root,
    "scipy.optimize.fsolve": lambda f, a: f(misfit(a), np.ones(2)),
    "scipy.optimize.root": lambda f, a: f(misfit(a), np.ones(2)).x,
    "scipy.optimize.least_squares": lambda f, a: f(misfit(a), np.ones(2)).x,
    "scipy.optimize.leastsq": lambda f, a: f(misfit(a), np.ones(2))[0],
    "scipy.optimize.curve_fit": lambda f, a: f(lambda t, p: np.exp(p * t), a[0], 1 + a[1])[0],
    "scipy.integrate.quad": lambda f, a: f(lambda t: np.exp(t * a[0, 0]), 0.0, 1.0)[0],
    "scipy.integrate.dblquad": lambda f, a: f(lambda s, t: s * t * a[0, 0], 0.0, 1.0, 0.0, 1.0)[0],
    "scipy.linalg.solve_continuous_are": riccati,
    "scipy.linalg.solve_discrete_are": riccati,
    "scipy.spatial.distance.jensenshannon": lambda f, a: f(a[0], a[1]),
    "scipy.spatial.transform.Rotation": lambda f, a: f(
        np.concatenate([a[0], a[1, :1]])
    ).as_matrix(),
    "scipy.spatial.distance.mahalanobis": lambda f, a: f(a[0], a[1], a @ a.T),
    "scipy.spatial.distance.seuclidean": lambda f, a: f(a[0], a[1], a[2] ** 2),
    # numpy
    "numpy.angle": lambda f, a: f(a + 1j * a.T),
    "numpy.apply_along_axis": lambda f, a: f(np.cumsum, 0, a),
    "numpy.apply_over_axes": lambda f, a: f(np.sum, a, [0]),
    "numpy.arange": lambda f, a: f(a[0, 0], 3.0, 0.5, like=a),
    "numpy.argpartition": lambda f, a: f(a, 1),
    "numpy.array": lambda f, a: f([a[0, 0], 1.0], like=a),
    "numpy.asanyarray": lambda f, a: f([a[0, 0], 1.0], like=a),
    "numpy.asarray": lambda f, a: f([a[0, 0], 1.0], like=a),
    "numpy.ascontiguousarray": lambda f, a: f([a[0, 0], 1.0], like=a),
    "numpy.asfortranarray": lambda f, a: f([a[0, 0], 1.0], like=a),
    "numpy.array_split": lambda f, a: f(a, 2),
    "numpy.astype": lambda f, a: f(a, complex),
    "numpy.bincount": lambda f, a: f(INDICES, a[0]),
    "numpy.broadcast_to": lambda f, a: f(a, (2, 3, 3)),
    "numpy.busday_count": lambda f, a: f(a[0], "2026-03-01"),
    "numpy.busday_offset": lambda f, a: f("2026-03-02", a[0]),
    "numpy.can_cast": lambda f, a: f(a, complex),
    "numpy.choose": lambda f, a: f(INDICES, [a[0], a[1], a[2]]),
    "numpy.clip": lambda f, a: f(a, 0.2, a[0]),
    "numpy.compress": lambda f, a: f(MASK, a, axis=0),
    "numpy.copyto": _writes(ROW),
    "numpy.datetime_as_string": lambda f, a: f(a[0]),
    "numpy.delete": lambda f, a: f(a, 1, axis=0),
    "numpy.digitize": lambda f, a: f(a, [0.2, 0.5]),
    "numpy.dsplit": lambda f, a: f(a[:, :, None], 1),
    "numpy.einsum": lambda f, a: f("ij,jk->ik", a, a),
    "numpy.einsum_path": lambda f, a: f("ij,jk->ik", a, a),
    "numpy.empty": _uninitialised,
    "numpy.empty_like": _uninitialised,
    "numpy.expand_dims": lambda f, a: f(a, 0),
    "numpy.extract": lambda f, a: f(MASK, a[0]),
    "numpy.eye": _like(3),
    "numpy.fill_diagonal": _fills,
    "numpy.frombuffer": lambda f, a: f(np.ones(3).tobytes(), like=a),
    "numpy.fromfile": lambda f, a: f(os.devnull, like=a),
    "numpy.fromfunction": lambda f, a: f(lambda i: i, (3,), like=a),
    "numpy.fromiter": lambda f, a: f(iter([1.0, 2.0]), float, like=a),
    "numpy.fromstring": lambda f, a: f("1 2", sep=" ", like=a),
    "numpy.full": lambda f, a: f(3, a[0, 0], like=a),
    "numpy.full_like": lambda f, a: f(a, a[0, 0]),
    "numpy.genfromtxt": lambda f, a: f(io.StringIO("1 2"), like=a),
    "numpy.geomspace": lambda f, a: f(a[0, 0], a[0, 1], 4),
    "numpy.histogram": lambda f, a: f(a[0], bins=2),
    "numpy.histogram2d": lambda f, a: f(a[0], a[1], bins=2),
    "numpy.histogramdd": lambda f, a: f(a, bins=2),
    "numpy.hsplit": lambda f, a: f(a, 3),
    "numpy.identity": _like(3),
    "numpy.imag": lambda f, a: f(a + 1j * a.T),
    "numpy.insert": lambda f, a: f(a, 1, a[0], axis=0),
    "numpy.interp": lambda f, a: f(0.3, [0.0, 0.5, 1.0], a[0]),
    "numpy.is_busday": lambda f, a: f(a[0]),
    "numpy.isin": lambda f, a: f(a, a[0]),
    "numpy.linspace": lambda f, a: f(a[0, 0], a[0, 1], 4),
    "numpy.loadtxt": lambda f, a: f(io.StringIO("1 2"), like=a),
    "numpy.logspace": lambda f, a: f(a[0, 0], a[0, 1], 4),
    "numpy.moveaxis": lambda f, a: f(a, 0, 1),
    "numpy.ones": _like(3),
    "numpy.packbits": lambda f, a: f((a > 0.4).view(np.uint8)),
    "numpy.pad": lambda f, a: f(a, 1, mode="reflect"),
    "numpy.partition": lambda f, a: f(a, 1),
    "numpy.percentile": lambda f, a: f(a, 40),
    "numpy.piecewise": lambda f, a: f(a, [a > 0.4], [np.sin, np.cos]),
    "numpy.place": _writes(MASK, ROW),
    "numpy.polydiv": lambda f, a: f(a[0], a[1, :2]),
    "numpy.polyfit": lambda f, a: f([0.0, 1.0, 2.0], a[0], 1),
    "numpy.put": _writes(INDICES, ROW),
    "numpy.put_along_axis": _writes(INDICES, ROW, 0),
    "numpy.putmask": _writes(MASK, ROW),
    "numpy.quantile": lambda f, a: f(a, 0.4),
    "numpy.nanpercentile": lambda f, a: f(a, 40),
    "numpy.nanquantile": lambda f, a: f(a, 0.4),
    "numpy.ravel_multi_index": lambda f, a: f((INDICES, np.argsort(a[1])), (3, 3)),
    "numpy.repeat": lambda f, a: f(a, 2, axis=0),
    "numpy.require": lambda f, a: f(a[0], like=a),
    "numpy.real": lambda f, a: f(a + 1j * a.T),
    "numpy.reshape": lambda f, a: f(a, 9),
    "numpy.resize": lambda f, a: f(a, (2, 6)),
    "numpy.roll": lambda f, a: f(a, 1),
    "numpy.rollaxis": lambda f, a: f(a, 1),
    "numpy.save": lambda f, a: f(io.BytesIO(), a),
    "numpy.savetxt": lambda f, a: f(io.StringIO(), a),
    "numpy.savez": lambda f, a: f(io.BytesIO(), a),
    "numpy.savez_compressed": lambda f, a: f(io.BytesIO(), a),
    "numpy.searchsorted": lambda f, a: f([0.2, 0.5], a),
    "numpy.setdiff1d": lambda f, a: f(a[0], a[1, :1]),
    "numpy.setxor1d": lambda f, a: f(a[0], a[1]),
    "numpy.select": lambda f, a: f([a > 0.4], [a**2], -a),
    "numpy.split": lambda f, a: f(a, 3),
    "numpy.swapaxes": lambda f, a: f(a, 0, 1),
    "numpy.take": lambda f, a: f(a, INDICES),
    "numpy.take_along_axis": lambda f, a: f(a[0], INDICES, 0),
    "numpy.tile": lambda f, a: f(a, 2),
    "numpy.tri": _like(3),
    "numpy.unique_values": lambda f, a: np.sort(f(a)),
    "numpy.unpackbits": lambda f, a: f((a > 0.4).view(np.uint8)),
    "numpy.unravel_index": lambda f, a: f(np.argsort(a[0]), (3, 3)),
    "numpy.vsplit": lambda f, a: f(a, 3),
    "numpy.where": lambda f, a: f(a > 0.4, a, 1 - a),
    "numpy.zeros": _like(3),
    # its modules, and SciPy's
    "numpy.lib.scimath.logn": lambda f, a: f(2, a),
    "numpy.lib.stride_tricks.sliding_window_view": lambda f, a: f(a[0], 2),
    "numpy.linalg.cholesky": lambda f, a: f(positive(a)),
    "numpy.linalg.eigh": lambda f, a: f(positive(a)),
    "numpy.linalg.eigvalsh": lambda f, a: f(positive(a)),
    "numpy.linalg.lstsq": lambda f, a: f(a, a[0]),
    "numpy.linalg.matrix_power": lambda f, a: f(a, 3),
    "numpy.linalg.multi_dot": lambda f, a: f([a, a.T, a]),
    "numpy.linalg.tensorinv": lambda f, a: f(a, ind=1),
    "numpy.linalg.tensorsolve": lambda f, a: f(a, a[0]),
}


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """No warnings: a try at the wrong place or of a deprecated function is no news."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


# Functions without an entry.


def trials(name: str) -> Iterator[Call]:
    """The calls of a function to try, in order; the first that works is the one."""
    if name in CALLS:
        yield CALLS[name]
        return
    yield lambda f, a: f(a)
    yield lambda f, a: f(a[0])
    yield lambda f, a: f(a, a.T)
    yield lambda f, a: f(a[0], a[1])


def filled(function: Any) -> Call:
    """A call with the matrix for each argument that has no default."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # a function in C that tells no signature
        return lambda f, a: f(a)
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    n = sum(p.default is p.empty and p.kind in kinds for p in parameters)
    return lambda f, a: f(*[a] * max(n, 1))


# Ufuncs.

SHIFTS = (0.0, 1.0, 4.0, -2.0)
ORDERS = np.array([[1], [2], [3]])
"""For arguments that have to be integers, whatever their type."""

_COUNTS: Arguments = [("d", 1.0), ("d", 4.0), ("d", 0.0)]
_FREEDOMS: Arguments = [("d", 1.0), ("d", 4.0), ("d", 0.0), ("d", 0.0)]
ARGUMENTS = {"bdtr": _COUNTS, "bdtrc": _COUNTS, "ncfdtri": _FREEDOMS}
"""Where fewer trials than successes would give 0 or 1, whatever the probability, and where few
degrees of freedom a quantile of 1e8, which SciPy searches for with fewer digits."""


def ufunc_arguments(ufunc: Any) -> Arguments | None:
    """What to call a ufunc with.

    Returns
    -------
    list of (str, float or array), or None
        The type code of each argument, and a number that is added to the matrix to come into
        the domain, or an array that stands for itself. None if no loop over floats has a
        finite result.
    """
    if ufunc.__name__ in ARGUMENTS:
        return ARGUMENTS[ufunc.__name__]
    # Ufuncs of text, and some newer ones of numbers, do not list their loops.
    loops = [t.partition("->")[0] for t in ufunc.types] or ["d" * ufunc.nin, "D" * ufunc.nin]
    known = [loop for loop in loops if set(loop) <= set("dDlqi") and set(loop) & set("dD")]
    for loop in sorted(known, key=lambda loop: (loop.count("D"), -loop.count("d"))):
        choices: list[tuple[Any, ...]] = [
            (*SHIFTS, ORDERS.astype(kind)) if kind in "dD" else (ORDERS.astype(kind),)
            for kind in loop
        ]
        for arguments in itertools.product(*choices):
            if not any(isinstance(x, float) for x in arguments):
                continue
            found = list(zip(loop, arguments, strict=True))
            with quiet(), contextlib.suppress(TypeError):
                if np.all(np.isfinite(ufunc(*_shifted(MATRIX, found)))):
                    return found
    return None


def _shifted(matrix: Any, arguments: Arguments) -> list[Any]:
    """The matrix moved into the domain of each argument, and turned: no two are alike."""
    return [_argument(matrix, i, kind, x) for i, (kind, x) in enumerate(arguments)]


def _argument(matrix: Any, i: int, kind: str, x: Any) -> Any:
    if not isinstance(x, float):
        return x
    moved = np.roll(matrix, i) + x
    return moved * (1 + 0.5j) if kind == "D" else moved


def ufunc_call(i: int, arguments: Arguments) -> Call:
    """A call in which argument ``i`` is traced and the others are plain."""

    def call(f: Any, a: Any) -> Any:
        given = _shifted(MATRIX.astype(a.dtype), arguments)
        given[i] = _argument(a, i, *arguments[i])
        return f(*given)

    return call


def without_floats(ufunc: Any) -> Call:
    """A call of a ufunc that takes no floats: integers and dates are plain beside a derivative."""
    if not ufunc.types:  # of text
        return lambda f, a: f(*[a] * f.nin)
    dtype = np.int64 if "l" in "".join(ufunc.types) else "datetime64[D]"
    return lambda f, a: f(*[np.argsort(a).astype(dtype)] * f.nin)


def ufunc_method(ufunc: Any, method: str) -> Call | None:
    """A call of a method of a binary ufunc of floats; None where it makes no sense."""
    if (ufunc.nin, ufunc.nout, ufunc.signature) != (2, 1, None) or "dd->d" not in ufunc.types:
        return None
    calls: dict[str, Call] = {
        "reduce": lambda f, a: f.reduce(a, 1),
        "accumulate": lambda f, a: f.accumulate(a, 1),
        "reduceat": lambda f, a: f.reduceat(a, [0, 2], 1),
        "outer": lambda f, a: f.outer(a[0], a[1]),
        "at": _at,
    }
    return calls[method]


def _at(f: Any, a: Any) -> Any:
    target = 1 * a[0]
    f.at(target, [0, 2], a[1, :2])
    return target


# Attributes, methods and operators of ndarray.


def _changed(change: Callable[[Any, Any], Any]) -> Call:
    """A call that changes a copy of the matrix, and gives it."""

    def call(f: Any, a: Any) -> Any:
        target = 1 * a
        change(target, a)
        return target

    return call


ATTRIBUTES: dict[str, Call] = {
    "argpartition": lambda f, a: a.argpartition(1),
    "astype": lambda f, a: a.astype(complex),
    "choose": lambda f, a: np.argsort(a[0]).choose([a[0], a[1], a[2]]),
    "clip": lambda f, a: a.clip(0.2, a[0]),
    "compress": lambda f, a: a.compress(MASK, 0),
    "ctypes": lambda f, a: a.ctypes.data * 0,
    "dot": lambda f, a: a.dot(a[0]),
    "dump": lambda f, a: a.dump(io.BytesIO()),
    "dumps": lambda f, a: len(a.dumps()),
    "fill": _changed(lambda x, a: x.fill(a[0, 0])),
    "flags": lambda f, a: a.flags.c_contiguous,
    "flat": lambda f, a: a.flat[2:],
    "getfield": lambda f, a: a.getfield(np.int32),
    "imag": lambda f, a: (a + 1j * a.T).imag,
    "item": lambda f, a: a[0, 0].item(),
    "partition": _changed(lambda x, a: x.partition(1)),
    "put": _changed(lambda x, a: x.put(INDICES, a[0])),
    "real": lambda f, a: (a + 1j * a.T).real,
    "repeat": lambda f, a: a.repeat(2),
    "reshape": lambda f, a: a.reshape(9),
    "resize": _changed(lambda x, a: x.resize((2, 2), refcheck=False)),
    "searchsorted": lambda f, a: a[0].searchsorted(0.3),
    "setfield": _changed(lambda x, a: x.setfield(1, np.int32)),
    "setflags": _changed(lambda x, a: x.setflags(write=False)),
    "sort": _changed(lambda x, a: x.sort()),
    "swapaxes": lambda f, a: a.swapaxes(0, 1),
    "take": lambda f, a: a.take(INDICES),
    "to_device": lambda f, a: a.to_device("cpu"),
    "tofile": lambda f, a: a.tofile(os.devnull),
    "view": lambda f, a: a.view(),
    # operators
    "__contains__": lambda f, a: 0.3 in a,
    "__getitem__": lambda f, a: a[1:, INDICES],
    "__setitem__": _changed(lambda x, a: operator.setitem(x, 0, a[1])),
    "__complex__": lambda f, a: complex(a[0, 0]),
    "__float__": lambda f, a: float(a[0, 0]),
    "__int__": lambda f, a: int(a[0, 0]),
    "__index__": lambda f, a: operator.index(a.argmax()),
    "__bool__": lambda f, a: bool(a[0, 0]),
    "__iter__": lambda f, a: list(a),
    "__len__": lambda f, a: len(a),
    "__copy__": lambda f, a: a.__copy__(),
    "__deepcopy__": lambda f, a: a.__deepcopy__({}),
    "__invert__": lambda f, a: ~np.argsort(a),
    "__divmod__": lambda f, a: divmod(a, 0.3),
    "__rdivmod__": lambda f, a: divmod(5.0, a),
}

_ARITHMETIC = "add sub mul truediv floordiv mod pow matmul"
_BITS = "and or xor lshift rshift"
for _name in [*_ARITHMETIC.split(), *_BITS.split()]:
    _forward, _in_place = f"__{_name}__", f"__i{_name}__"
    _bits = _name in _BITS.split()

    def _operands(a: Any, bits: bool = _bits) -> tuple[Any, Any]:
        """Integers are plain beside a derivative."""
        return (np.argsort(a), INDICES) if bits else (1 * a, a.T)

    def _binary(f: Any, a: Any, name: str = _forward, operands: Any = _operands) -> Any:
        left, right = operands(a)
        return getattr(operator, name)(left, right)

    def _reflected(f: Any, a: Any, name: str = _forward, operands: Any = _operands) -> Any:
        left, right = operands(a)
        plain = INDICES if right is INDICES else np.roll(MATRIX, 1)
        return getattr(operator, name)(plain, left)

    def _written(f: Any, a: Any, name: str = _in_place, operands: Any = _operands) -> Any:
        left, right = operands(a)
        return getattr(operator, name)(left, right)

    ATTRIBUTES.update({_forward: _binary, f"__r{_name}__": _reflected, _in_place: _written})
for _name in ("lt", "le", "gt", "ge", "eq", "ne", "neg", "pos", "abs"):

    def _compared(f: Any, a: Any, name: str = _name) -> Any:
        return getattr(operator, name)(*((a,) if name in ("neg", "pos", "abs") else (a, a.T)))

    ATTRIBUTES[f"__{_name}__"] = _compared

OPERATORS = frozenset(name for name in ATTRIBUTES if name.startswith("__"))


def attribute(name: str) -> Call:
    """A call that reads an attribute of the matrix, or calls the method without arguments."""

    def read(f: Any, a: Any) -> Any:
        value = getattr(a, name)
        return value() if callable(value) else value

    return ATTRIBUTES.get(name, read)
