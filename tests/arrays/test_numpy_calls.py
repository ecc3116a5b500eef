"""NumPy's functions with their keywords, in many dtypes: traced and jitted, they are NumPy's.

`numpy_calls.txt` has a call a line: of a vector x, a matrix m (3, 5) and a vector of floats y.
`likeness` goes through all functions with few keywords; here are the keywords.
"""

import pathlib
import random
import warnings

import likeness
import numpy as np
import pytest
from released import newer_numpy

import linad
from linad.core import tree
from linad.errors import LinadError

CALLS = (pathlib.Path(__file__).parent / "numpy_calls.txt").read_text().splitlines()
DTYPES = [*("f8", "f4", "f2", "c16", "c8", "i8", "i4", "i1", "u8", "u1", "?")]

VECTOR = np.array([0.7, -1.3, 0.4, 2.1, -0.2])
MATRIX = np.random.default_rng(3).standard_normal((3, 5)).round(2)
FLOATS = np.array([1.7, -0.3, 2.2, 0.4, 5.0])

ROUNDED = {
    *("np.linalg.cond(m@m.T, 1)", "np.linalg.matrix_power(m@m.T+np.eye(3), -2)"),
    *("np.linalg.solve(m@m.T, m)", "np.linalg.solve(m@m.T, x[:3])", "np.linalg.inv(m@m.T)"),
    *("np.linalg.tensorsolve(m@m.T, x[:3])", "np.linalg.cond(m@m.T, 1)"),
}
"""What depends on whether a matrix that is singular but for rounding is: small integers, bools."""


def of_dtype(x, dtype):
    kind = np.dtype(dtype).kind
    if kind == "c":
        return (x + 1j * x[..., ::-1]).astype(dtype)
    if kind == "b":
        return x > 0
    return np.abs(np.round(3 * x)).astype(dtype) if kind == "u" else np.array(x * 3).astype(dtype)


def tolerance(*dtypes):
    if np.float16 in dtypes:
        return 4e-3
    return 2e-5 if {np.dtype("f4"), np.dtype("c8")} & {np.dtype(d) for d in dtypes} else 1e-11


def difference(found, expected, dtype):
    """What tells one leaf from another, or None, for operands of a dtype."""
    if isinstance(expected, (str, type(None))):
        return None if found == expected else f"{found!r}, expected {expected!r}"
    a, b = np.asarray(found), np.asarray(expected)
    told = [(likeness.kind(v), w.dtype.name, w.shape) for v, w in ((found, a), (expected, b))]
    if told[0] != told[1]:
        return f"{told[0]}, expected {told[1]}"
    if b.dtype.kind not in "fc":
        return None if np.array_equal(a, b) else f"{a}, expected {b}"
    scale = np.max(np.abs(b[np.isfinite(b)]), initial=1e-3)
    near = tolerance(a.dtype, b.dtype, np.dtype(dtype))
    good = np.allclose(a, b, rtol=near, atol=near * scale, equal_nan=True)
    return None if good else f"{a}, expected {b}"


def outcomes(f, operands):
    """What the traced call gives, and three jitted ones."""

    def linearized(*args):
        """Traced in the floats; integers and booleans beside them are plain."""
        seen, moving = [], [k for k, x in enumerate(args) if x.dtype.kind in "fc"]

        def run(*xs):
            given = dict(enumerate(args)) | dict(zip(moving, xs, strict=True))
            seen.append(f(*given.values()))
            return [x * 1.0 for x in xs]

        linad.linearize(run, *[args[k] for k in moving])
        found, structure = tree.flatten(seen[0])
        return tree.unflatten(structure, [likeness.concrete(v) for v in found])

    jitted = linad.jit(f)
    for run in (jitted, jitted, jitted, linearized):
        try:
            yield run(*[x.copy() for x in operands])
        except LinadError:  # it refuses
            return


def differences(calls, dtype):
    operands = [of_dtype(VECTOR, dtype), of_dtype(MATRIX, dtype), FLOATS]
    for call in calls:
        if call in ROUNDED and np.dtype(dtype).kind not in "fc":
            continue
        f = eval(f"lambda x, m, y: ({call})", {"np": np})
        try:
            expected = f(*[x.copy() for x in operands])
        except Exception:
            continue  # not a call
        for found in outcomes(f, operands):
            (a, one), (b, other) = tree.flatten(found), tree.flatten(expected)
            told = [difference(u, v, dtype) for u, v in zip(a, b, strict=False)]
            if one != other or any(told):
                yield f"{call}: {next(filter(None, told), f'{one}, expected {other}')}"
                break


def check(calls, dtype):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = list(differences(calls, dtype))
    assert not found, "\n".join(found)


@pytest.mark.usefixtures("kernels")
@newer_numpy
@pytest.mark.parametrize("dtype", DTYPES)
def test_some(dtype):
    check(random.Random(dtype).sample(CALLS, 20), dtype)


@newer_numpy
@pytest.mark.full
@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("dtype", DTYPES)
def test_all(dtype):
    check(CALLS, dtype)
