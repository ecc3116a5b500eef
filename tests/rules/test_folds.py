"""Reduce, accumulate and reduceat of ufuncs, one by one."""

import itertools

import numpy as np
import pytest

import linad
from linad.core.dispatch import UFUNC_METHODS
from linad.errors import TracerError, UnsupportedError
from linad.testing.rule_checks import Case

rng = np.random.default_rng(5)
A = rng.uniform(0.6, 1.4, (3, 4))
UFUNCS = [
    *(np.hypot, np.float_power, np.copysign, np.fmod, np.remainder),
    *(np.fmax, np.fmin, np.subtract, np.divide),
]
DOUBLE = {"float32": False}  # as float_power, always

CASES = [
    Case(np.hypot.reduce, A),
    Case(np.hypot.reduce, A, axis=-1, keepdims=True, initial=0.7),
    Case(np.hypot.reduce, A, axis=None),
    Case(np.hypot.reduce, A, axis=0, where=A > 1, initial=0.5),
    Case(np.hypot.reduce, np.zeros((0, 2)), check={"order": 1}),
    Case(np.float_power.reduce, A[:2], check=DOUBLE),
    Case(np.hypot.reduce, A, dtype=np.float64, check=DOUBLE),
    Case(np.arctan2.accumulate, A, axis=1),
    Case(np.hypot.accumulate, A, axis=1),
    Case(np.power.accumulate, A),
    Case(np.fmax.accumulate, A, axis=1),
    Case(np.hypot.reduceat, A, [0, 2, 1], axis=1),
    Case(np.subtract.reduceat, A, [0, 2]),
    Case(np.subtract.reduce, A, axis=1, initial=0.7),
    Case(np.subtract.reduce, A, where=A > 1, initial=0.5),
    Case(np.subtract.reduce, A, axis=(), check={"order": 1}),
    Case(np.divide.reduce, A, axis=0, where=A > 1, initial=0.5, keepdims=True),
    Case(np.hypot.reduce, -A, axis=()),
]


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda u: u.__name__)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_values_are_numpys(ufunc, dtype):
    a = A.astype(dtype)
    for call in (
        lambda a: ufunc.reduce(a, 0),
        lambda a: ufunc.reduce(a, axis=-1, keepdims=True),
        lambda a: ufunc.accumulate(a, 1),
        lambda a: ufunc.reduceat(a, [0, 3, 1], 1),
    ):
        y, expected = linad.linearize(call, a)[0], call(a)
        assert y.dtype == expected.dtype
        np.testing.assert_allclose(y, expected, rtol=1e-6 if dtype == "f4" else 1e-13)


def test_initial_values_move_too():
    found = linad.grad(lambda s: np.sum(np.hypot.reduce(0 * s + A, 0, initial=s) ** 2))(
        np.float64(0.5)
    )
    assert found == pytest.approx(4.0)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("a", [-A, A[:0], A[0, 0], A[:1].astype(int) - 3, A > 1], ids=range(5))
def test_axes_starts_and_masks_are_numpys(a, kernels):
    options = [
        *({}, {"axis": ()}, {"axis": None}, {"initial": 2}, {"axis": (), "initial": 2}),
        *({"initial": 2.5, "keepdims": True}, {"where": A[0] > 1}),
        *({"where": A[0] > 1, "initial": 1}, {"where": False, "initial": 2, "axis": ()}),
    ]
    for ufunc in (np.subtract, np.divide, np.hypot):
        for kwargs in options:

            def f(a, s, ufunc=ufunc, kwargs=kwargs):
                return ufunc.reduce(a, **kwargs), s * 2.0

            try:
                expected = f(a, 1.0)
            except (TypeError, ValueError) as refused:
                with pytest.raises((type(refused), UnsupportedError)):
                    linad.jit(f)(a, 1.0)
                continue
            jitted = linad.jit(f)
            for _ in range(3):
                found = jitted(a, 1.0)[0]
                assert type(found) is type(expected[0])
                assert found.dtype == expected[0].dtype
                np.testing.assert_allclose(found, expected[0], rtol=1e-13)


REDUCING = sorted({u for u, method in UFUNC_METHODS if method == "accumulate"}, key=str)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("ufunc", REDUCING, ids=lambda u: u.__name__)
def test_dtypes_of_all_methods_are_numpys(ufunc, kernels):
    """Of all kinds of numbers, without entries, and of segments of one entry."""
    uses = [
        lambda a: ufunc.accumulate(a),
        lambda a: ufunc.reduceat(a, [0, 1]),
        lambda a: ufunc.reduceat(a, [1, 0]),
        lambda a: ufunc.reduceat(a, np.array([True, False])),
        lambda a: ufunc.reduceat(a, np.zeros(0, int)),
        lambda a: ufunc.reduce(a),
    ]
    for char, n, use in itertools.product(["i1", "u2", "i8", "b1", "f2", "f4", "c8"], (3, 0), uses):

        def f(a, s, use=use):
            return use(a), s * 2.0

        a = (-np.arange(1, n + 1)).astype(char)
        try:
            expected = f(a, 1.0)[0]
        except (TypeError, ValueError, IndexError):  # of two of them either may come first
            with pytest.raises((TypeError, ValueError, IndexError, UnsupportedError)):
                linad.jit(f)(a, 1.0)
            continue
        jitted = linad.jit(f)
        for _ in range(2):
            try:
                found = jitted(a, 1.0)[0]
            except UnsupportedError:
                break
            assert type(found) is type(expected)
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(found, expected, rtol=1e-3 if char == "f2" else 1e-6)


@pytest.mark.parametrize(
    "call, error, match",
    [
        (lambda a: np.fmod.reduce(a, axis=(0, 1)), ValueError, "one axis"),
        (lambda a: np.fmod.reduce(a[:0]), ValueError, "no identity"),
        (np.power.reduce, UnsupportedError, "power.accumulate"),
        (lambda a: np.arctan2.reduceat(a, [0, 1]), UnsupportedError, "arctan2.accumulate"),
        (lambda a: np.fmod.reduce(a, where=A > 1), UnsupportedError, "where="),
        (lambda a: np.hypot.accumulate(a[0, 0]), TypeError, "scalar"),
        (lambda a: np.hypot.reduce(a, out=np.zeros(4)), TracerError, "out="),
    ],
)
def test_errors(call, error, match):
    with pytest.raises(error, match=match):
        linad.linearize(call, A)
