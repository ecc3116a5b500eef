"""Run programs for a GPU on the CPU: as one thread, as three and as many, with the same bits."""

import numpy as np
from kernels_in_python import kernels_in_python
from random_programs import assert_same, rounding
from sweeps_of_examples import poison

import linad
from linad.core import tree
from linad.sweeps.cuda.target import CUDA
from linad.transforms.simplify import simplify


def run_both(f, *args):
    """The results of one thread and of many, which are the same bits; and the program."""
    with np.errstate(all="ignore"):
        y, tape = linad.trace(f, *args)
    tape, found = simplify(tape), []
    for threads in (1, 3, None):
        program = CUDA.compile(tape)
        program.threads = threads
        poison(program)
        found.append(program.run([np.array(a, order="C") for a in tree.flatten(args)[0]]))
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            assert a.tobytes() == b.tobytes()
    return found[0], y, program, tape


def check(f, *args):
    """Compare with NumPy; return what the instructions do."""
    found, y, program, tape = run_both(f, *args)
    assert_same(found, tree.flatten(y)[0], rounding(tape))
    return [i.label for i in program.lowering.instructions]


def checked(f, *args):
    """The same, with kernels that Python runs."""
    with kernels_in_python():
        return check(f, *args)
