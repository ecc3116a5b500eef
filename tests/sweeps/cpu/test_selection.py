"""Entries at some places of sorted lines, in compiled programs: as NumPy's stable sort has them."""

import numpy as np
import pytest
from compiled_runs import check_compiled

import linad
from linad.core.primitive import Primitive

ordered_places = Primitive.registry["ordered_places"]
RNG = np.random.default_rng(0)
DRAWS = {
    "different": lambda n: RNG.normal(size=(2, n)) * 1e6,
    "many equal": lambda n: np.rint(3 * RNG.normal(size=(2, n))),
    "all equal": lambda n: np.zeros((2, n)),
    "rising": lambda n: np.arange(2.0 * n).reshape(2, n),
    "falling": lambda n: -np.arange(2.0 * n).reshape(2, n),
}


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8", "?"])
@pytest.mark.parametrize("draw", DRAWS)
def test_places(draw, dtype):
    for n in (5, 60, 200):
        x = DRAWS[draw](n)
        order = np.argsort(x.astype(dtype), axis=-1, kind="stable")
        for kth in ((0,), (n - 1,), (n // 2, n // 2 + 1, n - 1), tuple(range(0, n, n // 5))):

            def f(x, kth=kth):
                return ordered_places(np.astype(x, dtype), kth=kth)[:, list(kth)]

            done = check_compiled(f, x)
            assert "places in order" in done or len(kth) > 3
            compiled = linad.jit(f)
            for _ in range(2):
                np.testing.assert_array_equal(compiled(x), order[:, list(kth)])


@pytest.mark.parametrize("n", [60, 5000])
def test_what_is_missing_comes_last(n):
    x = DRAWS["many equal"](n)
    x[0, ::2], x[1, :3] = np.nan, (np.inf, -np.inf, -0.0)
    order, kth = np.argsort(x, axis=-1, kind="stable"), [0, 1, n // 2, n - 2, n - 1]
    f = linad.jit(lambda x: ordered_places(x, kth=tuple(kth))[:, kth])
    for _ in range(2):
        np.testing.assert_array_equal(f(x), order[:, kth])


def test_quantiles_of_many_entries_need_no_numpy():
    x = RNG.normal(size=5000)
    for f in (np.median, lambda x: np.sum(np.percentile(x, [5, 50, 95]) ** 2)):
        gradient = linad.jit(linad.grad(f))
        for _ in range(3):
            np.testing.assert_array_equal(gradient(x), linad.grad(f)(x))
        assert not linad.explain(gradient)(x).fallbacks
