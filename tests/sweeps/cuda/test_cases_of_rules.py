"""The cases of all rules, and their derivatives in reverse, as programs for a GPU on the CPU."""

import numpy as np
import pytest
from device_runs import check
from kernels_in_python import kernels_in_python
from onnx_cases import active, cases, program, pullback

import linad
from linad.errors import FallbackError, LinadError

RULES = {name: case for name, case in cases().items() if active(case)}
WITHOUT = "needs kernels that there are not"


def recorded(f, args):
    """Whether a case can be recorded on values of its own; some look at them, or refuse."""
    try:
        linad.trace(f, *args)
    except LinadError:
        return False
    return True


@pytest.mark.full
@pytest.mark.filterwarnings("ignore:Diagonal number:scipy.linalg.LinAlgWarning")  # lu, singular
@pytest.mark.parametrize("make", [program, pullback])
@pytest.mark.parametrize("name", RULES)
def test_case(name, make):
    with linad.config(disconnected="ignore"), np.errstate(all="ignore"), kernels_in_python():
        f, args = make(RULES[name])
        if not recorded(f, args):
            return
        try:
            check(f, *args)
        except FallbackError as refused:
            assert WITHOUT in str(refused)  # noqa: PT017
