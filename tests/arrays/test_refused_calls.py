"""What NumPy refuses is refused: `refused_calls.txt` has a wrong call a line, of a vector x and a
matrix A (3, 4). In linad.numpy, too, no call gives numbers."""

import pathlib

import numpy as np
import pytest

import linad
import linad.numpy
from linad.errors import LinadError

CALLS = (pathlib.Path(__file__).parent / "refused_calls.txt").read_text().splitlines()
VECTOR = np.array([0.7, 1.3, -0.4, 2.1])
MATRIX = np.arange(1.0, 13.0).reshape(3, 4) + np.eye(3, 4)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", CALLS)
def test_what_numpy_refuses(call):
    code = compile(call, "<call>", "eval")

    def running(module):
        return lambda x, A: eval(code, {"np": module, "x": x, "A": A})

    with np.errstate(all="ignore"):
        try:
            running(np)(VECTOR.copy(), MATRIX.copy())
        except Exception as found:
            refusal = type(found)
        else:
            return  # another version of NumPy takes it
        for module in (np, linad.numpy):
            for transform in (linad.linearize, lambda f, *args: linad.jit(f)(*args)):
                with pytest.raises((refusal, LinadError, TypeError, ValueError, IndexError)):
                    transform(running(module), VECTOR.copy(), MATRIX.copy())
