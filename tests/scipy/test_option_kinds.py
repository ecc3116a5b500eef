"""Options of SciPy's functions with traced arguments."""

import numpy as np
import pytest

import linad
from linad.errors import OptionError
from linad.scipy import fft, interpolate, linalg, optimize, signal, special

X = np.array([0.5, 1.5, 2.0, 0.25, 1.0, 0.75])
A = np.array([[0.4, 0.1], [0.2, 0.3]])

WRONG = {
    "scipy.fft.dct: n": lambda x: fft.dct(x, n=-1),
    "scipy.special.comb: repetition": lambda x: special.comb(x, 2, repetition="x"),
    "scipy.special.factorial: extend": lambda x: special.factorial(x, extend="x"),
    "scipy.signal.welch: fs": lambda x: signal.welch(x, fs=-1, nperseg=4)[1],
    "scipy.signal.welch: window": lambda x: signal.welch(x, window=2.5, nperseg=4)[1],
    "UnivariateSpline: ext": lambda x: interpolate.UnivariateSpline(np.arange(6.0), x, ext="x")(
        1.5
    ),
    "scipy.linalg.pinv: rtol": lambda x: linalg.pinv(x[:4].reshape(2, 2), rtol=-1),
    "scipy.linalg.solve_discrete_lyapunov: method": lambda x: linalg.solve_discrete_lyapunov(
        x[:4].reshape(2, 2), A, method="x"
    ),
    "scipy.optimize.fmin_bfgs: args": lambda x: optimize.fmin_bfgs(
        lambda z: np.sum((z - x) ** 2), np.zeros(6), args=[], disp=False
    ),
}


@pytest.mark.parametrize("said", WRONG)
def test_wrong_options(said):
    with pytest.raises(OptionError, match=f"^{said} must be"):
        linad.linearize(WRONG[said], X)


def test_drivers_of_tridiagonal_matrices():
    for driver in ("auto", "stemr", "stev"):
        y = linad.linearize(
            lambda d, k=driver: linalg.eigvalsh_tridiagonal(d, X[1:] * 0.1, lapack_driver=k), X
        )[0]
        np.testing.assert_allclose(y, linalg.eigvalsh_tridiagonal(X, X[1:] * 0.1))
