"""What LLVM is told of loops."""

import ast

import numpy as np
import pytest
from kernel_on_arrays import run

from linad.sweeps.cpu.kernel_cache import NAMESPACE
from linad.sweeps.cpu.kernel_language import module_of
from linad.sweeps.cpu.loop_hints import chain_of_polynomials
from linad.sweeps.cpu.object_code import has_masks, optimised

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


@pytest.mark.parametrize(
    "body, length",
    [
        ("t1 = t0 * t0", 0),
        ("t1 = m_sin(t0)", 0),
        ("t1 = v_sin(t0)\nt2 = v_cos(t0)\nb0 = accumulate(b0, t1 * t2)", 1),
        ("t1 = v_exp(t0)\nt2 = 1.0 + t1\nt3 = v_log(t2)", 2),
        ("t1 = v_sin(v_cos(v_exp(t0)))", 3),
        ("for j in range(3):\n    t1 = v_exp(t0)", 0),
    ],
)
def test_polynomials_that_wait_for_each_other(body, length):
    assert chain_of_polynomials(ast.parse(body).body) == length


@pytest.mark.parametrize("value, marked", [("v_log(x)", True), ("v_exp(v_log(x))", False)])
def test_a_short_chain_takes_one_vector_a_turn(value, marked):
    source = "def kernel(p, start, stop):\n    for i in range(start, stop):\n"
    source += f"        x = get_f8(p, i, -1)\n        set_f8(p, i, {value}, 0)\n    return 0\n"
    assert ("llvm.loop.interleave.count" in module_of(source, "k", NAMESPACE, False)) is marked


@pytest.mark.skipif(not has_masks(), reason="masks cost more here")
def test_what_is_left_over_is_a_vector_with_a_mask():
    source = "def kernel(p, start, stop):\n    q = operand(p, 0)\n    y = operand(p, 1)\n"
    source += "    for i in {}:\n        set_f8(y, i, v_exp(get_f8(q, i, -1)), 0)\n    return 0\n"
    found = []
    for numbers in ("range(start, stop)", "whole_vectors(range(start, stop))"):
        text = module_of(source.format(numbers), "kernel", NAMESPACE, False)
        found.append("masked.store" in str(optimised(text)))
    assert found == [False, True]
