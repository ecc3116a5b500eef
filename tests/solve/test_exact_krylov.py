"""SciPy's Newton-Krylov with exact products: it finds the point by the value there."""

import numpy as np
import pytest
import scipy.optimize

import linad
from linad.errors import LinadError
from linad.solve.exact_krylov import REMEMBERED, Remembering, exact_newton_krylov


def f(x, c=1.0):
    return x**3 + c * x - np.arange(1.0, 5.0)


def test_the_jacobian_where_a_value_was_found():
    remembering = Remembering(f)
    points = [np.full(4, float(k)) for k in range(REMEMBERED + 1)]
    values = [remembering(x, 2.0) for x in points]
    for x, b in zip(points[1:], values[1:], strict=True):
        J = remembering.jacobian(b)
        np.testing.assert_allclose(J.todense(), linad.jacobian(f)(x, 2.0))
    with pytest.raises(LinadError, match="one that linad does not know"):
        remembering.jacobian(values[0])  # too long ago


def test_whole_numbers_are_differentiated_as_floats():
    remembering = Remembering(f)
    b = remembering(np.arange(4))
    np.testing.assert_allclose(
        remembering.jacobian(b).todense(), np.diag(3.0 * np.arange(4) ** 2 + 1)
    )


@pytest.mark.parametrize("line_search", ["armijo", "wolfe", None])
def test_a_root(line_search):
    found = scipy.optimize.newton_krylov(
        xin=np.ones(4),
        f_tol=1e-12,
        line_search=line_search,
        **exact_newton_krylov(f, "newton_krylov"),
    )
    np.testing.assert_allclose(f(found), 0.0, atol=1e-10)
    found = scipy.optimize.root(x0=np.ones(4), method="krylov", **exact_newton_krylov(f, "root"))
    assert found.success
