"""What SciPy refuses is refused: `refused_calls.txt` has a wrong call a line, of a vector x and a
matrix A (4, 4)."""

import functools
import importlib
import pathlib

import numpy as np
import pytest

import linad
import linad.numpy

CALLS = (pathlib.Path(__file__).parent / "refused_calls.txt").read_text().splitlines()
VECTOR = np.array([0.7, 1.3, -0.4, 2.1])
MATRIX = np.arange(1.0, 17.0).reshape(4, 4) + 4 * np.eye(4)


def modules(package):
    for inner in ("sparse.linalg", "spatial.distance", "spatial.transform"):
        importlib.import_module(f"{package}.{inner}")
    names = ("fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal")
    names += ("sparse", "spatial", "special", "stats")
    return {name: importlib.import_module(f"{package}.{name}") for name in names}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", CALLS)
def test_what_scipy_refuses(call):
    code = compile(call, "<call>", "eval")

    def running(package, module):
        found = modules(package)
        return lambda x, A: eval(code, {"np": module, "x": x, "A": A, **found})

    with np.errstate(all="ignore"):
        try:
            running("scipy", np)(VECTOR.copy(), MATRIX.copy())
        except Exception as refusal:
            wanted = type(refusal)
        else:
            return  # another version of SciPy takes it
        for module in (np, linad.numpy):
            traced = running("linad.scipy", module)
            for run in (functools.partial(linad.linearize, traced), linad.jit(traced)):
                with pytest.raises((wanted, TypeError, ValueError, np.linalg.LinAlgError)):
                    run(VECTOR.copy(), MATRIX.copy())
