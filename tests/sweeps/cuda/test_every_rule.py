"""Every rule's cases, and their derivatives, as programs on the fake device, with its libraries."""

import contextlib

import numpy as np
import pytest
from fake_device import fake_gpu
from random_programs import assert_same, rounding
from rule_cases import TOPICS
from sweeps_of_examples import inexact

import linad
from linad.core import tree
from linad.errors import LinadError
from linad.sweeps.cuda import opening
from linad.sweeps.cuda.gpu_arrays import Array
from linad.sweeps.program import simplified

ANY_SIGN = {"eigh", "svd"}
"""Vectors of any sign: test_library_routines.py compares what they are of."""


def programs_of(case):
    """A case as a function of the arguments that it differentiates in: with its derivative, and,
    where it has none, alone."""
    given = [k for k, a in enumerate(case.args) if np.asarray(a).dtype.kind in "fc"]
    asked = sorted(case.options.get("wrt") or given)

    def f(*chosen):
        args = list(case.args)
        for k, a in zip(asked, chosen, strict=True):
            args[k] = a
        return inexact(tree.flatten(case.function(*args, **case.params))[0])

    def g(*chosen):
        y, pullback = linad.vjp(f, *chosen)
        return y, pullback([np.ones_like(v) * (1 + k) for k, v in enumerate(y)])

    return (g, f), [np.asarray(case.args[k]) for k in asked]


def traced(functions, args):
    for f in functions:
        with contextlib.suppress(LinadError, ValueError, TypeError, IndexError):
            return linad.trace(f, *args)
    return None


def compare(case):
    """Whether there is a program; it must give what NumPy gives."""
    functions, args = programs_of(case)
    found = traced(functions, args)
    if found is None:
        return False
    y, tape = found
    program = opening.target_here().compile(simplified(tape))
    results = program.run([np.array(a, order="C") for a in args])
    results = [a.numpy() if type(a) is Array else a for a in results]
    assert_same(results, tree.flatten(y)[0], max(rounding(tape), 1e-9))
    return True


@pytest.mark.full
@pytest.mark.parametrize("topic", [name for name, cases in TOPICS.items() if cases])
def test_derivatives(topic):
    cases = [c for c in TOPICS[topic] if getattr(c.function, "__name__", "") not in ANY_SIGN]
    with (
        fake_gpu(),
        linad.config(device_fallback=True, disconnected="ignore"),
        np.errstate(all="ignore"),
    ):
        made = sum([compare(case) for case in cases])
    assert made == len(cases)
