"""A function that catches what an operation raises: each call goes Python's way."""

import numpy as np
import pytest
from kernels_in_python import kernels_in_python

import linad
from linad.errors import GuardError

FAILURE = np.linalg.LinAlgError
GOOD = np.array([[2.0, 0.3], [0.3, 1.0]])
OTHER = np.array([[5.0, 1.0], [1.0, 1.0]])
BAD = np.array([[-1.0, 0.0], [0.0, 0.0]])  # neither positive definite nor regular


def made_definite(a):
    try:
        return np.linalg.cholesky(a)
    except FAILURE:
        return np.linalg.cholesky(a + 10 * np.eye(2))


def asked_only(a):
    try:
        np.linalg.cholesky(a)
    except FAILURE:
        return -a
    return 2 * a


def inverse(a):
    try:
        return np.linalg.inv(a)
    except FAILURE:
        return np.linalg.pinv(a + 1)


def solution(a):
    try:
        return np.linalg.solve(a, np.ones(2))
    except FAILURE:
        return a[0] * 3


def written_before(a):
    a[0, 0] += 1
    try:
        return np.linalg.inv(a)
    except FAILURE:
        a[1, 1] += 10
        return a * 1


def whole_powers(a):
    try:
        return 2 ** a.astype(int) + a
    except ValueError:
        return 3 * a


def own(x):
    if x[0, 0] < 0:
        raise KeyError("negative")
    return np.exp(x)


own_primitive = linad.primitive(own, name="refuses_negative")


@own_primitive.jacobian(wrt=0)
def own_wrt_x(y, x):
    return (lambda v: y * v), (lambda w: y * w)


def primitive_of_the_user(x):
    try:
        return own_primitive(x)
    except KeyError:
        return -x


FUNCTIONS = [
    *(made_definite, asked_only, inverse, solution, written_before, whole_powers),
    primitive_of_the_user,
]
FORMS = {
    "jit": (lambda f: f, linad.jit),
    "jit of jacobian": (linad.jacobian, lambda f: linad.jit(linad.jacobian(f))),
    "jacobian of jit": (linad.jacobian, lambda f: linad.jacobian(linad.jit(f))),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("f", FUNCTIONS)
def test_each_call_goes_the_way_of_python(f, form):
    plain, compiled = FORMS[form]
    with kernels_in_python():
        for points in ((GOOD, GOOD, OTHER, BAD, BAD, OTHER), (BAD, BAD, GOOD, OTHER, BAD)):
            g = compiled(f)
            for x in points:
                given, taken = x.copy(), x.copy()
                found, expected = g(given), plain(f)(taken)
                np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
                np.testing.assert_array_equal(given, taken)


DEAD = {
    "inv": (np.linalg.inv, FAILURE),
    "solve": (lambda a: np.linalg.solve(a, a), FAILURE),
    "cholesky": (np.linalg.cholesky, FAILURE),
    "power": (lambda a: 2 ** a.astype(int), ValueError),
}


@pytest.mark.parametrize("name", DEAD)
def test_an_error_of_what_nobody_uses(name):
    step, error = DEAD[name]

    def f(a):
        step(a)
        return 2 * a

    with kernels_in_python():
        compiled = linad.jit(f)
        for _ in range(3):
            np.testing.assert_array_equal(compiled(GOOD), 2 * GOOD)
            with pytest.raises(error):
                compiled(BAD)


def test_tapes():
    for x, other in ((GOOD, BAD), (BAD, GOOD)):
        for f in (made_definite, asked_only):
            y, tape = linad.trace(f, x)
            np.testing.assert_array_equal(tape(x), y)
            with pytest.raises((GuardError, FAILURE)):
                tape(other)


def test_gradients_check_no_system_twice():
    """What an equation that stays would tell is not asked again."""

    def f(a):
        return np.sum(np.linalg.solve(a, np.ones(2)) ** 2) + np.sum(np.linalg.eigvalsh(a) ** 2)

    tape = linad.trace(linad.grad(f), GOOD)[1]
    assert "raises" not in [e.primitive.name for e in tape.equations]


def test_what_is_not_needed_may_raise_by_what_is_not_needed():
    """An equation that is only tried reads another one that was only to be tried."""

    def f(x, a):
        y = np.linalg.solve(x * np.eye(2) + 1.0, x)
        np.linalg.inv(np.outer(y, y) + np.eye(2))
        return a * 2.0

    x, a = np.array([1.0, 2.0]), np.array([0.5, 1.5])
    y, tape = linad.trace(f, x, a)
    tape.check()
    np.testing.assert_array_equal(tape(x, a), y)
    with kernels_in_python():
        for g in (f, linad.jit(f)):
            np.testing.assert_array_equal(linad.jvp(g, (x, a), (a, x))[1], 2.0 * x)
    with pytest.raises((GuardError, FAILURE)):
        tape(np.array([-2.0, -2.0]), a)


def test_an_array_copied_into_another_that_is_written():
    def f(x, p):
        np.copyto(x, p)
        p += x
        return x

    with kernels_in_python():
        compiled = linad.jit(f)
        for _ in range(3):
            arrays = [GOOD.copy(), OTHER.copy()]
            expected = f(*(plain := [a.copy() for a in arrays])).copy()
            np.testing.assert_array_equal(compiled(*arrays), expected)
            np.testing.assert_array_equal(arrays, plain)
