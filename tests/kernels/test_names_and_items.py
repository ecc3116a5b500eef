"""What names stand for, loops over items, and NumPy's functions of arrays, in small kernels."""

import types

import numpy as np
import pytest
from kernel_checks import check_small
from numba import njit


def tuple_kept_while_its_array_changes(x):
    t = (x[0], x[1])
    x[0] = x[2] * x[1]
    x[1] = 3.0
    return t[0] * t[1] + x[0]


def tuple_carried_by_a_loop(x):
    t = (0.1, x[0])
    s = 0.0
    for i in range(3):
        s += t[0] * t[1]
        t = (t[1], t[0] * x[i] + 0.3)
    return s + t[1] ** 2


def tuple_of_a_branch(x):
    if x[0] < 0.5:
        t = (x[1], x[2])
    else:
        t = (x[2], x[3])
    return t[0] ** 2 * t[1]


def tuple_at_an_index(x):
    t = (x[0], x[1] * x[2], 3.0)
    s = 0.0
    for i in range(3):
        s += t[i] ** 2 * x[i]
    return s


def write_through_a_transpose(x):
    a = np.zeros((2, 2))
    b = a.T
    b[0, 1] = x[0] * x[1]
    b[1, 0] += x[2]
    a.T[0, 0] = x[3] ** 2
    a.T[0] *= 2.0
    return a[1, 0] ** 2 + 3 * a[0, 1] * a[0, 0]


def rows_of_a_transpose(x):
    a = np.empty((2, 3))
    for i in range(2):
        for j in range(3):
            a[i, j] = x[i] * x[j + 1] + j
    s = 0.0
    for column in a.T:
        s += column[0] * column[1] ** 2
    return s + a.T[1:, 0].sum()


def negative_counter_in_a_part(x):
    part = x[1:]
    s = 0.0
    for i in range(-1, -4, -1):
        s += part[i] * i
        part[i] *= s
    return s


def number_that_fills(x):
    s = x[0] * 2.0
    y = np.full(3, s)
    z = np.full_like(x, 0.5)
    return y * x[1] + z[:3]


def number_that_becomes_real_fills(x):
    s = 0
    total = 0.0
    for i in range(3):
        y = np.full(2, s)
        total += y[0] * x[i]
        s += x[i]
    return total


def early_return_of_an_array(x):
    if x[0] > 0.5:
        return x * x
    y = np.zeros(4)
    for i in range(4):
        if x[i] > 0.85:
            return y
        y[i] = x[i] ** 3
    return y


def argument_rebound_in_a_loop(x):
    for _ in range(3):
        x = x * np.sin(x) + 0.5
    return x


def argument_rebound_in_a_branch(x):
    if x[0] < 0.5:
        x = x * x
    return x + 1.0


def second_name_rebound_in_a_loop(x):
    v = x
    length = 0.0
    for _ in range(3):
        w = v * np.array([1.0, 2.0, 3.0, 4.0])
        length = np.sqrt(np.sum(w * w))
        v = w / length
    return v * length


def array_that_gets_shorter(x):
    y = x * x
    y = y[1:] * y[:-1]
    y = np.diff(y)
    return y


def while_reads_what_it_replaces(x):
    v = x * 1.0
    n = 0
    while np.sum(v) > 0.5 and n < 5:
        v = v * 0.6
        n += 1
    return v * v


@njit
def doubled(x):
    x = x * 2.0
    return x


def function_with_the_same_names(x):
    s = 0.0
    for i in range(2):
        y = doubled(x)
        s += y[i] * x[i]
        x[i] = s
    return s


@njit
def both_ends(pair, x):
    x[0] = 5.0
    return pair[0] * pair[1]


def tuple_given_to_a_function(x):
    found = both_ends((x[0], x[1]), x)
    return found + x[0]


def over_entries(x):
    s = 0.0
    for v in x:
        s += v**3
    for i, v in enumerate(x):
        if i == 2:
            continue
        x[i] = v * s
    return x


def over_pairs(x):
    s = 0.0
    for i, (a, b) in enumerate(zip(x, x[::-1])):  # noqa: B905  # Numba's zip has no strict
        if i == 3:
            break
        s += (i + 1) * a * b * b
    return s


def over_rows(x):
    a = np.zeros((2, 2))
    a[0] = x[:2]
    a[1] = x[2:]
    s = 0.0
    for row in a:
        row *= row
        for v in row:
            s += v * a[0, 0]
    for row in a:
        s += row[0]
    return s


def over_pairs_of_rows(x):
    edges = np.array([[0, 1], [1, 3], [2, 0]])
    s = 0.0
    for i, j in edges:
        s += x[i] * x[j] ** 2
    a, b, c, d = x
    k, m = edges[1]
    return s * a + b * c * d * x[k] - x[m]


def over_numbers(x):
    s = 0.0
    for d in (-1, 0, 2):
        for w in [0.5, 1.5]:
            if d == 0:
                continue
            s += w * x[d] ** 2
    return s


def integers_of_bits(x):
    n = len(x)
    j = 0
    for i in range(1, n):
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j |= bit
        if i < j:
            x[i], x[j] = x[j] * x[i], x[i]
    return x * (1 << 2)


def entries_chosen(x):
    z = np.where(x > 0.6, x**2, -x)
    inside = (x > 0.4) & (x < 0.85)
    s = 0.0
    for i in range(4):
        if inside[i]:
            s += z[i]
    return z * s + np.clip(x, 0.4, 0.85) ** 2


def reductions(x):
    a = np.outer(x, x + 1.0)
    rows = a.sum(axis=1)
    least = np.min(a, axis=0)
    return rows * least * np.max(x) + np.prod(x) * x.mean() + np.mean(a, axis=-1) + x.min()


def cumulative(x):
    return np.cumsum(x) * np.cumprod(x) + np.var(x) * np.std(x) + x.cumsum()[::-1]


def methods_of_arrays(x):
    k, m = x.argmax(), x.argmin()
    a = np.outer(x, x) * x[m]
    return (x.cumsum() + x.cumprod()) * a.trace() + x.var() * x.std() * x[k]


def places(x):
    k = np.argmax(x)
    m = x.argmin()
    return x[k] * x[m] ** 2 + np.interp(0.35, np.linspace(0.0, 1.0, 4), x)


def small_systems(x):
    a = np.array([[x[0], 2.0, 0.1], [1.0, x[1], 0.3], [0.2, 0.1, x[2]]])
    b = np.array((x[3], 1.0, x[0]))
    y = np.linalg.solve(a, b)
    return np.linalg.norm(y) + np.linalg.det(a) * np.trace(np.linalg.inv(a)) + y[0]


def identity_matrix(x):
    p = 0.5 * np.eye(2)
    for i in range(3):
        p = p @ p.T + x[i] * np.identity(2)
    return p[0] * x[3]


def comparisons_of_constants(x):
    if x.ndim == 1:
        return x[0] ** 2
    return x[0, 0]


def logarithm_of_sums(x):
    return np.logaddexp(x[0], x[1]) * np.power(x[2], x[3]) + np.mod(x[0], 0.2)


def logical_functions(x):
    s = 0.0
    for i in range(4):
        if np.logical_and(x[i] > 0.4, i != 2) or np.logical_not(i < 3):
            s += np.multiply(x[i], x[i]) - np.subtract(x[i], np.divide(1.0, x[i]))
    return s


def alias_pair(x):
    v = np.ones(4)
    src, dst = x, v
    for _ in range(3):
        for i in range(4):
            dst[i] = src[i] * src[i - 1]
        src, dst = dst, src
    return src


def swap_in_branch(x):
    v = np.ones(4)
    u = x * 2.0
    if x[0] < 0.5:
        u, v = v, u
    return u * x + v


def three(x):
    a = x * 1.0
    b = x * 2.0
    c = x * x
    for _ in range(2):
        a, b, c = b, c, a
        a[0] = b[1] * c[2]
    return a + 2 * b + 3 * c


def buffer_in_loop(x):
    u = x * 1.0
    for _ in range(3):
        new = np.zeros_like(u)
        for i in range(4):
            new[i] = u[i] * u[i - 1] + 0.3
        u = new
    return u + x


def buffer_param(x):
    for _ in range(3):
        new = np.zeros(4)
        for i in range(4):
            new[i] = x[i] * x[i - 1] + 0.3
        x = new
    return x


def swap_made_in_loop_local(x):
    u = x * 1.0
    for _ in range(3):
        new = np.zeros(4)
        for i in range(4):
            new[i] += u[i] * u[i - 1] + 0.3
        u, new = new, u
    return u * 1.0


def windows_of_an_array(x):
    s = 0.0
    for i in range(3):
        c = x[i : i + 2] - x[i]
        d = np.sin(c * x[0])
        s += np.dot(c, d) + d[-1]
    return s


def shrinking_columns(x):
    a = np.outer(x, x) + np.diag(x + 2.0)
    n = len(a)
    for k in range(n - 1):
        p = k + np.argmax(np.abs(a[k:, k]))
        if p != k:
            row = a[k].copy()
            a[k] = a[p]
            a[p] = row
        a[k + 1 :, k] /= a[k, k]
        for j in range(k + 1, n):
            a[k + 1 :, j] -= a[k + 1 :, k] * a[k, j]
    return a[0] * a[1] + np.diag(a)


def windows_with_two_ends(x):
    out = np.zeros(4)
    for i in range(4):
        near = x[max(0, i - 1) : min(4, i + 2)] * x[i]
        near[0] *= 2.0
        near[-1] += x[0]
        out[i] = near.mean() * np.max(near) + near[len(near) // 2]
    return out


KERNELS = [
    f for f in globals().values() if isinstance(f, types.FunctionType) and f.__module__ == __name__
]


pytestmark = pytest.mark.usefixtures("as_python")


@pytest.mark.parametrize("function", KERNELS)
def test_small_kernel(function):
    check_small(function)
