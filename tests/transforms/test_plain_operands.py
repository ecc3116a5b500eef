"""Plain arrays that a traced function overwrites after it has used them."""

import numpy as np
import pytest
import scipy.sparse

import linad
from linad.errors import OverwrittenError
from linad.testing.derivative_checks import check_derivatives
from linad.transforms.plain_operands import PlainOperands, fingerprint, is_frozen, is_uniform

X = np.array([0.3, -0.7, 1.9])


def basis(x):
    """A workspace that is overwritten in each round, as NumPy code does."""
    w = np.zeros(3)
    y = x * 0.0
    for k in range(3):
        w[:] = 0
        w[k] = k + 1
        y = y + np.sin(x) * w
    return y


def test_a_workspace_may_be_overwritten():
    np.testing.assert_allclose(linad.jacobian(basis)(X), np.diag(np.cos(X) * [1, 2, 3]))
    check_derivatives(basis, X)
    tape = linad.trace(basis, X)[1]
    np.testing.assert_allclose(tape(X + 1), basis(X + 1))


@pytest.mark.parametrize("n", [3, 20_000])
def test_a_workspace_may_be_restored(n):
    def f(x):
        w = np.ones(n)
        y = x * w * 0
        for k in range(2):
            w[k] += 1.0
            y = y + x * w
            w[k] -= 1.0
        return np.sum(y)

    expected = np.full(n, 2.0)
    expected[:2] = 3
    np.testing.assert_array_equal(linad.grad(f)(np.ones(n)), expected)


def test_views_of_what_is_overwritten():
    def f(x):
        w = np.ones(3)
        y = x * np.broadcast_to(w, (3, 3)) + x * w[::-1]
        w[:] = 7
        return np.sum(y)

    np.testing.assert_array_equal(linad.grad(f)(X), np.full(3, 6.0))
    frozen = np.ones(3)
    view = frozen[:2]
    view.flags.writeable = False
    assert not is_frozen(view)
    frozen.flags.writeable = False
    assert is_frozen(view)


def test_copies_are_shared():
    kept = PlainOperands()
    a = np.ones(1000)
    first = kept.keep(a)
    assert first is not a
    assert kept.keep(a) is first
    a[0] = 2
    assert kept.keep(a)[0] == 2
    assert first[0] == 1


def test_a_large_one_is_watched():
    n = 200_000
    w = np.ones(n)

    def f(x):
        y = x * w
        w[1000:2000] = 2.0
        return np.sum(y)

    x = np.ones(n)
    for transform in (linad.grad(f), lambda x: linad.trace(f, x), linad.hessian(f)):
        w[:] = 1
        with pytest.raises(OverwrittenError, match=r"shape \(200000,\).*w.copy\(\)"):
            transform(x)
    # A sum refers to nothing, forward mode keeps nothing, and a copy stays.
    linad.grad(lambda x: np.sum(x + w) + np.sum(w.__setitem__(slice(None), 5.0) or w))(x)
    w[:] = 1
    assert linad.jvp(f, (x,), (x,))[1] == n
    w[:] = 1
    with linad.config(snapshot_bytes=10**7):
        np.testing.assert_array_equal(linad.grad(f)(x), np.ones(n))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.int16, bool])
def test_fingerprints(dtype):
    rng = np.random.default_rng(0)
    a = 10 * rng.standard_normal((130, 40))
    a = a > 0 if dtype is bool else a.astype(dtype)
    before = fingerprint(a)
    assert fingerprint(a.copy()) == before
    assert fingerprint(a[::-1]) != before
    a[3, 5] = a[3, 5] + 1 if dtype is not bool else not a[3, 5]
    assert fingerprint(a) != before
    sorted_ = np.sort(a, axis=None)
    assert fingerprint(sorted_) != fingerprint(a)


def _overwrite(w):
    w[3] = 100.0


@pytest.mark.parametrize(
    "write",
    [
        lambda w: w.__setitem__(3, 100.0),
        _overwrite,
        lambda w: np.add(w, 1, out=w),
        lambda w: w[3:4].fill(7.0),
        lambda w: np.copyto(w[3:4], 7.0),
    ],
    ids=["method", "function", "out", "fill", "copyto"],
)
def test_one_entry_of_a_large_one(write):
    w = np.ones(200_000)

    def f(x):
        y = w * x
        write(w)
        return y

    for transform in (lambda x: linad.linearize(f, x), linad.jit(f)):
        w[...] = 1
        with pytest.raises(OverwrittenError):
            transform(np.ones(w.size))


def test_swaps_are_seen():
    a = np.ones(5000)
    a[[0, 1021]] = 2.0, 3.0
    before = fingerprint(a)
    a[[0, 1021]] = a[[1021, 0]]
    assert fingerprint(a) != before
    b = np.arange(900.0).reshape(30, 30)
    assert len({fingerprint(v) for v in (b, b.T, b[::-1], b.reshape(60, 15), b.copy("F"))}) == 5


def test_borrowed_memory_is_not_frozen():
    memory = bytearray(8 * 600)
    borrowed = np.frombuffer(memory)
    borrowed.flags.writeable = False
    assert not is_frozen(borrowed)
    assert is_frozen(np.frombuffer(bytes(memory)))

    def f(x):
        y = x * borrowed
        memory[:8] = np.ones(1).tobytes()
        return y

    x = np.ones(600)
    np.testing.assert_array_equal(linad.jacobian(f)(x), 0)
    compiled = linad.jit(f)
    for _ in range(3):
        memory[:] = bytes(len(memory))
        np.testing.assert_array_equal(linad.jvp(compiled, (x,), (x,))[1], 0)


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"])
def test_sparse_matrices(format):
    A = scipy.sparse.random_array((5, 5), density=0.6, rng=0, format=format)

    def f(x):
        B = A.copy()
        y = B @ x + x @ B
        if format in ("lil", "dok"):
            B[0, 0] = 99.0
        else:
            B.data[...] = 99.0
        return y

    expected = A.toarray() + A.T.toarray()
    np.testing.assert_allclose(linad.jacobian(f)(np.ones(5)), expected)


def test_a_recorded_program_reads_a_sparse_matrix_itself():
    A = scipy.sparse.random_array((5, 5), density=0.6, rng=0, format="csr")
    x = np.arange(5.0)
    jitted = linad.jit(lambda x: (A @ x) ** 2)
    for k in range(4):
        A.data[...] = k + 1
        np.testing.assert_allclose(jitted(x), (A @ x) ** 2)

    def f(x):
        y = A @ x
        A.data[0] += 1
        return y + A @ x

    jitted = linad.jit(f)
    for _ in range(3):
        A.data[0] = 3.0
        expected = f(x)
        A.data[0] = 3.0
        np.testing.assert_allclose(jitted(x), expected)
        assert A.data[0] == 4.0


def test_uniform():
    """Bit by bit: zeros of both signs differ, and NaN is the same as itself."""
    assert is_uniform(np.ones(5))
    assert is_uniform(np.full((2, 3), np.nan))
    assert is_uniform(np.full(4, 1 + 2j))
    assert is_uniform(np.ones(3, bool))
    assert is_uniform(np.arange(8.0)[::8])
    assert not is_uniform(np.array([0.0, -0.0]))
    assert not is_uniform(np.array([1 + 2j, 1 + 3j]))
    assert not is_uniform(np.ones(0))
