"""Functions that are defined within kernels: their bodies stand where they are called."""

import numpy as np
import pytest
from kernel_checks import check_small

import linad
from linad.errors import KernelError

# mypy: disable-error-code="no-untyped-def,no-untyped-call"


def runge_kutta(x):
    y = np.array([x[0], x[1]])

    def slope(y):
        out = np.empty(2)
        out[0] = y[1]
        out[1] = -x[2] * np.sin(y[0])
        return out

    h = 0.1
    for _ in range(4):
        k1 = slope(y)
        k2 = slope(y + h * k1)
        y = y + 0.5 * h * (k1 + k2)
    return y * x[3]


def names_are_looked_up_when_it_is_called(x):
    h = 1.0

    def scaled(y):
        return y * h

    first = scaled(x[0])
    h = x[1]
    return scaled(x[0]) + first


def defaults_are_found_where_it_is_defined(x):
    s = x[0]
    f = lambda y, c=s * x[1]: y * s + c  # noqa: E731  # the syntax is what is tested
    for i in range(3):
        s += f(x[i], 0.5)
    return s + f(x[3])


def functions_in_functions(x):
    def outer(a):
        t = a * x[0]

        def inner(b):
            return b * t + x[1]

        return inner(a) + inner(t)

    return outer(x[2]) * outer(x[3])


def array_that_a_function_writes(x):
    u = x.copy()

    def push(i, v):
        u[i] += v * u[i - 1]

    for i in range(1, 4):
        push(i, x[i])
    return u


def counter_that_a_function_reads(x):
    s = 0.5

    def term():
        return x[i] * s

    for i in range(4):
        s += term() + x[i] ** 2
    return s


def several_returns(x):
    def bent(v):
        if v < 0.6:
            return 0.1 * v
        return v * v

    return bent(x[0]) + bent(x[1]) * bent(x[3])


def array_that_becomes_another(x):
    y = x.copy()

    def energy():
        return np.sum(y * y)

    s = 0.0
    for _ in range(3):
        s += energy()
        y = np.sin(y) * s
    return y * s


def handed_over_to_one_that_writes(x):
    u = x.copy()

    def mixed():
        u[0] += 0.1 * u[1]

    for _ in range(3):
        new = u * x
        u = new
        mixed()
        u = u + new
    return u


def update_of_what_a_function_writes(x):
    def push(v):
        x[0] = 5.0 * x[1]
        return v * x[0]

    x[0] += push(x[2])
    x[0] *= push(x[0])
    return x


KERNELS = [
    update_of_what_a_function_writes,
    runge_kutta,
    names_are_looked_up_when_it_is_called,
    defaults_are_found_where_it_is_defined,
    functions_in_functions,
    array_that_a_function_writes,
    counter_that_a_function_reads,
    several_returns,
    array_that_becomes_another,
]


@pytest.mark.parametrize("function", KERNELS)
def test_functions_within_kernels(function, as_python):
    check_small(function)


def test_an_array_with_two_names_that_a_function_writes_is_refused(as_python):
    with pytest.raises(KernelError):
        linad.grad(lambda x: np.sum(linad.kernel(handed_over_to_one_that_writes)(x)))(np.ones(4))


def calls_itself(x):
    def power(n):
        return 1.0 if n == 0 else x[0] * power(n - 1)

    return power(3)


def takes_any_number(x):
    f = lambda *a: a[0]  # noqa: E731  # the syntax is what is tested
    return f(x[0])


def calls_what_kernels_do_not_have(x):
    def f(a):
        return np.fft.fft(a)[0].real

    return f(x)


@pytest.mark.parametrize(
    "function, problem",
    [
        (calls_itself, "power calls itself; write a loop"),
        (takes_any_number, r"\*args, \*\*kwargs and keyword-only"),
        (calls_what_kernels_do_not_have, "np.fft.fft is not in the language"),
    ],
)
def test_what_functions_within_kernels_cannot_be(function, problem):
    with pytest.raises(KernelError, match=problem):
        linad.grad(linad.kernel(function))(np.ones(4))
