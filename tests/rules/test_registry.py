"""Every primitive has cases, and every case of every topic passes."""

import pytest
from kernels_in_python import kernels_in_python
from rule_cases import TOPICS

from linad.core.primitive import Primitive
from linad.testing.derivative_checks import Case

FIRST = {id(c.function): c for cases in reversed(TOPICS.values()) for c in reversed(cases)}


def is_first(case):
    return FIRST[id(case.function)] is case


def cases(marks):
    """All cases; those that are not the first of a function are marked."""
    return [
        pytest.param(case, id=f"{topic}-{k}-{case!r}", marks=() if is_first(case) else marks)
        for topic, found in TOPICS.items()
        for k, case in enumerate(found)
    ]


def order_of(case):
    """Second order for the first case of each primitive."""
    return 2 if isinstance(case.function, Primitive) and is_first(case) else 1


@pytest.mark.parametrize("case", cases(marks=pytest.mark.sweep(part=0.25)))
def test_case(case):
    """With programs to the same order, whose kernels Python runs."""
    with kernels_in_python():
        case.check(order=order_of(case), compiled=order_of(case))


@pytest.mark.full
@pytest.mark.parametrize("case", cases(marks=()))
def test_compiled_case(case):
    case.check(compiled=order_of(case))


def test_every_primitive_has_a_case():
    covered = {id(case.function) for cases in TOPICS.values() for case in cases}
    differentiable = {
        name: primitive for name, primitive in Primitive.registry.items() if not primitive.constant
    }
    missing = sorted(name for name, p in differentiable.items() if id(p) not in covered)
    assert not missing, f"primitives without a case in tests/rules: {missing}"


def test_cases_are_cases():
    assert all(isinstance(case, Case) for cases in TOPICS.values() for case in cases)
