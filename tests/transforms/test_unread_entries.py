"""What nobody reads has a cotangent of zero, behind infinite slopes too."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse

import linad
from linad.transforms.unread_entries import _reads_bit_by_bit, guarded


def write(x):
    y = 1 / x
    y[0] = 0
    return np.sum(y)


def write_where(x):
    y = np.sqrt(x)
    y[x <= 0] = 0
    return np.sum(y * y * y)


LEFT_OUT = {
    "where": (lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0.0)), [0.0, 4.0], [0, 0.25]),
    "invalid": (lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0.0)), [-1.0, 4.0], [0, 0.25]),
    "entropy": (lambda x: np.sum(np.where(x > 0, x * np.log(x), 0.0)), [0.0, 1.0], [0, 1]),
    "sinc": (
        lambda x: np.sum(np.where(x != 0, np.sin(x) / x, 1.0)),
        [0.0, 1.0],
        [0, np.cos(1) - np.sin(1)],
    ),
    "slice": (lambda x: np.sum(np.sqrt(x)[1:]), [0.0, 4.0], [0, 0.25]),
    "mask": (lambda x: np.sum(np.sqrt(x)[x > 0]), [0.0, 4.0], [0, 0.25]),
    "nan_to_num": (lambda x: np.sum(np.nan_to_num(np.log(x) * x)), [0.0, 1.0], [0, 1]),
    "select": (
        lambda x: np.sum(np.select([x > 0, x < 0], [np.log(x), 1 / x], 0.0)),
        [0.0, 1.0, -2.0],
        [0, 1, -0.25],
    ),
    "power": (lambda x: np.sum(np.where(x == 0, 0.0, x**0.3)), [0.0, 1.0], [0, 0.3]),
    "arctan2": (lambda x: np.sum(np.where(x > 0, np.arctan2(x, 2 * x), 0)), [0.0, 1.0], [0, 0]),
    "moved": (
        lambda x: np.sum(np.where(x[:, None] > 0, np.sqrt(x)[:, None] * np.ones(3), 0.0)),
        [0.0, 4.0],
        [0, 0.75],
    ),
    "reshaped": (
        lambda x: np.sum(np.where(x > 0, np.sqrt(x).reshape(2, 2).T.ravel(), 0.0)[[0, 3]]),
        [0.0, 1.0, 0.0, 4.0],
        [0, 0, 0, 0.25],
    ),
    "two readers": (
        lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0) + np.where(x > 1, np.log(x), 0) * x),
        [0.0, 4.0],
        [0, 0.25 + np.log(4) + 1],
    ),
    "sums of rows": (
        lambda x: np.nansum((np.sqrt(x).reshape(2, 2) * 2.0).sum(axis=1)),
        [-1.0, 1.0, 1.0, 4.0],
        [0, 0, 1, 0.5],
    ),
    "means": (
        lambda x: np.nanmean(np.sqrt(x).reshape(2, 2).mean(axis=0)),
        [-1.0, 1.0, 1.0, 4.0],
        [0, 0.25, 0, 0.125],
    ),
    "products": (
        lambda x: np.nansum(np.log(x).reshape(2, 2).prod(axis=1)),
        [-1.0, 1.0, np.e, np.e],
        [0, 0, 1 / np.e, 1 / np.e],
    ),
    "differences": (
        lambda x: np.nansum(np.diff(np.sqrt(x))),
        [1.0, -1.0, 4.0, 9.0],
        [0, 0, -0.25, 1 / 6],
    ),
    "write": (write, [0.0, 2.0], [0, -0.25]),
    "write where": (write_where, [0.0, 1.0], [0, 1.5]),
    "number": (lambda x: np.where(x[0] > 0, np.sqrt(x[0]), x[1]), [0.0, 3.0], [0, 1]),
    "complex": (
        lambda x: np.sum(np.where(x > 0, np.sqrt(x + 0j) * 1j, 0.0)).imag,
        [0.0, 4.0],
        [0, 0.25],
    ),
}
"""The function, where, and its gradient."""

WITH_HOLES = np.array([[1.0, 2.0], [np.nan, 3.0], [4.0, -1.0], [2.0, 0.5]])
KNOWN = np.array([True, False, True, True])
SPARSE = linad.scipy.sparse.csr_array
STORED = scipy.sparse.csr_array(WITH_HOLES)


def written_into_zeros(v):
    y = np.zeros(4, like=v)
    y[[2, 0, 1]] = v[[2, 0, 1]]
    return y


def residuals(x):
    return WITH_HOLES @ x - np.arange(4.0)


def squares(x):
    rows = WITH_HOLES[KNOWN] @ x - np.arange(4.0)[KNOWN]
    return 2 * WITH_HOLES[KNOWN].T @ rows


ROOTS = [1.0, 4.0, -1.0, 9.0]
BEHIND_SUMS = {
    "rows of data": (lambda x: np.nansum(residuals(x) ** 2), [1.0, 2.0], squares),
    "rows of data, masked": (lambda x: np.sum(residuals(x)[KNOWN] ** 2), [1.0, 2.0], squares),
    "rows of data, chosen": (
        lambda x: np.sum(np.where(KNOWN, residuals(x), 0.0) ** 2),
        [1.0, 2.0],
        squares,
    ),
    "einsum": (
        lambda x: np.nansum((np.einsum("ij,j->i", WITH_HOLES, x) - np.arange(4.0)) ** 2),
        [1.0, 2.0],
        squares,
    ),
    "tensordot": (
        lambda x: np.nansum((np.tensordot(x, WITH_HOLES.T, 1) - np.arange(4.0)) ** 2),
        [1.0, 2.0],
        squares,
    ),
    "both factors": (
        lambda x: np.nansum(x.reshape(2, 2) @ x[:2]),
        [1.0, 2.0, np.nan, 3.0],
        [2.0, 4.0, 0.0, 0.0],
    ),
    "entries of a sparse matrix": (
        lambda x: np.nansum(SPARSE(np.diag(WITH_HOLES[:, 0])) @ np.ones(4) * x),
        np.ones(4),
        [1.0, 0.0, 4.0, 2.0],
    ),
    **{
        f"rows of a plain sparse array, {form}": (
            lambda x, form=form: np.nansum(
                (scipy.sparse.csr_array(WITH_HOLES).asformat(form) @ x - np.arange(4.0)) ** 2
            ),
            [1.0, 2.0],
            squares,
        )
        for form in ("csr", "csc", "coo", "dia", "bsr")
    },
    "columns of a plain sparse array": (
        lambda x: np.nansum((x @ scipy.sparse.csr_array(WITH_HOLES).T - np.arange(4.0)) ** 2),
        [1.0, 2.0],
        squares,
    ),
    "a kernel": (
        lambda x: np.nansum(np.convolve(np.array([1.0, 2.0, np.nan, 3.0]), x)),
        [1.0, 2.0],
        [3.0, 4.0],
    ),
    "running sums": (lambda x: np.nansum(np.cumsum(np.sqrt(x))), ROOTS, [1.0, 0.25, 0, 0]),
    "a window": (
        lambda x: np.nansum(np.convolve(np.sqrt(x), [1.0, 2.0])),
        ROOTS,
        [1.5, 0.25, 0, 1 / 3],
    ),
    "a matrix from the right": (
        lambda x: np.nansum(np.sqrt(x).reshape(2, 2) @ np.array([[1.0, 2.0], [3.0, 4.0]])),
        ROOTS,
        [1.5, 1.75, 0, 0],
    ),
    "a square of rows": (
        lambda x: np.nansum(np.einsum("ij,ij->i", *[np.sqrt(x).reshape(2, 2)] * 2)),
        ROOTS,
        [1.0, 1.0, 0, 0],
    ),
    "spectra": (
        lambda x: np.nansum(np.abs(np.fft.fft(np.sqrt(x).reshape(2, 2))) ** 2),
        ROOTS,
        [2.0, 2.0, 0, 0],
    ),
    "determinants": (
        lambda x: np.nansum(np.linalg.det(np.sqrt(x)[:, None, None] * np.eye(2))),
        ROOTS,
        [1.0, 1.0, 0, 1.0],
    ),
    "systems": (
        lambda x: np.nansum(
            np.linalg.solve(np.sqrt(x)[:, None, None] * np.eye(2), np.ones((2, 1)))
        ),
        ROOTS,
        [-1.0, -0.125, 0, -1 / 27],
    ),
    "counts": (
        lambda x: np.nansum(np.bincount([0, 0, 1, 1], weights=np.sqrt(x))),
        ROOTS,
        [0.5, 0.25, 0, 0],
    ),
    "covariances": (
        lambda x: np.nansum(np.cov(np.sqrt(x).reshape(2, 2))),
        ROOTS,
        [-0.5, 0.25, 0, 0],
    ),
}
"""What is looked for where NaN has been found: whether a weight is finite programs do not know, and
masks of data they follow through sums of few entries only."""

BEHIND_SUMS |= {
    "running products": (
        lambda x: np.nansum(np.cumprod(np.where(x > 3, np.nan, x))),
        [2.0, 3.0, 4.0, 5.0],
        [4.0, 2.0, 0, 0],
    ),
    "running products from the other end": (
        lambda x: np.nansum(np.cumprod(np.where(x > 3, np.nan, x)[::-1])),
        [4.0, 5.0, 3.0, 2.0],
        [0, 0, 2.0, 4.0],
    ),
    "a sparse SciPy matrix": (
        lambda x: np.nansum((STORED @ x - np.arange(4.0)) ** 2),
        [1.0, 2.0],
        squares,
    ),
    "written into zeros, in a loop": (
        lambda x: sum([np.nansum(written_into_zeros(np.sqrt(x) * k)) for k in range(1, 16)]),
        ROOTS,
        [60.0, 30.0, 0, 0],
    ),
    "products in a loop": (
        lambda x: sum([np.nansum(WITH_HOLES @ x * k) for k in range(1, 41)]),
        [1.0, 2.0],
        820 * np.nansum(WITH_HOLES * [[1.0], [0.0], [1.0], [1.0]], axis=0),
    ),
    "running sums, cut off": (
        lambda x: np.sum(np.cumsum(np.sqrt(x))[:2] ** 2),
        [1.0, 4.0, 0.0, 9.0],
        [4.0, 1.5, 0, 0],
    ),
    "rows of a product": (
        lambda x: np.sum((np.sqrt(x).reshape(2, 2) @ np.array([[1.0, 2.0], [3.0, 4.0]]))[0]),
        [1.0, 4.0, 0.0, 9.0],
        [1.5, 1.75, 0, 0],
    ),
}

READ = {
    "product of roots": (lambda x: np.sum(np.sqrt(x) * np.sqrt(4 * x)), [0.0, 1.0], [np.nan, 2]),
    "chosen": (
        lambda x: np.sum(np.where(x >= 0, np.sqrt(x) * np.sqrt(4 * x), 0)),
        [0.0, -1.0, 1.0],
        [np.nan, 0, 2],
    ),
    "read twice": (
        lambda x: np.sum(np.where(x > 0, y := np.sqrt(x), 0.0)) + np.sum(y * np.sqrt(4 * x)),
        [0.0, 4.0],
        [np.nan, 2.25],
    ),
}
"""A zero that was computed is no such zero: the limit of sqrt(x) sqrt(4 x) has slope 2 at 0."""


@pytest.mark.parametrize("case", [*LEFT_OUT, *READ])
def test_zeros_of_what_is_left_out_are_kept(case, kernels):
    f, x, expected = {**LEFT_OUT, **READ}[case]
    x = np.array(x)
    with np.errstate(all="ignore"):
        for gradient in (linad.grad(f), linad.jit(linad.grad(f)), linad.grad(linad.jit(f))):
            for _ in range(3):
                np.testing.assert_allclose(gradient(x), expected)


@pytest.mark.parametrize("case", BEHIND_SUMS)
def test_zeros_are_kept_behind_sums_of_many(case, kernels):
    f, x, expected = BEHIND_SUMS[case]
    x = np.array(x)
    expected = expected(x) if callable(expected) else expected
    with np.errstate(all="ignore"):
        for gradient in (linad.grad(f), linad.jit(linad.grad(f)), linad.grad(linad.jit(f))):
            for _ in range(2):
                np.testing.assert_allclose(gradient(x), expected, rtol=1e-12)


def test_a_compiled_gradient_keeps_zeros_at_other_points_than_its_first(kernels):
    def f(x):
        return np.sum(np.where(x > 0, np.sqrt(x), 0.0))

    gradient = linad.jit(linad.grad(f))
    for x in ([1.0, 4.0], [1.0, 4.0], [0.0, 4.0], [-1.0, 4.0]):
        with np.errstate(all="ignore"):
            expected = np.where(np.array(x) > 0, 0.5 / np.sqrt(x), 0.0)
            np.testing.assert_allclose(gradient(np.array(x)), expected)


def test_second_derivatives_of_what_is_left_out():
    def f(x):
        return np.sum(np.where(x > 0, x**1.5, 0.0))

    with np.errstate(all="ignore"):
        found = linad.hessian(f)(np.array([0.0, 4.0]))
        forward = linad.hvp(f, (np.array([0.0, 4.0]),), (np.ones(2),))
    np.testing.assert_allclose(found, [[0, 0], [0, 0.375]])
    np.testing.assert_allclose(forward, [0, 0.375])


OF_ALL_ENTRIES = {
    "running sums": np.cumsum,
    "running products": np.cumprod,
    "matrix product": lambda y: y @ np.ones((3, 3)),
    "convolution": lambda y: np.convolve(y, np.ones(3), "same"),
    "spectrum": np.fft.irfft,
    "differences": lambda y: np.diff(y, prepend=0),
}


@pytest.mark.parametrize("name", OF_ALL_ENTRIES)
def test_a_condition_without_axes_chooses_among_arrays(name):
    """Its mask is that of all entries."""

    def f(x, a):
        return np.sum(np.where(a > 0, a, OF_ALL_ENTRIES[name](np.sqrt(x))))

    x, a = np.array([0.0, 1.0, 4.0]), np.float64(1.0)
    with np.errstate(all="ignore"):
        for derivative in (linad.grad(f), lambda x, a: linad.hvp(f, (x, a), (x, a))[0]):
            np.testing.assert_array_equal(derivative(x, a), 0)
            assert not np.isfinite(derivative(x, -a)[0])


def test_many_seeds():
    def f(x):
        y = np.where(x > 0, np.sqrt(x), 0.0)
        return np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]) @ y

    with np.errstate(all="ignore"):
        y, J = linad.linearize(f, np.array([0.0, 4.0]))
        np.testing.assert_allclose(J.pullback(np.eye(3)), [[0, 0.5], [0, 1], [0, 1.5]])


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("terms", [5, 12, 40])
def test_as_many_parts_as_there_are(terms):
    """Projections on columns that hold NaN where no entry is read, one after another."""
    rng = np.random.default_rng(0)
    basis = rng.random((terms, 6))
    read = np.array([True, True, False, True, False, True])
    with_nan = np.where(read, basis, np.nan)

    def f(x, basis):
        rest, found = 1.0 * x, np.zeros(terms, like=x)
        for i, b in enumerate(basis):
            c = (rest * b)[read].sum() / 6
            rest = rest - c * b
            found[i] += c
        return np.sum(found**2)

    x = rng.random(6)
    for gradient in (linad.grad(f), linad.jit(linad.grad(f)), linad.grad(linad.jit(f))):
        expected = np.where(read, gradient(x, np.where(read, basis, 0.0)), 0.0)
        for _ in range(2):
            np.testing.assert_allclose(gradient(x, with_nan), expected, rtol=1e-10)


def test_masks_that_cost_more_than_all_else_are_not_made():
    """A loop over the entries of a large array; the cost of masks is the square of its length."""

    def f(x):
        y = 1.0 * x
        for i in range(1500):
            y[i] = np.sqrt(y[i])
        return y[0]

    _, J = linad.linearize(f, np.full(1500, 4.0))
    assert guarded(J, found=True).steps is None
    with np.errstate(all="ignore"):
        _, J = linad.linearize(f, np.zeros(1500))
    assert _reads_bit_by_bit(J.steps)


def test_an_inner_gradient_in_a_thread_of_its_own():
    """No trace runs there, and yet what comes back is traced."""

    def inner(z):
        def work():
            with np.errstate(all="ignore"):
                g = linad.grad(lambda w: np.sum(np.where(w > 0, np.sqrt(w) * z, w)))
                return np.sum(g(np.array([0.25, 0.0, 4.0])))

        with ThreadPoolExecutor(1) as pool:
            return pool.submit(work).result()

    z = np.array([0.5, 2.0, 3.0])
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(linad.grad(inner)(z), [1.0, 0.0, 0.25])
