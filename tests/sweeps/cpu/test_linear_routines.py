"""Systems, inverses, determinants and factors by LAPACK against NumPy and SciPy."""

import numpy as np
import pytest
from compiled_runs import check_compiled, labels, poisoned

import linad
from linad.core.primitive import Primitive
from linad.sweeps.cpu.target import CPU
from linad.sweeps.program import KernelStoppedError

DTYPES = {"d": 1e-10, "f": 2e-3, "D": 1e-10, "F": 2e-3}
solve_triangular = Primitive.registry["solve_triangular"]
lu = Primitive.registry["lu"]
cholesky = Primitive.registry["cholesky"]


def normal(shape, dtype):
    rng = np.random.default_rng(sum(shape))
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def regular(shape, dtype):
    return normal(shape, dtype) + (3 * np.eye(shape[-1])).astype(dtype)


def positive(shape, dtype):
    a = regular(shape, dtype)
    return a @ np.conj(np.swapaxes(a, -1, -2))


# Shapes of a matrix and of right sides.
RIGHT_SIDES = [
    ((5, 5), (5, 1)),
    ((5, 5), (5, 3)),
    ((2, 3, 5, 5), (2, 3, 5, 4)),
    ((2, 1, 5, 5), (2, 3, 5, 4)),
    ((5, 5), (2, 3, 5, 4)),
    ((5, 5), (6, 5, 1)),
    ((2, 3, 5, 5), (2, 3, 5, 1)),
    ((2, 3, 5, 5), (3, 5, 1)),
    ((1, 1), (1, 2)),
    ((0, 0), (0, 2)),
    ((5, 5), (5, 0)),
]


def test_solve_compiled():
    check_solve("d")


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("dtype", DTYPES)
def test_solve(dtype):
    check_solve(dtype)


def check_solve(dtype):
    for a, b in RIGHT_SIDES:
        args = regular(a, dtype), normal(b, dtype)
        check_compiled(np.linalg.solve, *args, rtol=DTYPES[dtype])
        check_compiled(
            lambda a, b: np.linalg.solve(np.swapaxes(a, -1, -2), b), *args, rtol=DTYPES[dtype]
        )


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("unit", [True, False])
def test_solve_triangular(lower, unit, dtype):
    check_triangular(lower, unit, dtype)


def test_solve_triangular_compiled():
    check_triangular(True, False, "d")


def check_triangular(lower, unit, dtype):
    for a, b in RIGHT_SIDES:
        for view in (lambda a: a, lambda a: np.swapaxes(a, -1, -2), lambda a: a[..., ::-1, :]):
            check_compiled(
                lambda a, b, view=view: solve_triangular(view(a), b, lower=lower, unit=unit),
                regular(a, dtype) + 3,
                normal(b, dtype),
                rtol=DTYPES[dtype],
            )


def test_inverses_determinants_and_factors_compiled():
    check_factors("d")


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("dtype", DTYPES)
def test_inverses_determinants_and_factors(dtype):
    check_factors(dtype)


def check_factors(dtype):
    for shape in [(5, 5), (2, 3, 5, 5), (1, 1), (2, 40, 40), (0, 3, 3)]:
        a, s = regular(shape, dtype), positive(shape, dtype)
        check_compiled(np.linalg.inv, a, rtol=DTYPES[dtype])
        if shape[-1] < 40:
            check_compiled(lambda a: np.linalg.det(-a), a, rtol=10 * DTYPES[dtype])
        check_compiled(lambda a: tuple(np.linalg.slogdet(a)), a, rtol=DTYPES[dtype])
        check_compiled(cholesky, s, rtol=DTYPES[dtype])
        check_compiled(lambda a: lu(np.swapaxes(a, -1, -2)), a, rtol=DTYPES[dtype])


def test_empty_matrices():
    a = np.zeros((2, 0, 0))
    check_compiled(np.linalg.det, a)
    check_compiled(lambda a: tuple(np.linalg.slogdet(a)), a)
    check_compiled(np.linalg.inv, a)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize(
    "dtype", [d if d in "dD" else pytest.param(d, marks=pytest.mark.full) for d in DTYPES]
)
def test_determinants_of_singular_matrices(dtype):
    for a in (np.ones((3, 3)), np.zeros((2, 2)), np.array([[1.0, 2.0], [2.0, 4.0]])):
        check_compiled(np.linalg.det, a.astype(dtype))
        check_compiled(lambda a: tuple(np.linalg.slogdet(a)), a.astype(dtype))


def test_cholesky_reads_the_lower_triangle():
    a = positive((4, 4), "D")
    check_compiled(cholesky, a + np.triu(normal((4, 4), "D"), 1))


def test_one_factorisation_serves_a_matrix_and_its_transpose():
    a, b = regular((6, 6), "d"), normal((6, 2), "d")
    done = check_compiled(
        lambda a, b: np.linalg.solve(a, b) + np.linalg.solve(a.T, 2 * b) + np.linalg.inv(a) @ b,
        a,
        b,
    )
    assert done.count("getrf") == 1
    done = check_compiled(lambda a, b: np.linalg.solve(a.T, b) + np.linalg.solve(a, b), a, b)
    assert done.count("getrf") == 1


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("shape", [(4, 4), (3, 4, 4)])
def test_a_determinant_and_a_system_share_a_factorisation(shape):
    def f(a):
        return np.linalg.slogdet(a)[1].sum() + np.sum(np.linalg.inv(np.swapaxes(a, -1, -2)))

    a = regular(shape, "d")
    compiled = linad.jit(f)
    for _ in range(2):
        np.testing.assert_allclose(compiled(a), f(a), rtol=1e-12)
    steps = [step.name for step in linad.explain(compiled)(a).steps]
    assert steps.count("getrf") == steps.count("check factors") == 1
    a[..., -1, :] = 0
    with pytest.raises(np.linalg.LinAlgError):
        compiled(a)
    np.testing.assert_array_equal(linad.jit(np.linalg.slogdet)(a)[1], np.linalg.slogdet(a)[1])


def test_a_cholesky_factor_is_solved_with_as_a_triangle():
    s, b = positive((6, 6), "D"), normal((6, 2), "D")

    def f(s, b):
        c = cholesky(s)
        return [np.linalg.solve(c, b), np.linalg.solve(c.T, b), np.linalg.solve(np.conj(c.T), b)]

    done = check_compiled(f, s, b)
    assert "getrf" not in done
    assert done.count("trsm") == 3


SINGULAR = {
    "inv": (np.linalg.inv, np.eye(4), np.ones((4, 4))),
    "solve": (lambda a: np.linalg.solve(a, np.eye(4)), np.eye(4), np.zeros((4, 4))),
    "solve of a stack": (
        lambda a: np.linalg.solve(a, np.eye(2)),
        np.eye(2) + np.zeros((3, 1, 1)),
        np.eye(2) * np.array([1.0, 0.0, 1.0])[:, None, None],
    ),
    "cholesky": (cholesky, np.eye(4), -np.eye(4)),
    "triangle": (
        lambda a: solve_triangular(a, np.eye(4), lower=True, unit=False),
        np.eye(4),
        np.tri(4, k=-1),
    ),
    "lu": (lu, np.eye(4), np.zeros((4, 4))),
}


@pytest.mark.parametrize("name", SINGULAR)
def test_a_singular_matrix_stops_the_run_and_leaves_no_trace(name):
    f, fine, singular = SINGULAR[name]
    _, tape = linad.trace(f, fine)
    program = poisoned(tape)
    before = program.run([fine])
    with pytest.raises(KernelStoppedError, match="status 2"):
        program.run([singular])
    after = program.run([fine])
    for a, b in zip(before, after, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.usefixtures("kernels")
def test_gaussian_process_likelihood():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(12, 2)), rng.normal(size=12)

    def negative_log_likelihood(theta):
        d = np.sum((x[:, None] - x[None]) ** 2, axis=-1)
        k = np.exp(theta[0]) * np.exp(-0.5 * d / np.exp(theta[1])) + np.exp(theta[2]) * np.eye(12)
        c = np.linalg.cholesky(k)
        alpha = np.linalg.solve(c, y)
        return 0.5 * alpha @ alpha + np.sum(np.log(np.diagonal(c)))

    theta = np.array([0.1, 0.2, -1.0])
    value, tape = linad.trace(linad.grad(negative_log_likelihood), theta)
    program = CPU.compile(tape)
    np.testing.assert_allclose(program.run([theta])[0], value, rtol=1e-10)
    assert "getrf" not in labels(program)
