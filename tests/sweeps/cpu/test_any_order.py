"""Loops whose turns may be taken in any order."""

import numpy as np
import pytest
from kernel_on_arrays import run

from linad.sweeps.cpu.kernel_cache import NAMESPACE
from linad.sweeps.cpu.kernel_language import module_of

BODY = "for k in any_order(range(a0.shape[0])):\n    x = a0[k, 0]\n    a0[k, 1] += x * a0[k, 2]"


@pytest.mark.parametrize("turns", [0, 1, 2, 5])
def test_turns(turns):
    a = np.random.default_rng(turns).random((turns, 3))
    expected = a.copy()
    expected[:, 1] += a[:, 0] * a[:, 2]
    assert run(BODY, a) == 0
    np.testing.assert_array_equal(a, expected)


def test_two_loops_have_marks_of_their_own():
    source = "def kernel(p, start, stop):\n    a = array_f8(operand(p, 0), operand(p, 1))\n"
    for _ in range(2):
        source += "    for k in any_order(range(a.shape[0])):\n        a[k] *= 2.0\n"
    text = module_of(source + "    return 0\n", "kernel", NAMESPACE, False)
    assert text.count("llvm.loop.parallel_accesses") == 2
    assert text.count("distinct") == 4
