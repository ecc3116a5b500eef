"""Newton's method on jitted functions with sparse Jacobians: one program a point."""

import numpy as np
import pytest

import linad
from linad.operators.foreign import Foreign

N = 400  # unknowns from which Jacobians are looked at as sparse matrices


def heat(u, source, scale):
    """Differences of a rod that radiates; row by row strictly monotone in u."""
    p = np.pad(u, 1)
    return scale * (2 * u - p[:-2] - p[2:]) + u**3 + u - source


def both(f, x0, *args, **options):
    """The solutions with and without `jit`."""
    plain = linad.solve.newton(f, x0, args, **options)
    return plain, linad.solve.newton(linad.jit(f), x0, args, **options)


@pytest.mark.parametrize("linear_solver", ["auto", "sparse"])
def test_newton(linear_solver):
    source = np.linspace(-3, 5, N)
    plain, found = both(heat, np.zeros(N), source, 2.0, linear_solver=linear_solver)
    assert found.success
    np.testing.assert_allclose(found.x, plain.x, rtol=1e-12)
    for name in ("nit", "nfev", "njev", "njvp", "nvjp"):
        assert found[name] == plain[name], name
    np.testing.assert_allclose(
        found.jac.tosparse().toarray(), plain.jac.tosparse().toarray(), rtol=1e-12
    )


def test_one_program_a_point():
    jitted = linad.jit(lambda u: heat(u, 1.0, 1.0))
    linad.solve.newton(jitted, np.zeros(N))
    (program,) = jitted.related.values()
    assert not program.without
    problem = linad.solve.compiled_equations.equations(jitted, np.zeros(N), (), "newton", "auto")
    for _ in range(2):
        r, J = problem.linearize(np.zeros(N))
    assert isinstance(J.bare, Foreign)
    np.testing.assert_array_equal(r, heat(np.zeros(N), 1.0, 1.0))


def test_containers_and_branches():
    def f(z):
        a, b = z["a"], z["b"]
        more = b * np.abs(b) if b[0] > 0.5 else b
        return {"a": a + 0.1 * np.roll(a, 1) ** 3 - 1, "b": more + 0.2 * a - 2}

    plain, found = both(f, {"a": np.ones(N), "b": np.zeros(N)})
    assert found.success
    for name in "ab":
        np.testing.assert_allclose(found.x[name], plain.x[name], rtol=1e-12)


def test_where_no_program_can_be():
    """Patterns that depend on values, and dense ones, go the ways that they went."""
    for f in (lambda x: np.sort(x) + x - 1, lambda x: x + 0.01 * np.sum(np.sin(x)) - 1):
        x0 = np.linspace(0, 1, N)
        plain, found = both(f, x0)
        assert found.success == plain.success
        np.testing.assert_allclose(found.x, plain.x, rtol=1e-9, atol=1e-9)
