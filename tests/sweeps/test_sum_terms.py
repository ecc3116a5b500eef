"""What sums add of one entry: terms that cannot cancel apart, products unrounded."""

import numpy as np
import pytest
from compiled_runs import check_compiled

import linad
from linad.core.primitive import Primitive
from linad.sweeps.scalar_rows import NEVER_NEGATIVE
from linad.sweeps.steps import Loop
from linad.sweeps.sum_terms import SumTerms

APART = {
    "a b": (lambda a, b: a * b, 1),
    "a^2": (lambda a, b: a**2, 1),
    "100 a^2 + b^2": (lambda a, b: 100.0 * (a * a) + b * b, 2),
    "a^2 b^2 + (e^a + |b|)": (lambda a, b: a * a * (b * b) + (np.exp(a) + np.abs(b)), 3),
    "a^2 + b may cancel": (lambda a, b: a * a + b, 1),
    "-3 a^2 + b^2 may cancel": (lambda a, b: -3.0 * (a * a) + b * b, 1),
    "a^2 - b^2 may cancel": (lambda a, b: a * a - b * b, 1),
    "a + b may cancel": (lambda a, b: a + b, 1),
}


def terms_of(f, *args):
    _, tape = linad.trace(f, *args)
    (terms,) = SumTerms(Loop(args[0].shape, tape.equations), set()).terms.values()
    return terms


@pytest.mark.parametrize("name", APART)
def test_terms(name):
    f, count = APART[name]
    a, b = np.random.default_rng(0).normal(size=(2, 37))
    assert len(terms_of(lambda a, b: np.sum(f(a, b)), a, b)) == count


@pytest.mark.usefixtures("kernels")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("odd", [0.0, 1e200, np.inf, -np.inf, np.nan])
def test_values(odd):
    a, b = np.random.default_rng(0).normal(size=(2, 7, 5))
    a[3, 2] = odd
    check_compiled(
        lambda a, b: [np.sum(f(a, b), k) for f, _ in APART.values() for k in (0, 1)], a, b
    )


def test_one_rounding():
    """A sum of a product is as near as it can be, here to what the product was rounded by."""
    a = np.full(40, 1 + 2.0**-30)
    found = linad.jit(lambda a: np.sum(a * a) - 40 * (a[0] * a[0]))(a)
    assert 0 <= found <= 40 * 2.0**-60 + 2.0**-47


def test_read_by_others():
    """A product that is stored, or read twice, is rounded once."""
    a, b = np.random.default_rng(0).normal(size=(2, 37))
    check_compiled(lambda a, b: [np.sum(a * b), a * b], a, b)
    check_compiled(lambda a, b: [np.sum(a * b), np.sum(np.exp(a * b))], a, b)


def test_what_is_never_negative():
    x = np.concatenate([np.linspace(-3, 3, 101), [-np.inf, np.inf, -0.0]])
    with np.errstate(all="ignore"):
        for name in NEVER_NEGATIVE:
            y = Primitive.registry[name].impl(x)
            assert not (y < 0).any(), name


def test_nothing_cancels():
    """Differences of large numbers are taken before they are added up."""
    big = np.full(1000, 1e15)
    check_compiled(lambda x: np.sum((x + 0.25) - x), big, rtol=0)
