"""Every primitive has cases, and every case of every topic passes."""

import pickle

import numpy as np
import pytest
from kernels_in_python import kernels_in_python
from rule_cases import TOPICS, asked_of, is_first, is_needed

import linad
from linad.core.primitive import Primitive
from linad.sweeps.cpu.routines import ROUTINES
from linad.testing.rule_checks import Case, check_rule

pytestmark = pytest.mark.whole


def cases(marks):
    """All cases; those that are not the first of a function, nor of an argument, are marked."""
    return [
        pytest.param(case, id=f"{topic}-{k}-{case!r}", marks=() if is_needed(case) else marks)
        for topic, found in TOPICS.items()
        for k, case in enumerate(found)
    ]


LONG = ("noncentral", "incomplete", "distributions")
"""Topics of series in shapes, whose second derivatives are half of what all cases take: these are
left to `.ci/run`."""


def order_of(case):
    """Second order for the first case of each primitive."""
    return 2 if isinstance(case.function, Primitive) and is_first(case) else 1


def order_of_programs(case):
    """Second order where a primitive has a routine of its own.

    Programs of the others are loops and the programs of other primitives.
    """
    has_routine = getattr(case.function, "name", None) in ROUTINES
    return order_of(case) if has_routine else 1


@pytest.mark.parametrize("case", cases(marks=[pytest.mark.sweep(part=0.1), pytest.mark.rest]))
def test_case(case):
    """With programs, whose kernels Python runs."""
    with kernels_in_python():
        if any(case is long for topic in LONG for long in TOPICS[topic]):
            case.check(order=1, compiled=1)
        else:
            case.check(order=order_of(case), compiled=order_of_programs(case))


@pytest.mark.rest
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=f"{topic}-{k}-{case!r}")
        for topic in LONG
        for k, case in enumerate(TOPICS[topic])
        if order_of(case) == 2
    ],
)
def test_second_order_of_long_ones(case):
    with kernels_in_python():
        case.check(order=2, compiled=order_of_programs(case))


@pytest.mark.full
@pytest.mark.parametrize("case", cases(marks=()))
def test_compiled_case(case):
    case.check(compiled=order_of(case))


@pytest.mark.rest
@pytest.mark.parametrize("topic", TOPICS)
def test_what_rules_return_can_be_pickled(topic):
    for case in filter(is_needed, TOPICS[topic]):
        places = sorted(asked_of(case))

        def f(given, case=case, places=places):
            full = list(case.args)
            for i, x in zip(places, given, strict=True):
                full[i] = x
            return case.function(*full, **case.params)

        with np.errstate(all="ignore"):
            y, J = linad.linearize(f, [np.asarray(case.args[i]) for i in places])
            again = pickle.loads(pickle.dumps(J))
            weights = [slot.zeros(()) + 1 for slot in J.out_slots]
            found, expected = (A.pull_leaves(weights, ()) for A in (again, J))
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, err_msg=repr(case))


def notices(case):
    """Whether a check of first derivatives fails, in whatever way."""
    options = {"order": 1, "float32": False, "compiled": 0, "complex_": False}
    try:
        with np.errstate(all="ignore"):
            check_rule(case.function, *case.args, **case.options | options, **case.params)
    except Exception:
        return True
    return False


@pytest.mark.full
def test_the_cases_that_always_run_notice_what_all_do(monkeypatch):
    """Each rule of each primitive, made twice what it is; some are 0, or refuse."""
    everything = [case for cases in TOPICS.values() for case in cases]
    missed = []
    for name, primitive in Primitive.registry.items():
        own = [case for case in everything if case.function is primitive]
        always = [case for case in own if is_needed(case)]
        for k, right in [*primitive.rules.items()]:

            def wrong(*args, right=right, **params):
                return 2 * right(*args, **params)

            with monkeypatch.context() as changed:
                changed.setitem(primitive.rules, k, wrong)
                if not any(map(notices, always)) and any(map(notices, own)):
                    missed.append((name, k))
    assert missed == []


def test_every_primitive_has_a_case():
    covered = {id(case.function) for cases in TOPICS.values() for case in cases}
    differentiable = {
        name: primitive for name, primitive in Primitive.registry.items() if not primitive.constant
    }
    missing = sorted(name for name, p in differentiable.items() if id(p) not in covered)
    assert not missing, f"primitives without a case in tests/rules: {missing}"


def test_cases_are_cases():
    assert all(isinstance(case, Case) for cases in TOPICS.values() for case in cases)
