"""Machine code of kernels."""

import ctypes
import gc
from collections import deque

import numpy as np
import pytest

import linad
from linad.sweeps.cpu import kernel_cache, object_code
from linad.sweeps.cpu.kernel_cache import NAMESPACE
from linad.sweeps.cpu.kernel_language import module_of
from linad.sweeps.cpu.memory_maps import EACH, maps_used
from linad.sweeps.cpu.target import CPU

SOURCE = """
def kernel(p, start, stop):
    a, b = operand(p, 0), operand(p, 1)
    for i in range(start, stop):
        x = get_f8(a, i, -1)
        set_f8(b, i, {}, 0)
    return 0
"""


def code_of(expression):
    return object_code.assembly(module_of(SOURCE.format(expression), "kernel", NAMESPACE, False))


@pytest.mark.skipif(not object_code.is_near(), reason="addresses are of 64 bits here")
@pytest.mark.parametrize(
    "expression",
    ["v_exp(x)", "v_log(x)", "v_sin(v_tanh(x))", "v_sinh(x)", "m_sin(x)", "m_pow(x, 3.5)"],
)
def test_code_reaches_constants_and_functions_by_short_distances(expression):
    text = code_of(expression)
    assert "(%rip)" in text
    assert "movabsq\t$." not in text, "an address of 64 bits"
    assert "@PLT" not in text, "for such calls llvmlite's memory manager has no room"


POWER_OF_TWO = """
declare double @pow(double, double)

define double @f(double %x) {
  %y = call double @pow(double 2.0, double %x)
  ret double %y
}
"""


@pytest.mark.skipif(not object_code.is_near(), reason="addresses are of 64 bits here")
def test_functions_that_llvm_calls_of_itself_are_called_through_the_table():
    text = object_code.assembly(POWER_OF_TWO)
    assert "exp" in text, "exp2 or ldexp in place of pow"
    assert "@GOTPCREL" in text
    assert "@PLT" not in text


TIMES = """
def kernel(p, start, stop):
    q = operand(p, 0)
    for i in range(start, stop):
        set_f8(q, i, get_f8(q, i, -1) * {}.0 + 0.25, 0)
    return 0
"""


@pytest.mark.rest
def test_kernels_leave_memory_when_nobody_refers_to_them(monkeypatch):
    monkeypatch.setattr(kernel_cache, "_latest", deque(maxlen=4))
    first = maps_used()[0]
    call = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 3)
    kept = []
    with linad.config(cache=False):
        for k in range(2, 2 + 4 * object_code.GROUP):
            kernel = kernel_cache.kernel(TIMES.format(k))
            assert kernel_cache.kernel(TIMES.format(k)) is kernel
            if k in (5, 40):
                kept.append((k, kernel))
        most = maps_used()[0]
        del kernel
        kernel_cache.kernel(TIMES.format(2))
    assert most - first <= 3 * EACH * object_code.GROUP + 20
    assert sum(1 for source, _ in kernel_cache._kernels if "+ 0.25" in source) <= 7
    for k, kernel in kept:
        x = np.ones(3)
        words = np.array([x.ctypes.data])
        assert call(int(kernel))(words.ctypes.data, 0, 3) == 0
        np.testing.assert_array_equal(x, k + 0.25)


@pytest.mark.rest
def test_programs_keep_their_kernels(monkeypatch):
    monkeypatch.setattr(kernel_cache, "_latest", deque(maxlen=1))
    x = np.linspace(0.0, 1.0, 5)
    programs = []
    for k in range(2 * object_code.GROUP):
        program = CPU.compile(linad.trace(lambda x, k=k: np.sin(x * k) + k, x)[1])
        program.run([x])
        if k % 7 == 0:
            programs.append((k, program))
        del program
    gc.collect()
    for k, program in programs:
        np.testing.assert_allclose(program.run([x])[0], np.sin(x * k) + k, rtol=1e-14)
