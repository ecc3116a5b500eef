"""Sums of outer products: as NumPy computes them where anything is not finite."""

import numpy as np
import pytest

import linad
from linad.transforms.outer_sums import product_of_sums
from linad.transforms.simplify import simplify

ODD = [0.0, -0.0, 1e-310, 1e200, -1e200, 1.7e308, np.inf, -np.inf, np.nan]


def kron(x, v):
    return np.sum(np.kron(x, v))


def view_and_triangle(x, v):
    return np.sum(np.kron(x[:4, 1:], np.triu(v)))


def outer(x, v):
    return np.sum(np.outer(x, v).T)


def stacked(x, v):
    return np.sum(x[:, None, :, None] * np.sin(v)[None, :, None, :])


def names(tape):
    return [e.primitive.name for e in tape.equations]


FULL = pytest.mark.full


@pytest.mark.compiles
@pytest.mark.parametrize(
    "f", [kron, view_and_triangle, *[pytest.param(f, marks=FULL) for f in (outer, stacked)]]
)
@pytest.mark.parametrize("dtype", [float, pytest.param(np.float32, marks=FULL)])
def test_values_and_gradients(f, dtype):
    rng = np.random.default_rng(0)
    x, v = [rng.uniform(0.5, 1, (6, 6)).astype(dtype) for _ in range(2)]
    both = linad.value_and_grad(f, argnums=(0, 1))
    jitted = linad.jit(both)
    expected = both(x, v)
    for _ in range(3):
        value, slopes = jitted(x, v)
        assert value.dtype == dtype
        np.testing.assert_allclose(value, expected[0], rtol=20 * np.finfo(dtype).eps)
        for a, b in zip(slopes, expected[1], strict=True):
            np.testing.assert_allclose(a, b, rtol=20 * np.finfo(dtype).eps)
    ((variant,),) = jitted.variants.values()
    program = names(variant.compiled.program.tape)
    assert program.count("product_of_sums") == 1
    assert "kron" not in program
    # No array of all products.
    report = linad.explain(jitted)(x, v)
    assert report.fallbacks == []
    assert report.arena_bytes < 6**4 * np.dtype(dtype).itemsize


def magnitude(a):
    """The sum of the absolute values of what is finite, which may be too large a number."""
    return np.sum(np.abs(a[np.isfinite(a)]))


def test_odd_numbers():
    """What is not finite comes out as the plain form has it; what overflows on the way only,
    in the sums of the factors, does not show."""
    rng = np.random.default_rng(1)
    compiled = {f: linad.jit(f) for f in (kron, outer)}
    for trial in range(300):
        x, v = rng.standard_normal((2, 5, 5))
        for a in (x, v)[: 1 + trial % 2]:
            places = rng.random(a.shape) < rng.choice([0.05, 0.5])
            a[places] = rng.choice(ODD, places.sum())
        for f, jitted in compiled.items():
            with np.errstate(all="ignore"):
                expected, found = f(x, v), jitted(x, v)
                sums = np.sum(x), np.sum(v)
                short = sums[0] * sums[1]
                size = magnitude(x) * magnitude(v)
            if np.isfinite([*sums, short]).all():
                if np.isfinite(size):
                    np.testing.assert_allclose(found, short, atol=1e-13 * size)
                    np.testing.assert_allclose(found, expected, atol=1e-13 * size)
                assert np.isfinite(found)
            elif np.isfinite(size):
                np.testing.assert_allclose(found, expected, rtol=1e-12)
            else:  # finite products overflow: which order they are added in decides
                assert not np.isfinite(expected) or np.isclose(found, expected)


def test_sums_that_overflow():
    """Products of large and small numbers are added although the large ones alone overflow."""
    jitted = linad.jit(outer)
    large, small = np.full(40, 1e308), np.full(40, 1e-300)
    for _ in range(3):
        np.testing.assert_allclose(jitted(large, small), 1600 * 1e8, rtol=1e-12)


def test_what_stays():
    """Common axes, axes that are kept, integers, few products; and tapes that are exported."""

    def plain(f, *inputs, for_programs=True):
        tape = simplify(linad.jit(f).variant(*inputs).tape, for_programs)
        return product_of_sums.name not in names(tape)

    x = np.ones((6, 6))
    assert plain(lambda x, v: np.sum(x * v), x, x)
    assert plain(lambda x, v: np.sum(x[:, None] * v[None], axis=0), x, x)
    assert plain(lambda x, v: np.sum(x[0] * v), x, 2.0)
    assert plain(kron, x, x.astype(complex))
    assert plain(kron, np.ones((2, 2)), np.ones((1, 2)))
    assert plain(kron, x, x, for_programs=False)
    assert not plain(kron, x, x)


def test_without_kernels():
    """NumPy's form of the primitive, for targets that have no kernel of it."""
    a, b = np.array([1.0, 2.0]), np.array([3.0, np.inf])
    assert product_of_sums.impl(9.0, 3.0, 3.0, a, b) == 9.0
    assert product_of_sums.impl(np.inf, 3.0, np.inf, a, b) == np.inf
    with np.errstate(invalid="ignore"):
        assert np.isnan(product_of_sums.impl(np.nan, 0.0, np.inf, a * 0, b))
