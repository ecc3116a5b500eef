"""Special functions in models, to rounding."""

import numpy as np
import pytest
import scipy.special

import linad
from linad.errors import ExportError

UNIT = np.concatenate([np.linspace(-0.99, 0.99, 23), [1e-9, 1 - 1e-12, 1.0, -1.0]])


ABOVE = np.concatenate([np.geomspace(1e-6, 90.0, 23), [0.0, 200.0]])


SPECIAL = {
    "erfinv": (scipy.special.erfinv, UNIT),
    "erfcinv": (scipy.special.erfcinv, np.append(1 + UNIT, [1e-300, 1e-17, 3.0])),
    "ndtri": (scipy.special.ndtri, np.append(0.5 + UNIT / 2, 1e-300)),
    "ellipk": (scipy.special.ellipk, np.append(UNIT, [-60.0, 1.5])),
    "ellipe": (scipy.special.ellipe, np.append(UNIT, [-60.0, 1.5])),
    "ellipkm1": (scipy.special.ellipkm1, np.append(ABOVE, 1e-300)),
    "exp1": (scipy.special.exp1, ABOVE),
    "gammainc": (lambda x: scipy.special.gammainc(2.5, x), ABOVE),
    "gammaincc": (lambda x: scipy.special.gammaincc(x[:-1], x[-2::-1]), ABOVE),
    "betainc": (lambda x: scipy.special.betainc(7.5, 0.5, x), np.abs(UNIT)),
    "betaincc": (lambda x: scipy.special.betaincc(0.5, 40.0, x), np.abs(UNIT)),
    "distributions": (
        lambda x: [
            scipy.special.chdtr(3, x),
            scipy.special.chdtrc(2.5, x),
            scipy.special.gdtr(0.5, 4.0, x),
            scipy.special.gdtrc(0.5, 4.0, x),
            scipy.special.pdtr(4, x),
            scipy.special.pdtrc(np.minimum(x, 90.0), 2.5),
            scipy.special.fdtr(3.0, 8.0, x),
            scipy.special.fdtrc(3.0, 8.0, x),
            scipy.special.stdtr(2.5, x),
        ],
        np.append(ABOVE, [-0.5, -3.0]),
    ),
    "shapes": (
        lambda x: (
            [
                scipy.special.betainc(a, b, x)
                for a, b in [(0.0, 1.0), (1.0, 0.0), (0.0, 0.0), (-1.0, 1.0)]
            ]
            + [scipy.special.gammainc(0.0, x), scipy.special.gammaincc(-1.0, x)]
        ),
        np.array([0.0, 0.3, 1.0, -0.1, 1.1]),
    ),
    "j0": (scipy.special.j0, np.append(-ABOVE, 1e5)),
    "jv": (lambda x: scipy.special.jv(-3, x), np.append(-ABOVE, 1e5)),
    "y1": (scipy.special.y1, ABOVE[6:]),
    "yv": (lambda x: scipy.special.yv(4, x), 1 + ABOVE),
    "k0": (scipy.special.k0, ABOVE[:-2]),
    "kve": (lambda x: scipy.special.kve(6, x), 1 + ABOVE),
    "polynomials": (
        lambda x: (
            [scipy.special.eval_legendre(n, x) for n in (0, 1, 9)]
            + [scipy.special.eval_hermite(4, x), scipy.special.eval_laguerre(3, x)]
        ),
        UNIT,
    ),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", SPECIAL)
def test_special_functions_to_rounding(name):
    f, points = SPECIAL[name]
    assert linad.onnx(lambda x: f(x))(points).check() < 1e-13


def test_shapes_beyond_the_steps_of_the_loops_are_refused():
    with pytest.raises(ExportError, match="its shapes must be at most 200, got 300"):
        linad.onnx(lambda x: scipy.special.gammainc(300.0, x))(np.ones(2))
