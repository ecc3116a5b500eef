"""Random numbers drawn while a function is traced: never in silence."""

import functools
import random
import warnings

import numpy as np
import pytest

import linad
import linad.scipy.linalg
from linad.errors import UnsupportedError

RNG = np.random.default_rng(0)
DRAW = RNG.standard_normal
DRAWS = {"normal": DRAW}


def drawing(x):
    return x * RNG.normal()


def in_a_closure():
    rng = np.random.default_rng(0)
    return lambda x: x + rng.random()


class Model:
    def __init__(self):
        self.rng = np.random.default_rng(0)

    def run(self, x):
        return x + self.rng.normal()

    @linad.jit
    def compiled(self, x):
        return x + self.rng.normal()


DRAWING = {
    "numpy.random": lambda x: x + np.random.normal(),  # noqa: NPY002
    "random": lambda x: x + random.random(),
    "global": drawing,
    "in a function it calls": lambda x: drawing(x) * 2,
    "in a function inside it": lambda x: sum([RNG.normal() for _ in range(2)]) + x,
    "closure": in_a_closure(),
    "under a derivative": linad.grad(lambda x: drawing(x) * x),
    "jitted": linad.jit(drawing),
    "a method of a generator": lambda x: x + DRAW(),
    "one in a dictionary": lambda x: x + DRAWS["normal"](),
    "one that a partial calls": functools.partial(lambda draw, x: x * draw(), DRAW),
    "partial": functools.partial(lambda rng, x: x * rng.normal(), RNG),
    "method": Model().run,
    "attribute of an argument": functools.partial(Model.compiled.function, Model()),
}


@pytest.mark.parametrize("case", DRAWING)
def test_a_warning_names_the_function_and_points_at_the_call(case):
    with pytest.warns(UserWarning, match="drew random numbers while it was traced") as caught:
        linad.jit(DRAWING[case])(2.0)
    assert caught[0].filename == __file__


def test_a_jitted_method():
    with pytest.warns(UserWarning, match="compiled drew random numbers"):
        Model().compiled(2.0)


def test_a_static_generator():
    jitted = linad.jit(lambda x, rng: x * rng.normal(), static_argnames="rng")
    with pytest.warns(UserWarning, match="drew random numbers"):
        jitted(2.0, np.random.default_rng(0))


def test_who_draws_nothing_is_left_alone():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for f in (lambda x: x * len(str(RNG)), lambda x: x * np.random.default_rng(3).normal()):
            linad.jit(f)(2.0)


LOGARITHM = linad.jit(linad.scipy.linalg.logm)
OF_SCIPY = {
    "logm": linad.scipy.linalg.logm,
    "power": lambda a: linad.scipy.linalg.fractional_matrix_power(a, 0.3),
    "derivative": linad.jacobian(linad.scipy.linalg.logm),
    "jitted": lambda a: LOGARITHM(LOGARITHM(a)),
}


@pytest.mark.parametrize("f", OF_SCIPY.values(), ids=OF_SCIPY)
def test_draws_of_scipy_for_itself_are_none(f):
    a = np.eye(3) * 4 + np.arange(9.0).reshape(3, 3) / 9
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled = linad.jit(f)
        for _ in range(2):
            np.testing.assert_allclose(compiled(a), f(a), rtol=1e-12)
    # From 1 to 2: at tiny multiples SciPy says of its logarithm that it may be inaccurate.
    draw = np.random.uniform
    for mixed in (lambda a: f(a) * draw(1, 2), lambda a: f(a * draw(1, 2))):
        with pytest.warns(UserWarning, match="drew random numbers"):
            linad.jit(mixed)(a)


@pytest.mark.parametrize(
    "generator", [np.random.default_rng(0), np.random.RandomState(0), random.Random(0)]
)
def test_generators_are_no_arguments(generator):
    with pytest.raises(UnsupportedError, match="jit: an argument is a .*: draw them outside"):
        linad.jit(lambda x, rng: x * rng.normal())(2.0, generator)
