"""Arrays that functions write into for their callers, where the caller's array is a plain one."""

import numpy as np
import pytest
from near_points import differences

import linad
from linad.errors import TracerError

X = np.array([0.3, 0.5, 0.7])
W = np.array([1.0, -2.0, 0.5])


def added(total, flux):
    total += flux
    return total


def filled(y, x):
    y[1:] = x[:2] ** 2


def scaled_entry(y, x):
    y[0] *= x[2]


def passed_on(y, x):
    scaled_entry(y, x)
    filled(y, x)


def by_name(x):
    total = W * 2
    total = added(total, x)
    total = added(total, x**2)
    return total


def by_two_names(x):
    total = W * 2
    other = total
    added(total, x)
    return other * total


def through_two_calls(x):
    y = W + 1
    z = W + 2
    passed_on(y, x)
    passed_on(z, y)
    return y + z


def view_without_another_name(x):
    t = np.linspace(0.5, 1.5, 3)
    t -= x[0]
    y = np.outer(W, W).reshape(3, 3)
    y[:, 0] = x
    y[1] *= x[1]
    y[2, 0] += x[2]
    z = (W * 2)[::-1].reshape(3)
    added(z, x)
    return t * y[:, 0] * y[:, 1] + z


class Held:
    def __init__(self):
        self.y = np.concatenate([W, W]).reshape(3, 2)


def view_of_an_attribute(x):
    held = Held()
    held.y[0] += x[:2]
    held.y[1:] *= x[1]
    return held.y @ np.array([1.0, 2.0])


def in_a_list(x):
    arrays = [W * 2]
    added(arrays[0], x)
    return arrays[0]


def in_a_closure(x):
    y = W * 2

    def read():
        return y

    added(y, x)
    return read() * 1


def used_before(x):
    y = W * 2
    return y + added(y, x)  # NumPy adds the changed array to itself


def through_a_view(x):
    y = W * 2
    head = y[:2]
    filled(y, x)
    return head * 1


def through_a_view_of_what_has_no_name(x):
    y = (W * 2)[::-1]
    head = y[:2]
    y[0] = x[0]
    return head * 1


def through_two_views(x):
    base = W * 2
    y = base[::-1]
    y[0] += x[0]
    return base * 1


def kept_outside(x, y):
    added(y, x)
    return y * 1


def adopted(f, *args):
    with linad.adopt(__name__):
        return linad.jacobian(f, argnums=0)(*args)


@pytest.mark.parametrize(
    "f",
    [
        *(by_name, by_two_names, through_two_calls),
        *(view_without_another_name, view_of_an_attribute),
    ],
)
def test_all_names_stand_for_the_traced_array(f):
    np.testing.assert_allclose(adopted(f, X), differences(f, X), atol=1e-8)
    with linad.adopt(__name__):
        compiled = linad.jit(f)
        for _ in range(3):
            np.testing.assert_allclose(compiled(X), f(X))


@pytest.mark.parametrize(
    "f",
    [
        *(in_a_list, in_a_closure, used_before, through_a_view),
        *(through_a_view_of_what_has_no_name, through_two_views),
    ],
)
def test_what_else_refers_to_the_array_makes_the_write_raise(f):
    with pytest.raises(TracerError, match="plain"):
        adopted(f, X)


def test_an_array_of_who_takes_the_derivative_stays_his():
    y = W * 2
    with pytest.raises(TracerError, match="plain"):
        adopted(kept_outside, X, y)
    np.testing.assert_array_equal(y, W * 2)
