"""What a transform returns: it is called, documented, bound and pickled as a function is."""

import functools
import pickle

import numpy as np
import pytest

from linad.core.transformed_functions import Transformed, named


def double(f, times=2):
    return Transformed(lambda *args, **kwargs: times * f(*args, **kwargs), double, f, times)


def half(x):
    """Half of a number."""
    return x / 2


@double
def decorated(x):
    return x + 1


class Model:
    @double
    def scaled(self, x):
        return 3 * x


def test_it_passes_for_a_function():
    made = double(half, 4)
    assert made(3.0) == 6.0
    assert made.__name__ == "half"
    assert made.function is half
    assert repr(made) == "<double of half>"
    assert made.__doc__.startswith("Double of half in argnums=4, a function of the arguments")
    assert made.__doc__.endswith("Half of a number.")
    assert Model().scaled(1.0) == 6.0
    assert double(functools.partial(half)).function.func is half


def test_it_travels():
    again = pickle.loads(pickle.dumps(double(half, 4)))
    assert again(3.0) == 6.0
    assert pickle.loads(pickle.dumps(decorated)) is decorated  # by the name that a module has


def test_names_that_modules_have():
    assert named(half) == "half"
    assert named(Model.scaled) == "Model.scaled"
    assert named(double(half)) == ""
    assert named(lambda x: x) == ""
    assert named(np.float64(3)) == ""


def test_errors_pass_through():
    with pytest.raises(ZeroDivisionError):
        double(lambda x: x / 0)(1)
