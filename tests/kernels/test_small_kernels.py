"""Small kernels, each with one thing that a transformation of source may get wrong."""

import numpy as np
import pytest
from kernel_checks import check_small

import linad


def counter_after_its_loop(x):
    i = 0
    for i in range(3):
        x[i] = x[i] * x[i + 1]
    return x[i] + x[i + 1]


def alias(x):
    y = x
    y[0] = y[1] * y[0]
    return x


def rebound_argument(x):
    x = x * x
    x = x + x[::-1]
    return x


def part_of_array(x):
    row = x[1:3]
    row[0] = row[1] * row[0]
    row[:] *= x[0]
    return row


def array_made_in_loop(x):
    s = 0.0
    for i in range(len(x)):
        tmp = np.zeros(2)
        tmp[0] = x[i] * x[i]
        tmp[1] += tmp[0] * x[i]
        s += tmp[1] * tmp[0]
    return s


def endless_loop_left(x):
    n = 0
    s = 1.0
    while True:
        if n >= len(x):
            break
        n += 1
        if x[n - 1] < 0.4:
            continue
        s *= x[n - 1] ** 2
    return s


def early_return_in_nest(x):
    for i in range(len(x)):
        for j in range(i):
            if x[j] > x[i]:
                return x[i] * x[j]
            x[i] += x[j] ** 2
    return x[0]


def matrix_products(x):
    A = np.ones((4, 4))
    A[1, :] = x
    A[:, 2] = x * 2.0
    B = A @ A
    return B @ x


def indices_in_an_array(x):
    idx = np.zeros(4, np.int64)
    for i in range(4):
        idx[i] = (i * 3) % 4
    j = 0
    for i in range(4):
        j = idx[j] + 0
        x[idx[i]] = x[i] * x[j]
        j = (j + 1) % 4
    return x


def backward_while(x):
    s = 0.0
    i = len(x) - 1
    while i >= 0:
        k = i // 2
        x[k] *= np.sin(x[i])
        s += x[k]
        i -= 1
    return s + i


def largest_entry(x):
    m, k = x[0], 0
    for i in range(1, len(x)):
        if x[i] > m:
            m, k = x[i], i
    return m * k + x[k] ** 3


def one_counter_twice(x):
    s = 0.0
    for i in range(2):
        for i in range(3):
            s += x[i] * i
        s += i * s
    return s


def rebound_in_loop(x):
    y = np.empty(4)
    for i in range(4):
        y[i] = x[i]
    for _ in range(3):
        y = y * x + 0.1
    return y


def tuples(x):
    t = (x[0], x[1])
    a, b = t
    return a * b + t[0]


def conditional_expression(x):
    return x[-1] * x[-2] ** 2 if x[0] < x[1] else x[0]


def scalar_through_loop(x):
    n = len(x)
    h = 1.0 / n
    for k in range(n - 1, 0, -1):
        h = h * x[k]
        x[k - 1] -= h * x[k]
    return x


def copy_in_loop(x):
    for _ in range(3):
        y = x.copy()
        for i in range(1, 3):
            x[i] = y[i - 1] * y[i + 1] + y[i]
    return x


def exchange_with_argument(x):
    u = x
    w = np.zeros(4)
    for _ in range(3):
        for i in range(4):
            w[i] = u[i] * u[(i + 1) % 4]
        u, w = w, u
    return u


def scalar_of_a_branch(x):
    s = 0.0
    for i in range(len(x)):
        v = x[i]
        if v > 0.6:
            w = v * v
        else:
            w = v
        s += w * v
    return s


def integer_that_grows(x):
    q = 2
    for i in range(3):
        x[i] = x[i] ** q
        q += 1
    return x


WEIGHTS = np.array([1.0, 2.0, 3.0, 4.0])
FACTOR = 2.5


def constants_from_outside(x):
    s = 0.0
    for i in range(4):
        s += WEIGHTS[i] * x[i] ** 2 * FACTOR
    return s


def integer_that_becomes_real(x):
    s = 0
    for i in range(len(x)):
        s += x[i] * i
    return s


def condition_on_what_is_written(x):
    c = 0
    while c < 3 and x[c] < 0.85:
        x[c + 1] *= x[c]
        c += 1
    return x * c


def matrix_rebound_in_loop(x):
    m = np.empty((2, 2))
    m[0, 0] = x[0]
    m[0, 1] = x[1]
    m[1] = x[2:]
    for _ in range(2):
        m = np.dot(m, m)
    return m[0]


def step_down(x):
    for i in range(3, -1, -2):
        x[i] *= x[i - 1]
    return x


def compaction(x):
    k = 0
    for i in range(4):
        if x[i] > 0.4:
            x[k] = x[i] * x[k]
            k += 1
    s = 0.0
    for i in range(k):
        s += x[i]
    return s * k


def slices_overlap(x):
    y = x.copy()
    y[1:-1] = 0.5 * (x[2:] - x[:-2]) * y[1:-1]
    y *= y
    x[:] = y[::-1]
    return x + y


def break_after_assignment(x):
    best = x[0]
    arg = 0
    for i in range(1, 4):
        if x[i] > best:
            best = x[i]
            arg = i
            if arg == 3:
                break
    return best * x[arg - 1]


def tuple_assignment(x):
    a, b = 1.0, x[0]
    for i in range(4):
        a, b = b, a * x[i] + b
    return a * b


def scalar_and_entry(x):
    t = x[0]
    for i in range(3):
        t = t * x[i]
        x[i] = t
        t = np.sin(t) + x[i + 1]
    return x * t


def two_ends(x):
    i = 0
    j = 3
    while i < j:
        x[i], x[j] = x[j] * x[i], x[i]
        i += 1
        j -= 1
    return x


def counter_overwritten(x):
    n = len(x)
    for s in range(3):
        i = s % n
        for j in range(i, n):
            i = (i + 1) % n
            x[i] += x[j] * x[s]
    return x


def entries_that_coincide(x):
    r = np.zeros(3)
    for i in range(3):
        r[i % 2] = r[i % 2] * x[i] + x[i + 1]
        r[2] = r[0] * r[1] + r[2]
    return r


def differences(x):
    out = 0.0
    for i in range(4):
        acc = 1.0
        for j in range(4):
            if j != i:
                acc *= x[i] - x[j]
        out += x[i] ** 5 / acc
    return out


def writes_through_other_axes(x):
    a = x.reshape(2, 2)
    a[0, 1] = a[1, 0] * a[0, 0]
    a[1] *= a[0]
    a[-1, -1] += a[0, -1] ** 2
    row = a[1].reshape(2, 1)
    row[0, 0] *= row[1, 0]
    a[0:1].ravel()[:] *= x[3]
    return x


def copies_with_other_axes(x):
    a = np.reshape(x, (2, -1))
    b = a.flatten()
    b[0] = b[1] * b[2]
    c = a.T.ravel()
    c[1] *= c[1]
    for v in a.T.flat:
        c[2] = 0.9 * c[2] + v
    return b * c + x


def axes_of_three(x):
    a = np.zeros((2, 3, 2))
    for i in range(2):
        for j in range(3):
            for k in range(2):
                a[i, j, k] = x[(i + j * k) % 4] * (1 + i + j + k)
    b, c, d = a.reshape(2, 6), a.reshape(-1, 2), a.reshape((3, 4))
    b[1, 3] *= 2.0
    c[4] += c[1]
    d[2] *= d[0]
    e = a.transpose(2, 0, 1)
    e[1, 0, 2] *= c[0, 1]
    return (a * np.transpose(e, (1, 2, 0))).reshape(-1)


def other_axes_in_a_loop(x):
    s = 0.0
    for i in range(3):
        a = (x * x * i).reshape(2, 2)
        a[0] *= a[1]
        s += a[0, 0] * x[i] + a.sum()
    return s


def picked_by_truths(x):
    y = x * x
    m = (x > 0.4) & (x < 0.85)
    y[m] = 0.5 * x[m]
    y[~m] *= x[0]
    y[y > 0.3] = y[y > 0.3] * y[y > 0.3] + 1.0
    return y


def picked_by_numbers(x):
    i = np.array([3, 1, 1, -4])
    y = x[i] * x
    z = np.zeros(4)
    z[i[:2]] = y[:2]
    z[i] += x
    a = x.reshape(2, 2) * x[1]
    b = a[np.array([1, 0, 1])]
    a[:, np.array([1, 1])] *= b[:2]
    return z * y + b[2, 0] * a[1, 1]


def picked_in_a_loop(x):
    s = 0.0
    for i in range(3):
        y = x[x * (i + 1) > 0.7]
        s += np.sum(y * y) * len(y)
    return s


def new_axes(x):
    d = x[:, None] - x[None, :]
    a = np.exp(-d * d)
    a[:, :3] *= x[:, np.newaxis]
    a += x[:4][None]
    b = x.reshape(2, 1, 2)
    return (a / a.sum(axis=1)[:, None])[1] * b[..., 0].sum() + b[None, 0, ..., 1][0, 0]


def sorted_and_joined(x):
    y = x.copy()
    y.sort()
    a = np.concatenate((x[np.argsort(x)], y[:2] * x[1]))
    b = np.stack((x, x * x))
    c = np.concatenate((b, np.vstack((x, a[1:5]))), axis=1)
    d = np.column_stack((x, np.roll(x, 1)))
    e = np.append(x, x[0] * 2.0)
    return np.median(x) * np.sort(c[1])[2:6] + d[:, 1] * e[1:] * np.quantile(x, 0.3) + a[:4]


def sorted_in_a_loop(x):
    s = 0.0
    for i in range(1, 4):
        z = np.sort(np.sin(x * i * 3.0))
        s += z[0] * z[1] * s + z[2]
    return s


def rounded_and_members(x):
    s = np.round(x, 1).sum() * x[0] + round(x[1]) * x[2] + np.around(10.0 * x)[3] * x[1]
    for i in range(4):
        if i in (1, 3):
            s += x[i] ** 2
        if i not in (0, 1):
            s *= x[i]
    a, b = divmod(7, 3)
    return s * a + b * np.vdot(x.reshape(2, 2), x[::-1].copy().reshape(2, 2))


def nothing_given(x, weights=None, power=2):
    if weights is None:
        return np.sum(x**power)
    return np.sum(weights * x**power)


def checked_by_a_text(x):
    if x[0] < 0.0:
        raise ValueError(f"the first is {x[0]}, of {len(x)}")
    assert x[1] > 0.0, f"{x[1]}"
    return np.log(x[0]) * x[1]


KERNELS = [
    rounded_and_members,
    nothing_given,
    checked_by_a_text,
    picked_by_truths,
    picked_by_numbers,
    picked_in_a_loop,
    new_axes,
    sorted_and_joined,
    sorted_in_a_loop,
    counter_after_its_loop,
    alias,
    rebound_argument,
    part_of_array,
    array_made_in_loop,
    endless_loop_left,
    early_return_in_nest,
    matrix_products,
    indices_in_an_array,
    backward_while,
    largest_entry,
    one_counter_twice,
    rebound_in_loop,
    tuples,
    conditional_expression,
    scalar_through_loop,
    copy_in_loop,
    exchange_with_argument,
    scalar_of_a_branch,
    integer_that_grows,
    constants_from_outside,
    integer_that_becomes_real,
    condition_on_what_is_written,
    matrix_rebound_in_loop,
    step_down,
    compaction,
    slices_overlap,
    break_after_assignment,
    tuple_assignment,
    scalar_and_entry,
    two_ends,
    counter_overwritten,
    entries_that_coincide,
    differences,
    writes_through_other_axes,
    copies_with_other_axes,
    axes_of_three,
    other_axes_in_a_loop,
]


pytestmark = pytest.mark.usefixtures("as_python")


@pytest.mark.parametrize("function", KERNELS)
def test_gradient_against_differences(function):
    check_small(function)


def test_none_as_an_argument():
    x = np.array([0.3, 0.8, 0.5, 0.9])
    kernel = linad.kernel(nothing_given)
    np.testing.assert_allclose(linad.grad(lambda x: kernel(x, None, 3))(x), 3 * x**2)
    np.testing.assert_allclose(linad.grad(lambda w: kernel(x, w))(x), x**2)


def test_the_text_of_an_error_has_expressions_as_they_are_written():
    with pytest.raises(ValueError, match=r"the first is \{x\[0\]\}, of \{len\(x\)\}"):
        linad.grad(linad.kernel(checked_by_a_text))(-np.ones(2))
