"""Operators of every structure, small enough to compare with their dense matrices."""

import importlib
import pkgutil

import numpy as np
from needing_libraries import ELSEWHERE

import linad
from linad.operators import composites, dft, wrappers
from linad.operators.base import JacobianOperator
from linad.operators.contraction import Contraction
from linad.operators.entangled import Entangled
from linad.operators.matrices import Kronecker, Matrix
from linad.operators.reordering import Broadcast, Permutation, Reshape
from linad.operators.structured import (
    Cast,
    Conjugation,
    Diagonal,
    Identity,
    IdentityMatrix,
    Isometry,
    Masked,
    RealPart,
    Zero,
)
from linad.operators.typed import Typed

REAL = [np.dtype(np.float32), np.dtype(np.float64)]
COMPLEX = [np.dtype(np.complex64), np.dtype(np.complex128)]


def numbers(rng, shape, dtype):
    """Normal random numbers, complex where the dtype is."""
    x = rng.standard_normal(shape)
    if dtype.kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return np.asarray(x, dtype)


def square(dtype, rng):
    """Operators from arrays of shape (2, 3) to themselves, by name."""

    def r(*shape):
        return numbers(rng, shape, dtype)

    s = (2, 3)
    return {
        "identity": Identity(s, dtype),
        "zero": Zero(s, s, dtype),
        "diagonal": Diagonal(r(2, 3), s, dtype),
        "left": Kronecker(r(2, 2), None, s, s, dtype),
        "right": Kronecker(None, r(3, 3), s, s, dtype),
        "kronecker": Kronecker(r(2, 2), r(3, 3), s, s, dtype),
        "masked": Masked(np.array([[True, False, True], [False, True, True]]), s, dtype),
        "permutation": Reshape(s, (3, 2), dtype) @ Permutation((1, 0), s, dtype),
        "mean": Broadcast(s, (3,), dtype, (0,)) @ Broadcast(s, (3,), dtype, (0,)).H,
        "contraction": Contraction("ij", [("jk", r(3, 3))], "ik", s, s, dtype),
    }


def rectangular(dtype, rng):
    """Operators between arrays of different shapes, by name."""

    def r(*shape):
        return numbers(rng, shape, dtype)

    return {
        "reshape": Reshape((6,), (2, 3), dtype),
        "transpose": Permutation((1, 0, 2), (2, 3, 2), dtype),
        "broadcast": Broadcast((2, 3), (3,), dtype),
        "scalar": Broadcast((2, 3), (), dtype),
        "sum": Broadcast((2, 3), (2,), dtype, (1,)).H,
        "wide": Kronecker(r(2, 3), r(2, 2), (2, 2), (3, 2), dtype),
        "tall": Kronecker(r(4, 2), None, (4, 1), (2, 1), dtype),
        "batch": Kronecker(r(3, 2, 2), None, (3, 2, 2), (2, 2), dtype),
        "zero": Zero((2, 2), (3,), dtype),
        "empty": Broadcast((0, 3), (3,), dtype),
        "matrix": Matrix(r(3, 2)),
        "chain": Diagonal(r(2, 3), (2, 3), dtype) @ Broadcast((2, 3), (3,), dtype),
    }


def everything(dtype, rng):
    """All of the above, and a linearized function of that dtype."""
    found = {f"square {k}": op for k, op in square(dtype, rng).items()}
    found |= {f"rectangular {k}": op for k, op in rectangular(dtype, rng).items()}
    x = numbers(rng, (4,), dtype)
    found["linearized"] = linad.linearize(lambda x: np.sin(x) * x, x)[1]
    found["container"] = linad.linearize(
        lambda d: (d["a"] * d["b"], np.exp(d["b"])), {"a": x, "b": numbers(rng, (4,), dtype)}
    )[1]
    return found


def real_to_complex(rng, real=REAL[1], complex_=COMPLEX[1]):
    """Operators whose argument is real and whose result is complex."""
    d = numbers(rng, (4,), complex_)
    return {
        "cast": Cast((4,), complex_, real),
        "slope": Diagonal(d, (4,), complex_) @ Cast((4,), complex_, real),
        "not holomorphic": Conjugation((4,), complex_)
        @ Diagonal(d, (4,), complex_)
        @ Cast((4,), complex_, real),
        "linearized": linad.linearize(lambda x: np.exp(1j * x), numbers(rng, (4,), real))[1],
    }


def not_holomorphic(rng, dtype=COMPLEX[1]):
    """Operators on complex arrays that are linear over the reals only."""
    d = numbers(rng, (4,), dtype)
    real = np.zeros(0, dtype).real.dtype
    return {
        "conjugation": Conjugation((4,), dtype),
        "real part": RealPart((4,), real, dtype),
        "chain": Diagonal(d, (4,), dtype) @ Conjugation((4,), dtype),
        "sum": Diagonal(d, (4,), dtype) + Conjugation((4,), dtype),
        "scaled": 2.0 * Conjugation((4,), dtype),
        "linearized": linad.linearize(lambda z: np.abs(z), d)[1],
    }


def by_columns(op):
    """The matrix of an operator whose maps say all, from `pushforward` alone."""
    n = op.shape[1]
    columns = []
    for j in range(n):
        e = np.zeros(n, op.in_dtype)
        e[j] = 1
        columns.append(np.reshape(op.flat.pushforward(e.reshape(op.flat.in_shape)), -1))
    return np.stack(columns, axis=-1).astype(op.dtype).reshape(op.shape)


def tolerance(dtype):
    """Rounding of a few operations."""
    return 200 * np.finfo(dtype).eps


ABSTRACT = {Typed, wrappers.Wrapper, wrappers._View, composites.Composite}
ABSTRACT |= {IdentityMatrix, Isometry, Entangled, dft._OfRealEntries}


def every_class():
    """All classes of operators in linad, loaded or not."""
    for package in (linad, linad.rules):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__") and module.name not in ELSEWHERE:
                importlib.import_module(module.name)
    found, todo = [], [JacobianOperator]
    while todo:
        for kind in todo.pop().__subclasses__():
            todo.append(kind)
            if kind.__module__.startswith("linad.") and kind not in ABSTRACT:
                found.append(kind)
    return sorted(set(found), key=lambda kind: (kind.__module__, kind.__qualname__))
