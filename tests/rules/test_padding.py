"""Padding in every mode."""

import functools
import itertools

import numpy as np
import pytest
from case_values import check_error

import linad
from linad.core.primitive import Primitive
from linad.errors import UnsupportedError
from linad.rules import padding
from linad.testing.rule_checks import Case

rng = np.random.default_rng(0)
A = rng.standard_normal((2, 3))
V = rng.standard_normal(4)
S = np.asarray(rng.standard_normal())
Z = {"complex_": True}

CASES = [
    Case(padding.pad_, A, widths=((1, 0), (0, 2)), values=0.5, check=Z),
    Case(np.pad, A, pad_width=1, check=Z),
    Case(np.pad, A, pad_width=((1, 2), (0, 3)), constant_values=((1, 2), (3, 4))),
    Case(np.pad, V, pad_width=(2, 0), mode="constant", constant_values=-1.5),
    Case(np.pad, np.zeros((0, 2)), pad_width=1),
    Case(np.pad, A, pad_width=((2, 1), (0, 3)), mode="edge", check=Z),
    Case(np.pad, A, pad_width=((3, 1), (5, 0)), mode="reflect", check=Z),
    Case(np.pad, A, pad_width=((3, 1), (7, 2)), mode="symmetric"),
    Case(np.pad, A, pad_width=((3, 1), (7, 2)), mode="reflect", reflect_type="odd", check=Z),
    Case(np.pad, A, pad_width=((3, 1), (7, 2)), mode="symmetric", reflect_type="odd"),
    Case(np.pad, A[:1], pad_width=((1, 2), (0, 9)), mode="reflect", reflect_type="odd"),
    Case(np.pad, A, pad_width=((1, 3), (4, 2)), mode="wrap"),
    Case(np.pad, A, pad_width=((1, 3), (4, 2)), mode="linear_ramp", check=Z),
    Case(np.pad, V, pad_width=(3, 2), mode="linear_ramp", end_values=(5, -2)),
    Case(np.pad, V, pad_width=0, mode="linear_ramp"),
    Case(np.pad, A, pad_width=((1, 3), (0, 2)), mode="mean", check=Z),
    Case(np.pad, V, pad_width=(3, 2), mode="mean", stat_length=2),
    Case(np.pad, V, pad_width=(3, 2), mode="maximum", stat_length=((3, 9),)),
    Case(np.pad, A, pad_width=1, mode="minimum"),
    Case(np.pad, V, pad_width=(3, 2), mode="median", stat_length=3),
    Case(np.pad, S, pad_width=1, mode="wrap"),
]
if np.lib.NumpyVersion(np.__version__) >= "2.4.0":  # widths by axis
    CASES += [
        Case(np.pad, A, pad_width={-1: (1, 2)}),
        Case(np.pad, A, pad_width={0: 2}, mode="edge"),
    ]


@pytest.mark.parametrize("case", CASES, ids=itertools.count())
def test_values_are_numpys(case):
    if isinstance(case.function, Primitive):
        return
    expected = case.function(*case.args, **case.params)
    found = linad.linearize(lambda x: case.function(x, **case.params), case.args[0])[0]
    np.testing.assert_allclose(found, expected, rtol=1e-14, strict=True)


@pytest.mark.parametrize("shape", [(0,), (2, 0, 2), (0, 3)])
def test_axes_of_no_entries_are_numpys(shape):
    x = np.ones(shape)
    modes = ("linear_ramp", "constant", "edge", "mean", "median", "maximum", "reflect", "wrap")
    ends = ((0, 0),) * (len(shape) - 1)
    for mode, width in itertools.product(modes, (0, 1, ((1, 2), *ends), (*ends, (2, 1)))):
        try:
            expected = np.pad(x, width, mode=mode)
        except ValueError:
            with pytest.raises(ValueError, match="empty"):
                linad.linearize(functools.partial(np.pad, pad_width=width, mode=mode), x)
            continue
        f = functools.partial(np.pad, pad_width=width, mode=mode)
        np.testing.assert_array_equal(linad.linearize(f, x)[0], expected, strict=True)


def test_empty_mode_is_defined():
    # NumPy leaves the border uninitialised.
    y = linad.linearize(lambda x: np.pad(x, 1, mode="empty"), V)[0]
    np.testing.assert_array_equal(y, np.pad(V, 1))


def test_known_jacobian():
    J = linad.jacobian(lambda x: np.pad(x, (1, 2), mode="reflect"))(V[:3])
    np.testing.assert_array_equal(J, np.eye(3)[[1, 0, 1, 2, 1, 0]])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.pad(x, -1),
        lambda x: np.pad(x, 0.5),
        lambda x: np.pad(x, ((1, 1),) * 3),
        lambda x: np.pad(x, 1, mode="other"),
        lambda x: np.pad(x, 1, mode="edge", constant_values=1),
        lambda x: np.pad(x[:0], 1, mode="edge"),
    ],
    ids=itertools.count(),
)
def test_errors_are_numpys(f):
    check_error(f, A)


@pytest.mark.parametrize(
    "f, what",
    [
        (lambda x: np.pad(x, 1, mode=lambda *a: None), "a function as mode"),
    ],
    ids=["function"],
)
def test_what_is_not_traced_says_so(f, what):
    with pytest.raises(UnsupportedError, match=what):
        linad.linearize(f, A)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.pad(x, ((1, 2), (0, 1)), constant_values=np.sin(x[0, 0])),
        lambda x: np.pad(
            x, ((1, 2), (2, 1)), constant_values=((x[0, 0], 1.0), (2.0, x[1, 1] ** 2))
        ),
        lambda x: np.pad(x, 2, constant_values=x[:2, 1:]),
        lambda x: np.pad(x, (2, 3), mode="linear_ramp", end_values=(x[0, 1], 1.0)),
    ],
    ids=["one value", "a pair an axis", "an array", "ramps"],
)
def test_border_values_are_traced(f):
    np.testing.assert_allclose(linad.linearize(f, A)[0], f(A), rtol=1e-14, strict=True)
    linad.testing.check_derivatives(f, A)


@pytest.mark.parametrize(
    "options",
    [
        {"constant_values": np.ones((3, 1))},
        {"mode": "linear_ramp", "end_values": (1, 2, 3)},
        {"mode": "nope"},
        {"stat_length": 2},
        {"mode": "edge"},
    ],
    ids=str,
)
def test_options_of_what_has_no_axes_are_read(options):
    try:
        expected = np.pad(S, 1, **options)
    except ValueError:
        with pytest.raises(ValueError, match="pad"):
            linad.linearize(lambda x: np.pad(x, 1, **options), S)
    else:
        assert linad.linearize(lambda x: np.pad(x, 1, **options), S)[0] == expected
