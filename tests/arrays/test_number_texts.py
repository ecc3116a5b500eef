"""Numbers that go through a text: refused, or traced where the code is adopted."""

import pickle

import numpy as np
import pytest

import linad
from linad.errors import TracerError

X = np.array([0.123456, 2.0])


def formatted(x):
    return float(f"{x[0]:.18f}") * x[1]


def by_format(x):
    return float("{:.17g}".format(x[0])) * x[1]  # noqa: UP032


def by_percent(x):
    return float("%s" % x[0]) * x[1]  # noqa: UP031


def by_str(x):
    return float(str(x[0])) * x[1]


def rounded(x):
    return float(f"{x[0]:.2f}") * x[1]


@pytest.mark.parametrize("f", [formatted, by_format, by_percent, by_str])
def test_a_text_read_as_a_number(f):
    with pytest.raises(TracerError, match=r"float\(\) of its text .* lose its derivative"):
        linad.grad(f)(X)
    with linad.adopt(f):
        for transform in (linad.grad, lambda f: linad.jit(linad.grad(f))):
            np.testing.assert_allclose(transform(f)(X), X[::-1], rtol=1e-14)


def test_few_digits_are_rounding():
    for slope in (linad.grad(rounded)(X), linad.grad(lambda x: np.round(x[0], 2) * x[1])(X)):
        np.testing.assert_array_equal(slope, [0.0, 0.12])


def test_a_text_is_a_string():
    kept = []

    def f(x):
        kept.extend([f"{x[0]:.3f}", f"{x[0]:.3f} m", str(x[1])])
        return x[0] * x[1]

    linad.grad(f)(X)
    assert kept == ["0.123", "0.123 m", "2.0"]
    assert float(kept[2]) == 2.0  # no trace knows the number any more
    assert type(pickle.loads(pickle.dumps(kept[0]))) is str


@pytest.mark.parametrize("number", [1.5, np.float64(1.5), 1.5j, np.array(1.5)], ids=repr)
def test_what_jitted_functions_write_of_numbers(number):
    """That of Python's and NumPy's number of one value is not the same."""

    def f(x):
        return repr(x), f"{x!r}", f"{x!r}", repr([x]), str(x), f"{x}", repr(np.sin(x))

    jitted = linad.jit(f)
    for _ in range(3):
        assert jitted(number) == f(number)
    for other in (2.5, np.float64(2.5), np.float64(1.5), 1.5):
        assert jitted(other) == f(other)


def test_a_number_that_may_be_of_python():
    for f in (lambda x: repr(2 * x + 1), lambda x: {repr(-x): x}["-1.5"]):
        with pytest.raises(TracerError, match=r"repr\(\)(.|\n)*str\(x\)"):
            linad.jit(f)(1.5)
    for f in (
        lambda x: repr(2 * x + 1),
        lambda x: repr(np.float64(2) * x),
        lambda x: repr(np.sin(x)),
    ):
        assert linad.jit(f)(np.float64(1.5)) == f(np.float64(1.5))
