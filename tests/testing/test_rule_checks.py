"""Wrong rules are found, whatever is wrong with them."""

import numpy as np
import pytest

import linad
from linad.core.primitive import Primitive
from linad.errors import DerivativeError
from linad.operators.structured import Diagonal
from linad.testing.rule_checks import Case, check_rule

X = np.array([0.3, -0.7, 1.9])


def primitive(impl, rule):
    made = Primitive("cubed", impl, register=False)
    made.jacobian(wrt=0)(rule)
    return made


def scaled(slope, x):
    return Diagonal(slope, x.shape, x.dtype)


def cubed(x):
    return x * x * x


def overwriting(x):
    y = x**3
    x[:1] += 1e-12
    return y


WRONG = {
    "pushforward against differences": (cubed, lambda y, x: scaled(2 * x * x, x)),
    "in single precision": (lambda x: (x + np.zeros(1)) ** 3, lambda y, x: scaled(3.0 * x * x, x)),
    "overwritten": (overwriting, lambda y, x: scaled(3 * x * x, x)),
}


@pytest.mark.parametrize("said", WRONG)
def test_a_wrong_rule_is_found(said):
    with pytest.raises(DerivativeError, match=rf"cubed\(\(3,\), .*{said}"):
        check_rule(primitive(*WRONG[said]), X.copy(), order=1, compiled=0)


def test_a_right_rule_passes():
    check_rule(primitive(cubed, lambda y, x: scaled(3 * x * x, x)), X, complex_=True, compiled=0)


def test_an_argument_to_differentiate_is_needed():
    with pytest.raises(DerivativeError, match="no floating argument"):
        check_rule(np.negative, np.arange(3), float32=False)


def test_options_of_a_case_come_first():
    case = Case(np.add, X, 2.0, check={"order": 1, "compiled": 0})
    assert repr(case) == "add((3,), ())"
    case.check(order=linad)  # is never looked at
