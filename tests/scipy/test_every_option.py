"""Wrong options of SciPy's functions with traced arguments: an error of linad's own, no number."""

import numpy as np
import pytest

import linad
from linad.errors import ArgumentError
from linad.scipy import fft, linalg, ndimage

A = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 5.0]])
B = np.array([1.0, 2.0, 3.0])
WRONG = ["x", -7, 2.5, [], object()]
WRONG_BUT = {"workers": ["x", 0, 2.5]}  # SciPy counts back from the number of cores

CASES = [
    *[(linalg.cholesky, (A,), option) for option in ("lower", "overwrite_a", "check_finite")],
    *[(linalg.eigh, (A,), option) for option in ("lower", "driver", "subset_by_index")],
    *[(linalg.svd, (A,), o) for o in ("full_matrices", "compute_uv", "lapack_driver")],
    *[(linalg.solve_triangular, (A, B), o) for o in ("trans", "lower", "unit_diagonal")],
    (linalg.solve, (A, B), "assume_a"),
    (linalg.lstsq, (A, B), "lapack_driver"),
    *[
        (f, (B,), option)
        for f in (fft.fft, fft.rfft, fft.ihfft)
        for option in ("norm", "plan", "workers")
    ],
    *[(f, (B,), option) for f in (fft.dct, fft.dst) for option in ("norm", "orthogonalize")],
    *[(ndimage.correlate1d, (B, np.ones(3)), option) for option in ("mode",)],
]


@pytest.mark.parametrize("function, args, option", CASES, ids=range(len(CASES)))
def test_wrong_options(function, args, option):
    for value in WRONG_BUT.get(option, WRONG):

        def f(a, v=value):
            return function(a, *args[1:], **{option: v})

        with pytest.raises(linad.errors.LinadError) as caught:
            linad.linearize(f, args[0], argnums=0)
        assert function.__name__ in str(caught.value)
    assert linalg.cholesky(A, lower=True)[1, 0]


def test_errors_of_the_user_stay():
    def fails(x):
        raise ValueError("mine")

    for error in (ValueError,):
        with pytest.raises(error, match="^mine$") as caught:
            linad.grad(lambda a: linad.scipy.integrate.fixed_quad(lambda t: fails(a * t), 0, a)[0])(
                1.0
            )
        assert not isinstance(caught.value, ArgumentError)
    with pytest.raises(np.linalg.LinAlgError):
        linad.linearize(linalg.cholesky, -A)
