"""Random programs, compiled, against NumPy: in memory full of NaN, in any order, more than once."""

import numpy as np
import pytest
from hypothesis import given
from kernels_in_python import kernels_in_python
from random_programs import assert_same, near_a_jump, programs, rounding
from sweeps_of_examples import examples, inexact, poison

import linad
from linad.core import tree
from linad.sweeps.cpu.target import CPU
from linad.transforms.simplify import simplify


def check_values(program):
    f, inputs = program
    with np.errstate(all="ignore"):
        expected = f(*inputs)
        if near_a_jump(f, inputs):
            return
        jitted = linad.jit(f)
        variant, outside = jitted._variant(inputs, {})
        arrays = [np.array(x) for x in inputs]
        for _ in range(3):
            poison(variant.compiled.program)
            values = variant.compiled.impl(*arrays, *outside)
            assert_same(variant.finish(values, arrays), expected, rounding(variant.tape))
            for a, b in zip(arrays, inputs, strict=True):
                np.testing.assert_array_equal(a, b)


def check_derivatives(program):
    f, inputs = program
    with np.errstate(all="ignore"), linad.config(disconnected="ignore"):
        if near_a_jump(f, inputs):
            return

        def pulled(*given):
            y, pullback = linad.vjp(lambda *x: inexact(f(*x)), *given)
            return y, pullback([np.ones_like(v) * (1 + k) for k, v in enumerate(y)])

        if not inexact(f(*inputs)):
            return
        y, tape = linad.trace(pulled, *inputs)
        program = CPU.compile(simplify(tape))
        for _ in range(2):
            poison(program)
            found = program.run([np.array(x) for x in inputs])
            assert_same(found, tree.flatten(y)[0], rounding(tape))


VALUES = programs()
DERIVATIVES = programs(dtypes=["f8", "f8", "c16", "f4"], most=14)


class TestRandomPrograms:
    @pytest.mark.rest
    @examples(60)
    @given(VALUES)
    def test_values(self, program):
        with kernels_in_python():
            check_values(program)

    @examples(60)
    @given(DERIVATIVES)
    def test_derivatives(self, program):
        with kernels_in_python():
            check_derivatives(program)

    @examples(2)
    @given(VALUES)
    def test_compiled(self, program):
        check_values(program)

    @pytest.mark.full
    @examples(60)
    @given(VALUES)
    def test_compiled_values(self, program):
        check_values(program)

    @pytest.mark.full
    @examples(60)
    @given(DERIVATIVES)
    def test_compiled_derivatives(self, program):
        check_derivatives(program)

    def test_any_order_of_calls(self):
        """Programs that share kernels, interleaved, each with what it holds."""
        rng = np.random.default_rng(0)

        def make(c, n):
            def f(x):
                y = x.copy()
                y[1:n] = np.sin(y[: n - 1]) * c
                y[0] = np.sum(y)
                return y, y * c, y[::-2]

            return f

        functions = [make(c, n) for c in (1.0, 2.0, -0.5) for n in (3, 5)]
        jitted = [linad.jit(f) for f in functions]
        for _ in range(120):
            k, n = rng.integers(len(functions)), rng.integers(5, 8)
            x = rng.normal(size=n)
            assert_same(jitted[k](x), functions[k](x), 2.3e-16)
            for versions in jitted[k].variants.values():
                for variant in versions:
                    poison(variant.compiled.program)
