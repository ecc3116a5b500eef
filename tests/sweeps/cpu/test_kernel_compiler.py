"""Kernels are compiled without the passes that they do not need: to the same machine code."""

import re

import pytest
from numba import cfunc

from linad.sweeps.cpu import kernel_cache as cache, native
from linad.sweeps.cpu.kernel_compiler import KernelCompiler

LOOP = """def kernel(p, start, stop):
    q0, q1 = operand(p, 0), operand(p, 1)
    t2 = to_f8(number(operand(p, 2)))
    a0 = to_f8(0.0)
    for b in range(start, stop, 4096):
        b0 = to_f8(0.0)
        for i0 in range(b, min(b + 4096, stop)):
            t0 = get_f8(q0, i0, -1)
            t1 = {expression}
            set_f8(q1, i0, t1, 1)
            b0 = accumulate(b0, t1)
        a0 = accumulate(a0, b0)
    set_f8(q1, 0, a0, 1)
    return {result}
"""

WHILE = """def kernel(p, start, stop):
    limit, q0 = operand(p, 0), operand(p, 1)
    a0, a1, k = get_f8(q0, 0, -1), get_b1(q0, 8, -1), 0
    while True:
        if not (a0 < 3.0):
            break
        if k == limit:
            return 2
        t0 = select(a1, a0 * a0, a0 + 1.0)
        a0, a1, = t0, (t0 - t0) == (t0 - t0)
        k += 1
    set_f8(q0, 0, a0, 0)
    return 0
"""

CASES = {
    "arithmetic": LOOP.format(expression="select(t0 > t2, t0 / t2, abs(t0))", result="0"),
    "a power": LOOP.format(expression="t0**3", result="0"),
    "vectors": LOOP.format(expression="v_tanh(t0) * v_exp(t2)", result="again(p, start, stop)"),
    "complex": LOOP.format(expression="z_exp(complex(t0, t2)).imag", result="0"),
    "a loop that ends": WHILE,
}


def machine_code(text, **options):
    """The assembler text of a kernel, without the numbers in names."""
    function = cache._define(text, "kernel", "<kernel>")
    compiled = cfunc(native.KERNEL, error_model="numpy", **options)(function)
    return re.sub(r"_ZN\S*|\d+", "", compiled._library.get_asm_str())


@pytest.mark.parametrize("name", CASES)
def test_the_machine_code_is_the_same(name):
    found = machine_code(CASES[name], pipeline_class=KernelCompiler)
    assert found == machine_code(CASES[name])
