"""Run primitives in compiled programs whose memory held rubbish before."""

import sys
import warnings

import numpy as np

import linad
from linad.core.collection_pause import collection_paused
from linad.core.primitive import Primitive
from linad.core.tape import Equation, Tape, Var
from linad.jit.jitted import Jitted
from linad.sweeps.cpu.direct_calls import NO_ENTRY
from linad.sweeps.cpu.target import CPU
from linad.sweeps.instructions import Fallback


def poisoned(tape):
    """A program with a workspace full of NaN."""
    program = CPU.compile(tape)
    workspace = program.borrow()
    workspace.arena[...] = 0xFF
    program.give_back(workspace)
    return program


def fallbacks(program):
    """Names of the primitives that NumPy computes."""
    return [i.label for i in program.lowering.instructions if isinstance(i, Fallback)]


def labels(program):
    """What the instructions of a program do."""
    return [i.label for i in program.lowering.instructions]


def in_numpy(name, arrays, params):
    """The results of a primitive as a list; None where NumPy refuses them."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            y = Primitive.registry[name].impl(*arrays, **params)
    except (TypeError, ValueError):
        return None
    return [np.asarray(part) for part in (y if isinstance(y, tuple) else (y,))]


def in_one_program(names, arrays):
    """Apply primitives to the same arrays: what NumPy gives, what one program gives, and it."""
    inputs = [Var(k, a.shape, a.dtype) for k, a in enumerate(arrays)]
    equations, outputs, expected = [], [], []
    for name in names:
        results = in_numpy(name, arrays, {})
        made = tuple(
            [Var(len(inputs) + len(outputs) + k, y.shape, y.dtype) for k, y in enumerate(results)]
        )
        equations.append(Equation(Primitive.registry[name], tuple(inputs), {}, made))
        outputs += made
        expected += results
    program = poisoned(Tape("test", inputs, equations, outputs, None, None))
    return expected, program.run(arrays), program


def check_compiled(f, *args, rtol=1e-12):
    """Trace, compile and compare: nothing may fall back. Return what the instructions do."""
    with np.errstate(all="ignore"):
        y, tape = linad.trace(f, *args)
        program = poisoned(tape)
        leaves = [np.asarray(a, order="C") for a in linad.core.tree.flatten(args)[0]]
        found = program.run(leaves)
    assert not fallbacks(program)
    expected = linad.core.tree.flatten(y)[0]
    for got, wanted in zip(found, expected, strict=True):
        wanted = np.asarray(wanted)
        assert got.dtype == wanted.dtype
        assert got.shape == wanted.shape
        np.testing.assert_allclose(got, wanted, rtol=rtol, atol=rtol)
    return labels(program)


def calls_of_python(f, *args):
    """Names of the functions in Python that a call runs."""
    seen = []
    with collection_paused():  # what other tests left behind has finalizers in Python
        sys.setprofile(
            lambda frame, event, _: event == "call" and seen.append(frame.f_code.co_name)
        )
        try:
            f(*args)
        finally:
            sys.setprofile(None)
    return [name for name in seen if name not in ("calls_of_python", "<lambda>")]


def without_numpy(f, *args):
    """The jitted function, once it runs compiled, and that NumPy has no part in it."""
    made = linad.jit(f)
    made(*args), made(*args)
    assert not linad.explain(f)(*args).fallbacks
    return made


def direct(f, *args):
    """A jitted function that has been called until machine code is called for it."""
    jitted = linad.jit(f)
    for _ in range(3):
        jitted(*args)
    assert type(jitted) is not Jitted
    assert jitted._entry is not NO_ENTRY
    return jitted
