"""Whole programs: patterns, values by each way, and what is kept from one point to the next."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import assume, given, settings, strategies as st
from together import together

import linad
from linad.errors import DensifyError, OptionError, TracerError
from linad.linalg.sparsity import assemble, pattern_keys as structure
from linad.linalg.sparsity.assemble import knowledge_of

rng = np.random.default_rng(3)
N = 8
WEIGHTS = rng.standard_normal((N, N))
SPARSE = scipy.sparse.random_array((N, N), density=0.3, rng=np.random.default_rng(1)).tocsr()


def written(x):
    y = np.zeros_like(x)
    y[1:] = 2 * x[:-1]
    y[::2] += np.sin(x[::2])
    y[3] = 1.0
    return y


STEPS = {
    "sin": np.sin,
    "double": lambda x: 2.0 * x,
    "square": lambda x: x * x,
    "reverse": lambda x: x[::-1],
    "roll": lambda x: np.roll(x, 2),
    "diff": lambda x: np.pad(np.diff(x), (1, 0)),
    "edges": lambda x: np.pad(x, 1, mode="wrap")[1:-1] + x,
    "neighbours": lambda x: np.concatenate([x[:1] * x[-1], x[1:] * x[:-1]]),
    "where": lambda x: np.where(x > 0.2, x, np.tanh(x[::-1])),
    "maximum": lambda x: np.maximum(x, x[::-1]),
    "written": written,
    "cumsum": lambda x: 0.1 * np.cumsum(x),
    "mean": lambda x: x - np.mean(x),
    "matmul": lambda x: 0.3 * (WEIGHTS @ x),
    "sparse": lambda x: SPARSE @ x,
    "grid": lambda x: x.reshape(2, 4).T.reshape(-1) + 1.0,
    "sums": lambda x: np.repeat(x.reshape(4, 2).sum(axis=1), 2),
    "convolve": lambda x: np.convolve(x, [0.5, 1.0, 0.25], "same"),
    "einsum": lambda x: np.einsum("ij,ik->ijk", x.reshape(4, 2), x.reshape(4, 2)).ravel()[:N],
    "sort": np.sort,
    "fft": lambda x: np.fft.rfft(x).real[[0, 1, 2, 3, 3, 2, 1, 0]] / N,
    "take": lambda x: x[[0, 0, 3, 7, 1, 1, 1, 2]],
    "windows": lambda x: np.lib.stride_tricks.sliding_window_view(np.pad(x, 1), 3).sum(axis=1),
}


def program(names):
    def f(x):
        for name in names:
            x = STEPS[name](x)
        return x

    return f


def check(f, x):
    """The matrix of every way against the dense one; return the pattern."""
    J = linad.linearize(f, x)[1].flat
    dense = J.todense()
    size = 1e-11 * (1 + np.abs(dense).max(initial=0))
    pattern = J.pattern().toarray()
    assert not (dense != 0)[~pattern].any()
    np.testing.assert_allclose(J.tosparse().toarray(), dense, rtol=0, atol=size)
    facts = knowledge_of(J)
    np.testing.assert_allclose(facts.plan.matrix(J).toarray(), dense, rtol=0, atol=size)
    np.testing.assert_allclose(J.T.tosparse().toarray(), dense.T, rtol=0, atol=size)
    try:
        replay = assemble.Replay(J, 1e9)
    except assemble.TooDear:
        return pattern
    np.testing.assert_array_equal(replay.pattern.matrix.toarray(), pattern)
    matrix = assemble.stored(replay.pattern, replay.run(J))
    np.testing.assert_allclose(matrix.toarray(), dense, rtol=0, atol=size)
    return pattern


names = st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=5)


@pytest.mark.rest
@settings(deadline=None, max_examples=80)
@given(names, st.integers(0, 2**16))
def test_random_programs(names, seed):
    x = np.random.default_rng(seed).standard_normal(N)
    f = program(names)
    with np.errstate(over="ignore", invalid="ignore"):  # exp of exp of exp
        assume(np.isfinite(linad.jacobian(f)(x)).all())
    check(f, x)
    check(lambda x: np.concatenate([f(x)[1:], x[:2] ** 2]), x)


@pytest.mark.rest
@settings(deadline=None, max_examples=40)
@given(names, st.integers(0, 2**16))
def test_random_hessians(names, seed):
    x = np.random.default_rng(seed).standard_normal(N)

    def f(x):
        return np.sum(np.sin(program(names)(x))) + x[0] * x[-1]

    with np.errstate(over="ignore", invalid="ignore"):  # exp of exp of exp
        dense = linad.hessian(f)(x)
        assume(np.all(np.isfinite(dense)))
        size = 1e-10 * (1 + np.abs(dense).max())
        H = linad.sparse_hessian(f, x)
    np.testing.assert_allclose(H.toarray(), dense, rtol=0, atol=size)
    np.testing.assert_array_equal(H.toarray(), H.T.toarray())
    facts = knowledge_of(linad.hessian_operator(f, x))
    by_stars = facts.symmetric_plan.matrix(linad.hessian_operator(f, x))
    np.testing.assert_allclose(by_stars.toarray(), dense, rtol=0, atol=size)


@pytest.mark.parametrize("name", sorted(STEPS))
def test_each_step(name):
    pattern = check(STEPS[name], rng.uniform(0.3, 1.0, N))
    if name not in ("cumsum", "mean", "matmul", "fft", "where", "maximum", "sort"):
        dense = linad.jacobian(STEPS[name])(rng.uniform(0.3, 1.0, N))
        np.testing.assert_array_equal(pattern, dense != 0)


def stencil(u):
    v = np.pad(u, 1)
    return v[:-2, 1:-1] + v[2:, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:] - 4 * u


def test_five_points():
    n = 20
    u = rng.standard_normal((n, n))
    k = scipy.sparse.eye_array(n)
    line = scipy.sparse.diags_array([1.0, -2.0, 1.0], offsets=[-1, 0, 1], shape=(n, n))
    expected = scipy.sparse.kron(line, k) + scipy.sparse.kron(k, line)
    J = linad.sparse_jacobian(stencil, u)
    assert J.nnz == 5 * n * n - 4 * n
    assert abs(J - expected).max() == 0
    assert linad.linearize(stencil, u)[1].bandwidth == (n, n)


def test_containers_and_several_arguments():
    def f(d, t):
        return {"a": d["x"] * d["y"][0], "b": np.diff(d["x"]) * t}

    d, t = {"x": rng.standard_normal(6), "y": np.ones(2)}, np.arange(1.0, 6.0)
    J = linad.linearize(f, d, t)[1]
    np.testing.assert_allclose(J.tosparse().toarray(), J.todense())
    only = linad.sparse_jacobian(f, d, t, argnums=1)
    np.testing.assert_allclose(only.toarray(), J.todense()[:, 8:])
    assert J.nnz == 6 + 6 + 10 + 5


def test_operations_with_several_results():
    x = rng.uniform(0.5, 1.0, 5)
    check(lambda x: np.modf(3 * x)[0] * x, x)
    check(lambda x: np.concatenate(np.divmod(3 * x, x[::-1])), x)
    check(lambda x: np.linalg.slogdet(x[:4].reshape(2, 2))[1] * x, x)
    check(lambda x: np.linalg.eigh(np.outer(x, x) + np.diag(np.arange(5.0)))[0], x)


def test_compiled_functions():
    def f(x):
        return np.diff(x) ** 2

    x = rng.standard_normal(6)
    assert linad.sparse_jacobian(linad.jit(f), x).nnz == 10
    assert linad.sparse_hessian(linad.jit(lambda x: np.sum(f(x))), x).nnz == 16
    inner = linad.jit(lambda x, y: (f(x) * y[1:], 2 * x))
    check(lambda x: np.concatenate(inner(x, np.exp(x))), x)


def test_complex_and_single_precision():
    z = rng.standard_normal(6) + 1j * rng.standard_normal(6)
    check(lambda z: z[1:] ** 2 * (2 + 1j) + z[:-1], z)
    J = linad.linearize(lambda x: np.exp(1j * x[1:]) * x[:-1], rng.standard_normal(6))[1]
    np.testing.assert_allclose(J.tosparse().toarray(), J.todense())
    x = np.arange(1, 7, dtype=np.float32)
    J = linad.sparse_jacobian(lambda x: 0.5 * np.diff(x) ** 2, x)
    assert J.dtype == np.float32
    assert linad.sparse_hessian(lambda x: np.sum(np.diff(x) ** 4), x).dtype == np.float32


def test_what_is_masked_out_passes_nothing_on():
    def f(x):
        return np.where(x > 0, np.sqrt(np.abs(x)), 0.0)[:-1] + x[1:]

    with np.errstate(divide="ignore", invalid="ignore"):
        J = linad.sparse_jacobian(f, np.array([0.0, 1.0, 0.0, 4.0]))
    assert np.isfinite(J.toarray()).all()


# Reuse.


def run_counted(monkeypatch):
    """Count how often a pattern is worked out."""
    structure._kept.clear()
    counts = []
    original = structure.Compact
    monkeypatch.setattr(structure, "Compact", lambda op: counts.append(1) or original(op))
    return counts


def test_patterns_are_reused_at_new_points(monkeypatch):
    counts = run_counted(monkeypatch)

    def f(x, scale):
        return np.diff(np.sin(x) * scale) * x[1:] + x[[0, 1, 2, 3]]

    for k in range(5):
        x = rng.standard_normal(5)
        J = linad.sparse_jacobian(f, x, 1.0 + k)
        np.testing.assert_allclose(J.toarray(), linad.jacobian(f)(x, 1.0 + k), atol=1e-13)
    assert len(counts) == 1
    linad.sparse_jacobian(f, rng.standard_normal(5), 3.0)
    assert len(counts) == 1


def test_a_number_or_an_array_as_a_factor():
    def f(x, scale):
        return np.convolve(np.diff(x * scale), [1.0, 2.0], "valid") + np.diff(x[1:] * scale)

    x = rng.standard_normal(6)
    for scale in (2.0, 3.0, np.float64(4.0), np.array(5.0), np.nan, 2.0):
        J = linad.sparse_jacobian(f, x, scale)
        if np.isnan(scale):
            assert np.isnan(J.data).all()  # and is not kept
            continue
        np.testing.assert_allclose(J.toarray(), linad.jacobian(f)(x, scale), atol=1e-13)
    scale = np.array([2.0])
    J = linad.sparse_jacobian(f, x, scale)
    np.testing.assert_allclose(J.toarray(), linad.jacobian(f)(x, scale), atol=1e-13)


def test_other_programs_are_told_apart(monkeypatch):
    counts = run_counted(monkeypatch)

    def f(x):
        """Reads other entries, and does other things, at other points."""
        order = np.argsort(np.real(x[:3])) if x[0] < 5 else np.array([0, 0, 1])
        y = x[order] * np.sin(x[:3])
        if x[0] > 0:
            y = y + np.roll(x, int(linad.stop_gradient(x[1])))[:3]
        return np.concatenate([y, x[1:] * x[:-1]])

    points = [
        [1.0, 2.0, 3.0, 4.0],
        [1.0, 0.0, 3.0, 4.0],
        [2.0, 1.0, 3.0, 4.0],
        [-1.0, 1.0, 3.0, 4.0],
        [9.0, 1.0, 3.0, 4.0],
        [1.0, 2.0, 3.0, 4.0],
    ]
    for x in map(np.array, points):
        J = linad.sparse_jacobian(f, x)
        np.testing.assert_allclose(J.toarray(), linad.jacobian(f)(x), atol=1e-13)
    assert len(counts) >= 4


def test_a_sparse_matrix_may_change_between_points():
    A = SPARSE.copy()

    def f(x):
        return A @ np.sin(x) + x

    x = rng.standard_normal(N)
    for step in range(3):
        J = linad.sparse_jacobian(f, x)
        np.testing.assert_allclose(J.toarray(), linad.jacobian(f)(x), atol=1e-13)
        A.data *= 2.0  # other values in the same places
        if step == 1:
            A.indices[:] = A.indices[::-1].copy()  # other places
            A.indptr[:] = A.nnz - A.indptr[::-1]


def test_what_comes_back_is_the_callers_own():
    x = rng.standard_normal(6)
    first = linad.sparse_jacobian(np.diff, x)
    expected = first.toarray()
    for array in (first.data, first.indices, first.indptr):
        array[:] = 0
    J = linad.linearize(np.diff, x)[1]
    J.pattern().indices[:] = 0
    np.testing.assert_array_equal(J.tosparse().toarray(), expected)


def test_only_so_much_is_kept(monkeypatch):
    structure._kept.clear()
    monkeypatch.setattr(structure, "KEPT_ENTRIES", 30)
    for n in range(3, 12):
        linad.sparse_jacobian(np.diff, np.ones(n))
        assert sum(k.pattern.nnz for k in structure._kept.values()) <= 30
    assert structure._kept


def test_threads():
    x = rng.standard_normal(30)
    expected = linad.jacobian(lambda x: np.diff(x) ** 3 + x[1:])(x)

    def work(_):
        for _ in range(20):
            J = linad.sparse_jacobian(lambda x: np.diff(x) ** 3 + x[1:], x)
            np.testing.assert_allclose(J.toarray(), expected)

    together(4, work)


# Ways.


def test_products_are_formed_where_colours_are_many():
    A = scipy.sparse.random_array((200, 300), density=0.1, rng=np.random.default_rng(0)).tocsr()
    x = rng.standard_normal(300)
    J = linad.linearize(lambda x: np.sin(A @ np.exp(x)), x)[1]
    expected = scipy.sparse.diags_array(np.cos(A @ np.exp(x))) @ A @ np.diag(np.exp(x))
    np.testing.assert_allclose(J.tosparse().toarray(), expected)
    facts = knowledge_of(J)
    assert facts.replay or facts.products_pay
    G = J.T @ J + 0.1 * linad.eye(300)
    np.testing.assert_allclose(G.tosparse().toarray(), G.todense(), atol=1e-10)


def test_sweeps_come_in_blocks():
    x = rng.standard_normal(40)
    J = linad.linearize(lambda x: np.fft.rfft(x[:6]).imag[1] * x[1:] ** 2 + x[:-1], x)[1]
    expected = J.todense()
    with linad.config(block_bytes=1):
        np.testing.assert_allclose(knowledge_of(J).plan.matrix(J).toarray(), expected, atol=1e-12)


# Errors.


def test_formats():
    J = linad.linearize(np.diff, np.ones(4))[1]
    for format in ("csr", "csc", "coo", "bsr", "dia", "dok", "lil"):
        found = J.tosparse(format)
        assert found.format == format
        np.testing.assert_array_equal(found.toarray(), J.todense())
    for call in (
        lambda: J.tosparse("dense"),
        lambda: linad.sparse_jacobian(np.diff, np.ones(3), format="dense"),
        lambda: linad.sparse_hessian(np.sum, np.ones(3), format="dense"),
    ):
        with pytest.raises(OptionError, match=r"format must be 'csr'.*, got 'dense'"):
            call()


def test_a_dense_pattern_has_a_limit():
    with linad.config(densify_limit=50), pytest.raises(DensifyError, match="pattern has 64 entr"):
        linad.linearize(lambda x: x - np.mean(x), np.ones(8))[1].tosparse()


def test_inside_another_derivative():
    def f(x):
        return np.sum(linad.sparse_jacobian(lambda y: np.diff(y) ** 2, x).toarray())

    with pytest.raises(TracerError, match="itself being differentiated"):
        linad.grad(f)(np.ones(4))


def test_triangular_loops_end_with_empty_slices():
    def gram_schmidt(x):
        a, r = x.reshape(2, 2).copy(), np.zeros_like(x, shape=(2, 2))
        for j in range(2):
            r[j, j] = a[0, j] ** 2
            r[j, j + 1 :] = a[:, j] @ a[:, j + 1 :]
            a[:, j + 1 :] -= np.outer(a[:, j], r[j, j + 1 :])
        return r

    x = np.array([1.5, 0.3, -0.4, 2.0])
    found = linad.sparse_jacobian(gram_schmidt, x).toarray()
    np.testing.assert_allclose(found, linad.jacobian(gram_schmidt)(x).reshape(4, 4), atol=1e-14)


def test_pictures():
    J = linad.linearize(lambda x: np.diff(x) ** 2, np.ones(200))[1]
    html = J._repr_html_()
    assert html.count("<rect") > 60
    assert "398 entries, 1 %" in html
    full = linad.linearize(lambda x: np.ones((4, 3)) @ x, np.ones(3))[1]
    assert "12 entries, 100 %" in full._repr_html_()
    assert len(html) < 30_000
    assert "<svg" in linad.eye(0)._repr_html_()
    large = linad.linearize(lambda x: x - np.mean(x), np.ones(5000))[1]._repr_html_()
    assert "<svg" not in large
    assert "TapeOperator" in large
