"""Machine code of kernels."""

import pytest

from linad.sweeps.cpu import object_code
from linad.sweeps.cpu.kernel_cache import NAMESPACE
from linad.sweeps.cpu.kernel_language import module_of

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
