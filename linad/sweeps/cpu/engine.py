"""The sweep: one compiled loop that runs any program.

A program is a list of 64-bit words, the instructions one after the other:

    [kernel address, extent, work, number of operands, operands ...]

``extent`` is the length of the range that a kernel works through, the one thing that may be
split over threads (`linad.sweeps.cpu.threads`); ``work`` says how much there is to split, 0 where
the range must be gone through in one. Operands are sizes, strides and addresses. Kernels
return a status; the sweep stops at the first that is not zero and returns it.

Addresses of a caller's arrays are not known when the program is made. `enter` checks that
the arrays are what the program was made for, and writes their addresses where the program
lists their use.
"""

from linad.sweeps.cpu.native import (
    ARRAY_DATA,
    ARRAY_DTYPE,
    ARRAY_FLAGS,
    ARRAY_NDIM,
    ARRAY_SHAPE,
    HEADER,
    TUPLE_ITEMS,
    call_kernel,
    set_word,
    word,
    word32,
)
from linad.sweeps.cpu.own_functions import callable_on_objects, callable_on_words
from linad.sweeps.instructions import OTHER_ARGUMENTS

ALIGNED = 0x0100
IN_ROWS, IN_COLUMNS = 0x0001 | ALIGNED, 0x0002 | ALIGNED
"""Flags of the arrays of a caller's: order C, or F."""


AXES, SHAPE = 16, 24
"""Bytes from what a header has of an array to how many axes it has, and to its shape."""

EXTENT, WORK, OPERANDS, INSTRUCTION = 8, 16, 24, 32
"""Bytes from the beginning of an instruction to its words, and to its operands."""


def run_instructions(code, end):
    """Run the instructions between two addresses."""
    status = 0
    while code < end:
        status = call_kernel(word(code), code + INSTRUCTION, 0, word(code + EXTENT))
        if status != 0:
            break
        code += INSTRUCTION + 8 * word(code + OPERANDS)
    return status


def differs(array, kind, dtype, flags, ndim):
    """Whether an object is of another type, or an array of another dtype, order or dimension."""
    return (
        word(array + HEADER - 8) != kind
        or word(array + ARRAY_DTYPE) != dtype
        or word32(array + ARRAY_FLAGS) & flags != flags
        or word32(array + ARRAY_NDIM) != ndim
    )


def patch(header, arrays):
    """Check the arrays of a tuple, and write their addresses into the program."""
    # header: [number of arrays, array type, code, end of code, then for each array:
    #          dtype, flags, ndim, shape ..., number of uses, addresses to write to ...]
    n = word(header)
    if word(arrays + HEADER) != n:
        return OTHER_ARGUMENTS
    at = header + 32
    for i in range(n):
        array = word(arrays + TUPLE_ITEMS + 8 * i)
        ndim = word(at + AXES)
        if differs(array, word(header + 8), word(at), word(at + 8), ndim):
            return OTHER_ARGUMENTS
        shape = word(array + ARRAY_SHAPE)
        at += SHAPE
        for d in range(ndim):
            if word(shape + 8 * d) != word(at):
                return OTHER_ARGUMENTS
            at += 8
        data = word(array + ARRAY_DATA)
        uses = word(at)
        at += 8
        for _ in range(uses):
            # An operand is an address relative to the array: what is there is the offset.
            set_word(word(at), data + word(at + 8))
            at += 16
    return 0


def _patch(header, arrays):
    return patch(word(header + ARRAY_DATA), arrays)


def _enter(header, arrays):
    words = word(header + ARRAY_DATA)
    status = patch(words, arrays)
    if status != 0:
        return status
    return run_instructions(word(words + 16), word(words + 24))


sweep = callable_on_words(run_instructions)
"""``sweep(code, end)``, from Python."""

enter = callable_on_objects(_enter)
"""``enter(header, arrays)``: check, patch and run, holding the GIL: for short programs."""

enter_long = callable_on_objects(_enter, releases=True)
"""The same, releasing the GIL."""

patch_arrays = callable_on_objects(_patch)
"""The same, without running."""


def _call_on(description, words, arrays):
    # description: [kernel, number of arrays, array type, then for each array: dtype, ndim]
    at = word(description + ARRAY_DATA)
    first = word(words + ARRAY_DATA)
    to = first
    kernel, n, kind = word(at), word(at + 8), word(at + 16)
    if word(arrays + HEADER) != n:
        return OTHER_ARGUMENTS
    for i in range(n):
        at += 24 if i == 0 else 16
        array = word(arrays + TUPLE_ITEMS + 8 * i)
        ndim = word(at + 8)
        if differs(array, kind, word(at), IN_ROWS, ndim):
            return OTHER_ARGUMENTS
        set_word(to, word(array + ARRAY_DATA))
        shape = word(array + ARRAY_SHAPE)
        for d in range(ndim):
            set_word(to + 8 + 8 * d, word(shape + 8 * d))
        to += 8 + 8 * ndim
    return call_kernel(kernel, first, 0, 1)


call_on = callable_on_objects(_call_on, releases=True)
"""``call_on(description, words, arrays)``: call one kernel on the arrays of a tuple.

Its words, for which there must be room, become the address and the lengths of each array. The
description is the kernel's address, the number of arrays, their type's, and for each array the
dtype's address and the number of axes.
"""
