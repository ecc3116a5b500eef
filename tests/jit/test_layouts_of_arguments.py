"""How arguments lie in memory: what is recorded with one layout and called with another."""

import itertools

import numpy as np
import pytest

import linad
from linad.core.memory_layouts import copied, copy_in_layout, layout_of

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


BROADCAST = {
    "rows": np.broadcast_to(np.arange(4.0), (2, 4)),
    "long rows": np.broadcast_to(np.arange(600.0), (2, 600)),
    "columns": np.broadcast_to(np.arange(4.0)[:, None], (4, 2)),
    "between": np.broadcast_to(np.arange(24.0).reshape(4, 6)[:, None], (4, 3, 6)),
    "before a transpose": np.broadcast_to(np.arange(24.0).reshape(4, 6).T, (3, 6, 4)),
    "in a transpose": np.broadcast_to(np.arange(24.0).reshape(4, 6).T[:, None], (6, 3, 4)),
    "before rows reversed": np.broadcast_to(np.arange(24.0).reshape(4, 6)[::-1], (3, 4, 6)),
}


@pytest.mark.parametrize("name", BROADCAST)
def test_results_of_broadcast_operands_lie_as_those_of_numpy(name):
    """A copy would stand in an order of its own, where a broadcast axis leaves it to others."""
    b = BROADCAST[name]
    assert (copy_in_layout(b) * 1).strides == (b * 1).strides

    def plain(s):
        return s * b

    def beside(x):
        y = b + x
        y.reshape(-1)[0] = 100.0  # a view, or a copy
        return y

    def written(v):
        v[...] = v * 1.0
        return np.exp(np.broadcast_to(v, b.shape))

    narrow = tuple([slice(None, 1 if step == 0 else None) for step in b.strides])
    turned = np.asfortranarray(b * 0.5)
    for f, x in ((plain, np.float64(2.0)), (written, b[narrow].copy("K")), (beside, turned)):
        expected = f(x.copy("K") if x.ndim else x)
        for transform in (linad.jit(f), lambda x, f=f: linad.linearize(f, x)[0]):
            found = transform(x.copy("K") if x.ndim else x)
            assert found.strides == expected.strides
            np.testing.assert_allclose(found, expected, rtol=1e-14)


IN_COLUMNS = {
    "a loop": lambda x: np.sin(x) * 2,
    "a product": lambda x: np.tanh(x @ x).T,
    "a view": lambda x: np.sin(x).T,
    "an argument": lambda x: x.T,
    "of a transpose": lambda x: x.T * 2 + 1,
    "twice": lambda x: (lambda y: (y, y.T, np.sum(y), y))(np.sin(x)),
    "several": lambda x: (np.sin(x), x.T + 1, np.sum(x, 0), np.sum(x * x)),
    "joined": lambda x: np.concatenate([np.sin(x.T), x.T * 2], 1).T,
    "written into": lambda x: (lambda y: (y.__setitem__(0, 5 * x[0]), y)[1])(x.T * 1),
    "run by NumPy": lambda x: np.fft.fft(x).T,
    "integers": lambda x: (x * 10).astype(int).T,
    "a gradient": linad.grad(lambda x: np.sum(np.sin(x.T @ x) ** 2)),
}


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("name", IN_COLUMNS)
def test_programs_take_and_make_arrays_in_order_f(name, order):
    f, rng = IN_COLUMNS[name], np.random.default_rng(3)
    compiled = linad.jit(f)
    for _ in range(4):  # recorded, compiled, the short way written, gone
        x = np.array(rng.random((4, 4)), order=order)
        given = x.copy("K")
        expected, found = f(x), compiled(x)
        if not isinstance(found, tuple):
            expected, found = (expected,), (found,)
        np.testing.assert_array_equal(x, given)
        for a, b in zip(expected, found, strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-12)
            assert layout_of(a) == layout_of(b)
            assert not np.shares_memory(b, x)


def test_a_result_in_order_f_is_computed_where_it_lies():
    compiled = linad.jit(lambda x: x.T * 2 + 1)
    x = np.random.default_rng(4).random((5, 7))
    for _ in range(3):
        y = compiled(x)
    assert y.flags.f_contiguous
    assert y.base is None
    [[path]] = compiled.variants.values()
    assert len(path.compiled.program.lowering.instructions) == 1


def test_arrays_in_any_order_go_the_short_way():
    f = linad.grad(lambda x: np.sum(np.sin(x) ** 2 * np.arange(3.0)))
    compiled = linad.jit(f)
    x = np.random.default_rng(5).random((4, 3))
    others = [np.asfortranarray(x), x, np.repeat(x, 2, 1)[:, ::2], x[::-1], np.asfortranarray(x)]
    for _ in range(2):
        for a in others:
            np.testing.assert_allclose(compiled(a), f(a), rtol=1e-12)
            np.testing.assert_allclose(compiled(a), f(a), rtol=1e-12)


# Layouts of three axes, of which most are neither C nor F.


def turned(*axes):
    return lambda a: np.array(a.transpose(axes), order="C").transpose(np.argsort(axes))


THREE_AXES = {
    **{f"as {axes}": turned(*axes) for axes in itertools.permutations(range(3))},
    "columns reversed": lambda a: a[:, ::-1].copy()[:, ::-1],
    "rows with gaps": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
    "entries with gaps": lambda a: np.repeat(a, 3, axis=2)[..., ::3],
    "blocks with gaps": lambda a: np.repeat(a, 2, axis=0)[::2],
}


def rows_of_a_view(x):
    y = x.reshape(6, 4)
    z = y[1]
    z[:] = 5
    y[2:4, 1] = 7
    return x.sum(), y.copy(), z.copy()


def chosen_in_a_view(x):
    y = x.reshape(6, 4)
    y[[0, 3]] = 2
    y[y > 0.8] = 0
    np.add.at(y, [0, 0], 1.0)
    return y * 1


def view_over_a_write(x):
    y = x.reshape(6, 4).T
    y[1] *= 3
    w = y[2]
    x += 1
    return w * 1, y * 1


def columns_swapped(x):
    y = x.reshape(6, 4)
    y[0, 0] = y[5, 3] * 2
    y[:, 1], y[:, 2] = y[:, 2].copy(), y[:, 1].copy()
    return y.sum(0), x.ravel("K"), x.flatten("A")


def flat_and_last(x):
    x.flat[3] = 1
    x.T[0] = 3
    y = np.reshape(x, (4, 6), order="F")
    y[1] = 0
    return y, x.swapaxes(0, 1) * 2


@pytest.mark.parametrize("name", THREE_AXES)
def test_views_and_writes_of_arrays_of_any_layout(name, kernels):
    a = np.random.default_rng(0).uniform(0.2, 0.9, (2, 3, 4))
    for f in (rows_of_a_view, chosen_in_a_view, view_over_a_write, columns_swapped, flat_and_last):
        for first in (name, "as (0, 1, 2)"):  # recorded in this layout, or in order C
            jitted, plain = linad.jit(f), THREE_AXES[name](a)
            jitted(THREE_AXES[first](a))
            expected = f(plain)
            for _ in range(3):
                x = THREE_AXES[name](a)
                found = jitted(x)
                pairs = [(found, expected)] if isinstance(expected, np.ndarray) else []
                pairs = pairs or list(zip(found, expected, strict=True))
                for one, other in [*pairs, (x, plain)]:
                    np.testing.assert_allclose(one, other, rtol=1e-14)


def test_copies_of_whole_numbers_lie_as_they_do():
    def f(x, n):
        copy = np.array(n.T * 3)
        copy.reshape(-1)[0] = 100  # a view of it, or a copy
        return x * copy

    jitted, n = linad.jit(f), np.arange(6).reshape(3, 2)
    for _ in range(3):
        np.testing.assert_array_equal(jitted(2.0, n), f(2.0, n))
