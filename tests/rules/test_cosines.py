"""Cosine and sine transforms."""

import numpy as np
import pytest
import scipy.fft

import linad
from linad.rules.cosines import cosines_
from linad.testing.rule_checks import Case

rng = np.random.default_rng(0)

CASES = [
    Case(cosines_, rng.standard_normal((3, 2)), kind=kind, type=type_, axis=-2)
    for kind in ("dct", "dst")
    for type_ in (1, 2, 3, 4)
]
CASES.append(
    Case(cosines_, rng.standard_normal(5), kind="dct", type=1, axis=-1, check={"complex_": True})
)


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
def test_the_inverse_is_a_transform(norm):
    """It costs n log n, and is never a dense matrix."""
    x = rng.standard_normal(40_000)
    _, J = linad.linearize(lambda x: linad.scipy.fft.dct(x, norm=norm), x)
    back = scipy.fft.idct(x, norm=norm)
    np.testing.assert_allclose(J.inverse() @ x, back, rtol=1e-9, atol=1e-9 * abs(back).max())
    np.testing.assert_allclose(linad.solve_linear(J, x), J.inverse() @ x)
