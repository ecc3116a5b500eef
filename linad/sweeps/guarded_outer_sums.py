"""The sum of all products of two arrays, if the product of their sums cannot stand for it."""

from typing import Any

from linad.core.shapes import size_of
from linad.core.tape import Equation
from linad.sweeps.data_movement import contiguous, plain
from linad.sweeps.kernel_dtypes import name_of_dtype
from linad.sweeps.routines import routine


@routine("product_of_sums")
def product_of_sums(lowering: Any, eqn: Equation) -> bool:
    places = [lowering.place_of(a) for a in eqn.inputs]
    if not all([plain(lowering, p) for p in places]):
        return False
    places = [contiguous(lowering, p) for p in places]
    d = name_of_dtype(eqn.outputs[0].dtype)
    text = (
        "def kernel(p, start, stop):\n"
        "    total, one, other = operand(p, 0), operand(p, 1), operand(p, 2)\n"
        "    a = operand(p, 3)\n    b = operand(p, 4)\n    y = operand(p, 5)\n"
        "    n = operand(p, 6)\n    m = operand(p, 7)\n"
        "    for o in range(start, stop):\n"
        f"        t = get_{d}(total, 0, -1)\n"
        f"        u, v = get_{d}(one, 0, -1), get_{d}(other, 0, -1)\n"
        # x - x is 0 where x is finite, and NaN where it is not.
        "        if t - t != 0.0 or u - u != 0.0 or v - v != 0.0:\n"
        f"            t = to_{d}(0)\n"
        "            for i in range(n):\n"
        f"                row = to_{d}(0)\n"
        "                for j in range(m):\n"
        f"                    row = to_{d}(row + get_{d}(a, i, -1) * get_{d}(b, j, -1))\n"
        f"                t = to_{d}(t + row)\n"
        f"        set_{d}(y, 0, t, 0)\n"
        "    return 0\n"
    )
    target = lowering.result(eqn.outputs[0])
    sizes = [size_of(p.shape) for p in places[3:]]
    words = [(p.buffer, p.offset) for p in (*places, target)]
    lowering.emit(text, 1, [*words, *sizes], "product of sums")
    return True
