"""Every function and operator of users' kernels: in machine code as in Python, or as in Numba."""

import itertools
import math
from contextlib import suppress

import numba
import numpy as np
import pytest

from linad.kernels.analysis import KernelProgram
from linad.kernels.compiling import compiled, python_function
from linad.kernels.expression_source import kind_of, text
from linad.kernels.expressions import COMPARISONS, ZERO, ArrayKind, Expr, call, num, var
from linad.kernels.scalar_functions import FUNCTIONS
from linad.kernels.statements import Put

EXTREMA = ("min", "max", "minimum", "maximum", "fmin", "fmax")
KINDS = {
    **dict.fromkeys(
        (*EXTREMA, "hypot", "atan2", "logaddexp", "copysign"), ("ff", "fi", "if", "ii")
    ),
    "clip": ("fff", "iii"),
}
"""Of the arguments of functions that take more than one."""
NO_VALUE = ValueError, ArithmeticError, TypeError
DTYPES = {"f": "float64", "i": "int64", "b": "bool"}


def expressions():
    """Names, kinds of the operands, and expressions of x0, x1, ..."""
    for name in [name for name in FUNCTIONS if name not in ("len_range", "npwithin")]:
        for kinds in KINDS.get(name, ("f", "i", "b")):
            if (name, kinds) not in (("float", "b"), ("fabs", "b")):  # Numba has no such function
                yield name, kinds, call(name, *[var(f"x{k}") for k in range(len(kinds))])
    for op in ("+", "-", "*", "/", "//", "%", "**", *COMPARISONS):
        for kinds in ("ff", "fi", "if", "ii", "fb"):
            yield op, kinds, Expr(op, (var("x0"), var("x1")))
    for op in ("&", "|", "^", "<<", ">>"):
        yield op, "ii", Expr(op, (var("x0"), var("x1")))
    for op in ("and", "or"):
        yield op, "bb", Expr(op, (var("x0"), var("x1")))
    for kinds in ("f", "i"):
        yield "neg", kinds, Expr("neg", (var("x0"),))
        for n in (0, 1, 2, 3, 5, -1, -2):
            yield f"** {n}", kinds, Expr("**", (var("x0"), num(n)))
    yield "not", "b", Expr("not", (var("x0"),))
    yield "** 0.5", "f", Expr("**", (var("x0"), num(0.5)))
    yield "if", "ffb", Expr("if", (var("x2"), var("x0"), var("x1")))


EXPRESSIONS = [*expressions()]


def program_of(some):
    """A program that puts the values of expressions into arrays, one for each kind."""
    kinds = {f"x{k}": kind for k, kind in enumerate(some[0][1])}
    body, counts = [], {"f": 0, "i": 0, "b": 0}
    for _, _, e in some:
        kind = kind_of(e, kinds)
        body.append(Put(f"y_{kind}", (num(counts[kind]),), e))
        counts[kind] += 1
    arrays = {f"y_{kind}": ArrayKind(dtype, 1) for kind, dtype in DTYPES.items()}
    made = KernelProgram("all_of_them", [*kinds, *arrays], {**kinds, **arrays}, body)
    return made, lambda: [np.zeros(n, DTYPES[kind]) for kind, n in counts.items()]


@pytest.mark.parametrize("kinds", sorted({kinds for _, kinds, _ in EXPRESSIONS}))
def test_as_in_python(kinds):
    """Where Python has a value; a negative power of an integer is one again, as in Numba."""
    some = [e for e in EXPRESSIONS if e[1] == kinds and (kinds != "i" or "** -" not in e[0])]
    program, results = program_of(some)
    machine, compared = compiled(program), 0
    numbers = {"f": (0.3, 0.7, 1.6), "i": (1, 3, 0), "b": (True, False, True)}
    for k in range(3):
        given = [numbers[kind][(k + j) % 3] for j, kind in enumerate(kinds)]
        found = results()
        machine(*given, *found)
        names = {"math": math, "np": np, **{f"x{j}": x for j, x in enumerate(given)}}
        for put in program.body:
            with np.errstate(all="ignore"), suppress(*NO_VALUE):
                expected = eval(text(put.value), names)
                if getattr(expected, "dtype", None) == np.float16:
                    continue  # of a bool, which Numba takes for a float32
                array = found["fib".index(put.array[-1])]
                np.testing.assert_allclose(array[int(put.index[0].parts[0])], expected, rtol=1e-14)
                compared += 1
    assert compared > len(some)


@pytest.mark.full
@pytest.mark.parametrize("name, kinds, e", [e for e in EXPRESSIONS if e[0] != "clip"])
def test_as_in_numba(name, kinds, e):
    """To the bit, for infinities and NaN, too; Numba's np.clip is one of arrays."""
    some = {
        "f": (0.3, -0.3, 1.7, -2.5, 0.0, -0.0, 1e300, np.inf, -np.inf, np.nan),
        "i": (0, 1, -1, 2, -3, 7),
        "b": (True, False),
    }
    program, results = program_of([(name, kinds, e)])
    machine = compiled(program)
    numbas = numba.njit(error_model="numpy")(python_function(program))
    for given in itertools.product(*[some[kind] for kind in kinds]):
        found, expected = results(), results()
        try:
            numbas(*given, *expected)
        except ZeroDivisionError:  # of 0.0 ** -1, which is inf to NumPy
            continue
        machine(*given, *found)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)


def test_powers_that_are_not_known_before():
    program = KernelProgram(
        "powers",
        ["x", "n", "y"],
        {"x": "f", "n": "i", "y": ArrayKind("float64", 1)},
        [Put("y", (ZERO,), Expr("**", (var("x"), var("n"))))],
    )
    machine, y = compiled(program), np.zeros(1)
    for x, n in itertools.product((0.5, -2.0, 1.0), (0, 1, 7, -3, 100_000)):
        machine(x, n, y)
        with np.errstate(over="ignore"):
            np.testing.assert_allclose(y[0], np.float64(x) ** n, rtol=1e-14)
    machine(0.0, -1, y)
    assert y[0] == np.inf
    with pytest.raises(ZeroDivisionError):
        compiled(program, "python")(0.0, -1, y)
