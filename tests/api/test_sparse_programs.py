"""Compiled sparse derivatives: against the dense ones, on random structures, path by path."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings, strategies as st

import linad

N = 8
ONES = np.ones(N)
SPARSE = scipy.sparse.random_array((N, N), density=0.3, rng=np.random.default_rng(1)).tocsr()
PLACES = np.array([0, 0, 3, 7, 1, 1, 1, 2])


def looped(x):
    for _ in range(20):
        x = x + 0.1 * np.sin(x) * np.roll(x, 1)[::-1]
    return x


def scattered(x):
    y = np.zeros_like(x)
    np.add.at(y, PLACES, x**2)
    y[1:] += x[:-1]
    return y


STEPS = {
    "sin": np.sin,
    "scale": lambda x: x[0] * x,
    "square": lambda x: x * x,
    "stencil": lambda x: np.pad(x, 1)[2:] - 2 * x + np.pad(x, 1)[:-2],
    "gather": lambda x: x[PLACES] * x,
    "scatter": scattered,
    "sparse": lambda x: SPARSE @ x,
    "where": lambda x: np.where(x > 0.2, x, np.exp(-(x[::-1] ** 2))),
    "maximum": lambda x: np.maximum(x, x[::-1]),
    "einsum": lambda x: np.einsum("ij,ik->ijk", x.reshape(4, 2), x.reshape(4, 2)).ravel()[:N],
    "sums": lambda x: np.repeat(x.reshape(4, 2).sum(axis=1), 2),
    "cumsum": lambda x: 0.1 * np.cumsum(x),
    "loop": looped,
    "convolve": lambda x: np.convolve(x, [0.5, 1.0, 0.25], "same"),
}
MOVING = {
    "sort": np.sort,
    "argmax": lambda x: x * x[np.argmax(x)],
    "order": lambda x: np.sin(x)[np.argsort(x)],
}


def composed(names):
    def f(x):
        for name in names:
            x = (STEPS | MOVING)[name](x)
        return x

    return f


def check(f, points, compiled=True):
    """The compiled matrices against the uncompiled and the dense ones, at several points."""
    jitted = linad.jit(f)
    for x in points:
        with np.errstate(all="ignore"):
            found = linad.sparse_jacobian(jitted, x)
            plain = linad.sparse_jacobian(f, x)
            dense = linad.jacobian(f)(x)
        if not np.isfinite(dense).all():
            continue
        np.testing.assert_array_equal(found.indptr, plain.indptr)
        np.testing.assert_array_equal(found.indices, plain.indices)
        size = 1e-11 * (1 + np.abs(dense).max(initial=0))
        np.testing.assert_allclose(found.toarray(), dense.reshape(found.shape), atol=size)
        assert found.dtype == plain.dtype
    program = next(iter(jitted.related.values()))
    assert program.without is not compiled
    return program


QUICK = ("gather", "scatter", "sparse", "stencil")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.full) for n in sorted(STEPS)]
)
def test_each_step(name):
    rng = np.random.default_rng(5)
    check(STEPS[name], [rng.uniform(-1, 1, N) for _ in range(3)])


@pytest.mark.parametrize(
    "name", ["sort", *[pytest.param(n, marks=pytest.mark.full) for n in ("argmax", "order")]]
)
def test_patterns_that_depend_on_values(name):
    rng = np.random.default_rng(6)
    check(composed(["sin", name, "stencil"]), [rng.uniform(-1, 1, N) for _ in range(4)], False)


names = st.lists(st.sampled_from(sorted(STEPS)), min_size=2, max_size=4)


@pytest.mark.full
@settings(deadline=None, max_examples=60)
@given(names, st.integers(0, 2**16))
def test_random_structures(names, seed):
    rng = np.random.default_rng(seed)
    f = composed(names)
    check(f, [rng.uniform(-1, 1, N) for _ in range(3)])
    check(lambda x: np.concatenate([f(x)[1:], x[:2] ** 2]), rng.uniform(-1, 1, (3, N)))


@pytest.mark.full
@settings(deadline=None, max_examples=30)
@given(names, st.integers(0, 2**16))
def test_random_hessians(names, seed):
    rng = np.random.default_rng(seed)

    def f(x):
        return np.sum(np.sin(composed(names)(x))) + x[0] * x[-1]

    compare_hessians(f, rng.uniform(-1, 1, (3, N)))


def compare_hessians(f, points):
    jitted = linad.jit(f)
    for x in points:
        with np.errstate(all="ignore"):
            found = linad.sparse_hessian(jitted, x)
            dense = linad.hessian(f)(x)
        if np.isfinite(dense).all():
            size = 1e-10 * (1 + np.abs(dense).max())
            np.testing.assert_allclose(found.toarray(), dense, atol=size)
            np.testing.assert_array_equal(found.toarray(), found.toarray().T)
    assert not next(iter(jitted.related.values())).without


def test_hessians():
    rng = np.random.default_rng(7)
    compare_hessians(lambda x: np.sum(x[1:] ** 2 * x[:-1]), rng.random((3, N)))


@pytest.mark.full
def test_more_hessians():
    rng = np.random.default_rng(8)
    compare_hessians(lambda x: np.sum(scattered(np.sin(x))) ** 2, rng.random((3, N)))
    compare_hessians(lambda x: np.sum((SPARSE @ x) ** 4) + x[0] * x[1], rng.random((3, N)))


@pytest.mark.usefixtures("kernels")
def test_paths():
    """What Python decides on values is decided at each point."""

    def f(x):
        return x[1:] * x[:-1] if x[0] > 0 else np.sin(x[2:])

    check(f, [ONES, -ONES, 2 * ONES, -2 * ONES, ONES])


def test_what_stands_outside():
    weights = np.arange(1.0, N + 1)
    places = np.arange(N)

    def f(x):
        return weights * x[places]

    jitted = linad.jit(f)
    for _ in range(3):
        linad.sparse_jacobian(jitted, ONES)
    weights[2] = 50.0
    assert linad.sparse_jacobian(jitted, ONES)[2, 2] == 50.0
    places[:] = places[::-1].copy()
    np.testing.assert_array_equal(
        linad.sparse_jacobian(jitted, ONES).toarray(), np.diag(weights)[:, ::-1]
    )


@pytest.mark.usefixtures("kernels")
def test_arguments():
    @linad.jit
    def f(a, rest, power):
        return {"sum": a + rest[0][::-1] * rest[1]["k"], "first": a[0] * rest[0] ** power}

    a, rest = np.arange(1.0, 4.0), [np.ones(3), {"k": 2.0}]
    for argnums in (0, (1, 0)):
        for k in range(3):
            point = a + k, [rest[0] * (k + 1), {"k": 2.0 + k}], 2
            found = linad.sparse_jacobian(f, *point, argnums=argnums)
            J = linad.linearize(f.function, *point, argnums=argnums)[1]
            np.testing.assert_allclose(found.toarray(), J.todense(), rtol=1e-14)


@pytest.mark.usefixtures("kernels")
def test_compiled_calls_inside_other_functions():
    """A jitted function in the middle keeps its pattern, and so does its linearization."""
    jitted = linad.jit(lambda v, c, d: (v[1:] * v[:-1] * c, d * v[1:]))
    x, others = np.arange(1.0, N + 1), (np.full(N - 1, 2.0), np.full(N - 1, 3.0))

    def f(v):
        a, b = jitted(v, *others)
        return np.sin(a) + b[::-1]

    for k in range(3):
        found = linad.sparse_jacobian(f, x + k)
        assert found.nnz < 3 * N
        np.testing.assert_allclose(found.toarray(), linad.jacobian(f)(x + k), rtol=1e-13)
        J = linad.linearize(jitted, x + k, *others)[1]
        assert J.nnz == 5 * (N - 1)
        dense = linad.linearize(jitted.function, x + k, *others)[1].todense()
        np.testing.assert_allclose(J.tosparse().toarray(), dense, rtol=1e-13)
        np.testing.assert_allclose(J.T.tosparse().toarray(), dense.T, rtol=1e-13)


@pytest.mark.full
def test_compiled_loops_keep_their_pattern():
    def f(x):
        for _ in range(300):
            x = x + 0.01 * np.sin(x) * x[0]
        return x

    jitted = linad.jit(f)
    for _ in range(3):
        jitted(ONES)
    assert linad.linearize(jitted, ONES)[1].nnz == 2 * N - 1
    check(f, [ONES, 2 * ONES, 3 * ONES])


@pytest.mark.usefixtures("kernels")
def test_single_precision_and_complex_numbers():
    x = np.linspace(0.1, 1, N, dtype=np.float32)
    program = check(lambda x: x[1:] * x[:-1], [x, 2 * x, 3 * x])
    assert program((x,))[2].dtype == np.float32
    check(lambda z: z**2 * z[0], [ONES + 1j, ONES - 2j, ONES * 1j])


def test_formats_and_few_entries():
    f = linad.jit(lambda x: x[1:] * x[:-1])
    for format in ("csc", "coo", "dia", "lil", "dok", "bsr"):
        for k in (1.0, 2.0):
            found = linad.sparse_jacobian(f, k * ONES, format=format)
            assert found.format == format
            np.testing.assert_array_equal(found.toarray()[0, :2], [k, k])
    for _ in range(3):
        assert linad.sparse_jacobian(linad.jit(lambda x: x[:0]), ONES).shape == (0, N)
        assert linad.sparse_jacobian(linad.jit(np.sin), 0.0).toarray() == [[1.0]]


def test_matrices_are_their_own():
    """Every method that works in place works, and changes no other matrix."""
    f = linad.jit(lambda x: x[1:] * x[:-1])
    expected = linad.sparse_jacobian(f, ONES).toarray()

    def doubled(M):
        M.data *= 2

    def rewritten(M):
        M.indices[:] = M.indices[::-1].copy()
        M.indptr[1] = 0

    changes = [
        doubled,
        rewritten,
        lambda M: M.sum_duplicates(),
        lambda M: M.sort_indices(),
        lambda M: M.eliminate_zeros(),
        lambda M: M.prune(),
        lambda M: M.setdiag(7.0),
        lambda M: M.resize((3, 3)),
        lambda M: M.__setitem__((0, 1), 3.0),
        lambda M: M.__imul__(2.0),
    ]
    for change in changes * 2:
        M, other = linad.sparse_jacobian(f, ONES), linad.sparse_jacobian(f, 0 * ONES)
        for name in ("data", "indices", "indptr"):
            assert not np.shares_memory(getattr(M, name), getattr(other, name))
            assert getattr(M, name).flags.writeable
        change(M)
        change(other)
        np.testing.assert_array_equal(linad.sparse_jacobian(f, ONES).toarray(), expected)


@pytest.mark.parametrize("format", ["csr", "csc"])
@pytest.mark.parametrize("compiled", [True, False])
def test_refilled(format, compiled):
    def f(x):
        return x[1:] * x[:-1] * 1.0

    g = linad.jit(f) if compiled else f
    held = linad.sparse_jacobian(g, ONES, format=format)
    data = held.data
    for k in range(4):
        found = linad.sparse_jacobian(g, k * ONES, format=format, out=held)
        assert found is held
        assert held.data is data
        np.testing.assert_array_equal(held.toarray(), linad.jacobian(f)(k * ONES))
    energy = linad.jit(lambda x: np.sum(x**3)) if compiled else lambda x: np.sum(x**3)
    H = linad.sparse_hessian(energy, ONES, format=format)
    assert linad.sparse_hessian(energy, 2 * ONES, format=format, out=H)[3, 3] == 12.0


def test_out_must_fit():
    f = linad.jit(lambda x: x[1:] * x[:-1])
    held = linad.sparse_jacobian(f, ONES)
    other = held.copy()
    other.indices[0] = 5
    narrow = held.astype(np.float32)
    for wrong in (held.toarray(), held.tocsc(), held[:3], other, narrow, held.tocoo()):
        with pytest.raises(linad.errors.OptionError, match="sparse_jacobian: out must be"):
            linad.sparse_jacobian(f, ONES, out=wrong)
    with pytest.raises(linad.errors.OptionError, match="format='coo' cannot be refilled"):
        linad.sparse_jacobian(f, ONES, format="coo", out=held.tocoo())


def test_of_a_derivative():
    """Where the point is traced there is no matrix; the same words as without `jit`."""
    f = linad.jit(lambda x: x[1:] * x[:-1])
    for _ in range(3):
        linad.sparse_jacobian(f, ONES)
    with pytest.raises(linad.errors.TracerError, match="sparse arrays cannot hold traced values"):
        linad.grad(lambda x: linad.sparse_jacobian(f, x).sum())(ONES)
    with pytest.raises(linad.errors.DTypeError, match="not differentiable"):
        linad.sparse_jacobian(f, np.arange(N))


@pytest.mark.full
def test_many_seeds_are_swept():
    n = 300
    W = np.random.default_rng(0).standard_normal((n, n))
    jitted = linad.jit(lambda x: np.tanh(W @ np.tanh(W @ x)))
    for k in range(3):
        x = np.full(n, 0.01 * k)
        found = linad.sparse_jacobian(jitted, x)
        np.testing.assert_allclose(found.toarray(), linad.jacobian(jitted.function)(x), rtol=1e-9)
    assert next(iter(jitted.related.values())).without


def bratu(u):
    p = np.pad(u, 1)
    return 4 * u - p[:-2, 1:-1] - p[2:, 1:-1] - p[1:-1, :-2] - p[1:-1, 2:] - 0.1 * np.exp(u)


@pytest.mark.compiles
def test_instructions_of_a_stencil():
    """What does not depend on the point is not computed: one loop and one write."""
    jitted = linad.jit(bratu)
    u = np.random.default_rng(0).random((16, 16))
    for _ in range(3):
        linad.sparse_jacobian(jitted, u)
    entries = next(iter(jitted.related.values())).entries
    report = linad.explain(entries)(u)
    assert report.fallbacks == []
    assert len(report.steps) <= 3  # exp and what goes with it; the constant part; the others
    assert report.constant_bytes <= 16 * (5 * 256 - 4 * 16)  # what is constant, and places
    assert entries._short is not None
