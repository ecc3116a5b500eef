"""How arguments lie in memory: what is recorded with one layout and called with another."""

import itertools

import numpy as np
import pytest

import linad
from linad.core.memory_layouts import copied, layout_of

BASE = np.arange(1.0, 5).reshape(2, 2)
LAYOUTS = {
    "C": lambda: BASE.copy(),
    "F": lambda: np.asfortranarray(BASE),
    "rows reversed": lambda: BASE[::-1].copy()[::-1],
    "all reversed": lambda: BASE[::-1, ::-1].copy()[::-1, ::-1],
    "columns apart": lambda: np.repeat(BASE, 2, 1)[:, ::2],
    "rows apart": lambda: np.repeat(BASE, 2, 0)[::2],
    "F, rows apart": lambda: np.asfortranarray(np.repeat(BASE, 2, 0))[::2],
}


def flat(x):
    x.reshape(-1)[0] *= 0.5
    return x * 1.0


def transposed(x):
    x.T.reshape(-1)[1] = 7.0
    return x * x


def read_after_a_write(x):
    v = x.reshape(2, -1)
    v[0] = x[1] * 2
    return v + np.reshape(x, v.shape)


def of_a_result(x):
    z = x * 2.0
    z.T.reshape(-1)[0] = 5 * x[0, 0]
    return z


def of_an_array_like_it(x):
    z = np.zeros_like(x)
    z.reshape(-1)[2] = x[1, 0]
    return z


def raveled(x):
    x.ravel()[0] = 3.0
    return x * 2


def in_fortran_order(x):
    x.reshape(-1, order="F")[3] *= 0.25
    return x * x


FUNCTIONS = [
    *(flat, transposed, read_after_a_write, of_a_result, of_an_array_like_it, raveled),
    in_fortran_order,
]


@linad.config(disconnected="ignore")  # where a reshape is a copy, what is written into it is lost
def _check(f, names):
    jitted = linad.jit(f)
    total = {
        "grad": linad.grad(lambda x: np.sum(np.sin(f(x)))),
        "jit(grad)": linad.jit(linad.grad(lambda x: np.sum(np.sin(f(x))))),
        "grad(jit)": linad.grad(lambda x: np.sum(np.sin(jitted(x)))),
    }
    for name in names:
        a, b = LAYOUTS[name](), LAYOUTS[name]()
        np.testing.assert_array_equal(jitted(a), f(b))
        np.testing.assert_array_equal(a, b)
        slopes = np.zeros((2, 2))
        for k in np.ndindex(2, 2):
            up, down = LAYOUTS[name](), LAYOUTS[name]()
            up[k] += 1e-6
            down[k] -= 1e-6
            slopes[k] = (np.sum(np.sin(f(up))) - np.sum(np.sin(f(down)))) / 2e-6
        for what, gradient in total.items():
            found = gradient(LAYOUTS[name]())
            np.testing.assert_allclose(found, slopes, atol=1e-7, err_msg=f"{what} {name}")


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_recorded_in_c_order_and_called_in_others(f):
    _check(f, ["C", "C", *LAYOUTS])


@pytest.mark.full
@pytest.mark.parametrize("order", list(itertools.permutations(["C", "F", "rows reversed"])))
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_recorded_in_any_order(f, order):
    _check(f, [order[0], *order, *[name for name in LAYOUTS if name not in order]])


def test_a_function_that_writes_nothing_has_one_program():
    jitted = linad.jit(lambda x: np.sin(x.reshape(-1)))
    for make in LAYOUTS.values():
        np.testing.assert_allclose(jitted(make()), np.sin(BASE.reshape(-1)), rtol=1e-14)
    assert len(next(iter(jitted.variants.values()))) == 1


def _random_view(rng):
    shape = rng.integers(1, 6, rng.integers(1, 5))
    a = np.arange(float(np.prod(shape))).reshape(shape).transpose(rng.permutation(len(shape)))
    steps = [slice(None), slice(None, None, -1), slice(None, None, 2), slice(1, None)]
    return a[tuple(steps[k] for k in rng.integers(0, 4, len(shape)))]


def test_copies_have_the_same_views():
    rng = np.random.default_rng(0)
    for _ in range(300):
        a = _random_view(rng)
        b = copied(a)
        np.testing.assert_array_equal(a, b)
        assert layout_of(a) == layout_of(b)
        shapes = [(-1,), *[(k, a.size // k) for k in range(1, a.size + 1) if a.size % k == 0]]
        for shape, (u, v) in itertools.product(shapes, [(a, b), (a.T, b.T)]):
            if a.size:
                assert np.shares_memory(u.reshape(shape), u) == np.shares_memory(
                    v.reshape(shape), v
                )
