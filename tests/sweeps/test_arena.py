"""Buffers of programs: no two that live at once overlap, and nothing unwritten is read."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from kernels_in_python import kernels_in_python
from random_programs import DTYPES, make

import linad
from linad.sweeps.instructions import Fallback
from linad.sweeps.places import Buffer, Place


def lives(lowering):
    """First and last instruction that touches each buffer of the arena."""
    found = {}
    for k, instruction in enumerate(lowering.instructions):
        for buffer in instruction.buffers:
            if buffer.kind == "arena":
                found.setdefault(buffer, [k, k])[1] = k
            if buffer.kind == "kept":
                found[buffer] = [0, len(lowering.instructions)]
    return found


def check_storage(lowering):
    alive = lives(lowering)
    for buffer, (first, last) in alive.items():
        assert buffer.offset % 64 == 0
        assert 0 <= buffer.offset <= buffer.offset + buffer.size <= lowering.arena_size
        for other, (start, end) in alive.items():
            if other is buffer or end < first or last < start:
                continue
            apart = (
                buffer.offset + buffer.size <= other.offset
                or other.offset + other.size <= buffer.offset
            )
            assert apart, f"{(first, last)} and {(start, end)} share memory"
    for instruction in lowering.instructions:
        if isinstance(instruction, Fallback):
            places = [p for p in (*instruction.inputs, *instruction.outputs) if type(p) is Place]
            for place in places:
                low, high = place.extent
                if 0 not in place.shape:
                    assert 0 <= low < high <= max(place.buffer.size, place.dtype.itemsize)
        else:
            for word in instruction.words:
                if type(word) is tuple:
                    buffer, offset = word
                    assert isinstance(buffer, Buffer)
                    assert 0 <= offset <= buffer.size


class TestRandomPrograms:
    @pytest.mark.rest
    @settings(max_examples=60, deadline=None, derandomize=True)
    @given(st.integers(0, 2**32), st.integers(8, 30))
    def test_storage(self, seed, length):
        with np.errstate(all="ignore"):
            f, inputs = make(seed, length, DTYPES)
            program = linad.jit(f).variant(*inputs).compiled.program
            with kernels_in_python():
                program.give_back(program.borrow())
        check_storage(program.lowering)

    @pytest.mark.usefixtures("kernels")
    def test_nothing_is_read_before_it_is_written(self):
        """Two runs in memory with different rubbish give the same bits."""
        for seed in range(40):
            with np.errstate(all="ignore"):
                f, inputs = make(seed, 20, DTYPES)
                variant, outside = linad.jit(f)._variant(inputs, {})
                program, found = variant.compiled.program, []
                for rubbish in (0x00, 0xFF, 0x3F):
                    workspace = program.borrow()
                    workspace.arena[...] = rubbish
                    program.give_back(workspace)
                    found.append(variant.compiled.arrays([*inputs, *outside]))
            for run in found[1:]:
                for a, b in zip(run, found[0], strict=True):
                    assert a.tobytes() == b.tobytes()


@pytest.mark.usefixtures("kernels")
def test_a_write_into_what_is_not_joined_yet():
    """The first write into a concatenation is computed before its pieces are put together."""

    def f(x):
        a = np.stack([x, x * x], 1)
        row = a[0]
        row[0] = x[0] * 0.1
        row[1:] *= 0.3
        return np.sum(np.cos(a))

    x = np.array([0.3, -0.2])
    compiled = linad.jit(linad.grad(f))
    for _ in range(2):
        np.testing.assert_allclose(compiled(x), linad.grad(f)(x), rtol=1e-13)
