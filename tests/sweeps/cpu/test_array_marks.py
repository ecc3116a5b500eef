"""What kernels tell the optimiser of their arrays."""

import ast

import numpy as np
from kernel_on_arrays import run
from llvmlite import ir

from linad.sweeps.cpu.array_marks import ArrayMarks
from linad.sweeps.cpu.kernel_cache import NAMESPACE
from linad.sweeps.cpu.kernel_language import module_of
from linad.sweeps.cpu.object_code import optimised

SOURCE = """
def kernel(p, start, stop):
    a = array_f8(operand(p, 0), 3)
    b = array_f8(operand(p, 1), 3)
    c = array_f8(operand(p, 2), 3)
    s = c
    s = grown(s, 4)
    new = np.zeros((3,), dtype=np.float64)
    t = a[0]
    a, b = b, a
"""


def test_names_that_may_stand_for_one_array_have_one_mark():
    (tree,) = ast.parse(SOURCE).body
    marks = ArrayMarks(ir.Module("marks"), tree)
    mine = {name: marks.of(name) for name in ("a", "b", "c", "s", "new")}
    assert mine["a"] == mine["b"] != mine["c"]
    assert mine["c"] == mine["s"] != mine["new"]
    assert marks.of("t") is None  # a number
    _, others = mine["new"]
    assert len(others.operands) == 2


def test_arrays_that_change_places_in_nested_loops_that_go_down():
    rng = np.random.default_rng(0)
    u, v, w = rng.random((3, 9, 40))
    body = (
        "u, v = a0, a1\n"
        "for k in range(3):\n"
        "    for i in range(7, 0, -1):\n"
        "        for j in range(38, 0, -1):\n"
        "            v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])\n"
        "            a2[i, j] += v[i, j] * u[i, j]\n"
        "    u, v = v, u"
    )
    given = [u.copy(), v.copy(), w.copy()]
    assert run(body, *given) == 0
    for _ in range(3):
        inner = (slice(1, -1), slice(1, -1))
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        v[inner] = 0.25 * around
        w[inner] += v[inner] * u[inner]
        u, v = v, u
    for a, b in zip(given, (v, u, w), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)


def test_a_loop_with_many_results_is_vectorised():
    """More than sixteen results, too: else LLVM would compare the ends of all pairs, or give up."""
    lines = [f"    q{k} = operand(p, {k})" for k in range(21)]
    lines += ["    for i in range(start, stop):", "        x = get_f8(q20, i, -1)"]
    lines += [f"        set_f8(q{k}, i, x * x + {k}.0, {k})" for k in range(20)]
    source = "\n".join(["def kernel(p, start, stop):", *lines, "    return 0", ""])
    text = str(optimised(module_of(source, "kernel", NAMESPACE, False)))
    assert "x double>" in text
    assert "vector.memcheck" not in text


def test_marks_are_as_many_as_arrays():
    """Each costs time to compile."""
    line = "set_f8(p, 0, get_f8(start, 0, -1), 2)"
    source = f"def kernel(p, start, stop):\n    {line}\n    return 0\n"
    assert module_of(source, "kernel", NAMESPACE, False).count("array ") == 4
