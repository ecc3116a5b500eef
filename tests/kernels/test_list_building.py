"""Lists in kernels: written out, of comprehensions, and those that grow."""

import numpy as np
import pytest
from kernel_checks import check_small

import linad
from linad.errors import KernelError

# mypy: disable-error-code="no-untyped-def,no-untyped-call"


def entries_are_assigned(x):
    c = [1.0, 2.0]
    for i in range(2):
        c[i] = x[i] * c[i]
        c[-1] += x[2] * c[0]
    return c[0] * c[1]


def comprehensions(x):
    squares = [v * v * x[i] for i, v in enumerate(x)]
    back = sum([x[i] * i for i in range(3, 0, -1)])
    pairs = [x[i] * x[j] for i in range(4) for j in range(4) if i != j]
    return sum(squares) * back + max(pairs) * min(squares)


def tuples_in_lists(x):
    points = [(v, v * v) for v in x]
    s = 0.0
    for a, b in points:
        s += a * b
    points[1] = (s, x[3])
    return points[1][0] * points[-1][1] * points[1][1]


def those_that_pass(x):
    kept = []
    for v in x:
        if v > 0.4:
            kept.append(v * v)
    s = 0.0
    for v in kept:
        s += v * v
    return s * len(kept) + kept[-1] * kept[0]


def steps_until_the_end(x):
    t, y = [0.0], [x[0]]
    while t[-1] < 1.0:
        y.append(y[-1] + 0.3 * (x[1] - x[2] * y[-1] * y[-1]))
        t.append(t[-1] + 0.3)
    a = np.array(y)
    return a[-1] * a[1] + a[len(a) // 2]


def stack_and_queue(x):
    todo = [0]
    line = [x[0], x[1], x[2]]
    s = 0.1
    while len(todo) > 0:
        i = todo.pop()
        v = line.pop(0)
        s += x[i % 4] * s + v
        line.append(v * x[3])
        if i < 4:
            todo.append(2 * i + 1)
            todo.append(2 * i + 2)
    return s + line[0] * line[-1]


def one_list_after_the_other(x):
    now = [x[0]]
    for _ in range(3):
        following = []
        for v in now:
            following.append(v * x[1])
            following.append(v + x[2])
        now = following
    return sum(now) * x[3]


def a_list_each_turn(x):
    s = 0.0
    for i in range(3):
        mine = [x[j] for j in range(4) if x[j] * (i + 1) > 0.7]
        a = np.array(mine)
        n = len(mine)
        matrix = np.zeros((n, n))
        for j in range(n):
            for k in range(n):
                matrix[j, k] = a[j] * mine[k] * (j + k + 1)
        s += np.sum(matrix @ matrix) + matrix[-1, 0]
    return s


def lists_of_lists(x):
    a = [x[0], x[1]]
    b = [x[2]]
    c = a + b * 2
    c.extend(a)
    c += b
    part = c[1:4]
    part[0] *= 2.0
    s = part[0] * part[1]
    for v in c.copy():
        s *= 1.0 + v
    c.clear()
    return s * (len(c) + 1)


def filled_by_a_function(x):
    def fill(these, v):
        these.append(v)

    found = [0.0]
    for v in x:
        fill(found, v * found[-1] + x[0])
    return sum(found) * len(found)


def array_of_tuples(x):
    a = np.array([(x[0], x[1]), (x[2], x[3])])
    b = np.array([(v, 1.0) for v in x if v > 0.4])
    return np.sum(a @ a) * np.sum(b[:, 0] * b[:, 1])


def integers(x):
    order = [i for i in range(4) if i % 2 == 0]
    order.append(3)
    s = 0.0
    for i in order:
        s = s * x[i] + x[i] ** 2
    return s


KERNELS = [
    entries_are_assigned,
    comprehensions,
    tuples_in_lists,
    those_that_pass,
    steps_until_the_end,
    stack_and_queue,
    one_list_after_the_other,
    a_list_each_turn,
    lists_of_lists,
    filled_by_a_function,
    array_of_tuples,
    integers,
]


@pytest.mark.parametrize("function", KERNELS)
def test_lists(function, as_python):
    check_small(function)


@pytest.mark.compiles
def test_a_list_grows_in_compiled_code():
    def powers(x):
        found = [1.0]
        for _ in range(40):
            found.append(found[-1] * x[0])
        return sum(found)

    x = np.array([1.01])
    expected = sum([k * x[0] ** (k - 1) for k in range(1, 41)])
    np.testing.assert_allclose(linad.grad(linad.kernel(powers))(x), [expected])


def test_checkpoints_are_for_loops_in_which_no_list_grows(as_python):
    def f(x):
        found = [x[0]]
        for _ in range(6):
            for _ in range(1):
                found.append(found[-1] * x[1])
        s = 0.0
        for i in range(6):
            for _ in range(1):
                s = np.sin(s) + found[i] * x[2]
        return s

    x = np.array([1.1, 0.6, 0.5])
    kept, again = [linad.grad(linad.kernel(f, checkpoints=n))(x) for n in (0, 2)]
    np.testing.assert_allclose(again, kept, rtol=1e-14)


def two_names(x):
    best = [x[0]]
    for i in range(3):
        mine = []
        for j in range(i):
            mine.append(x[j])
        if i == 1:
            best = mine
    return sum(best)


def changed_after_it_was_handed_over(x):
    now = [x[0]]
    for _ in range(2):
        following = []
        for v in now:
            following.append(v * 2.0)
        now = following
    following.append(5.0)
    return sum(now)


def changed_while_a_loop_runs(x):
    found = [x[0]]
    for v in found:
        found.append(v)
    return sum(found)


def one_name_within_and_without(x):
    return sum([x * x for x in x])


def of_arrays(x):
    found = []
    for i in range(3):
        found.append(x * i)
    return found[0]


def of_two_sorts(x):
    found = [x[0]]
    found.append((x[0], x[1]))
    return found[0]


def of_a_tuple(x):
    pair = (x[0], x[1])
    pair[0] = 1.0
    return pair[0]


@pytest.mark.parametrize(
    "function, problem",
    [
        (two_names, r"a list cannot have two names; write `best = list\(...\)`, a copy"),
        (
            changed_after_it_was_handed_over,
            r"a list cannot have two names; write `now = list\(...\)`",
        ),
        (changed_while_a_loop_runs, r"changes while a loop runs over it; loop over a copy"),
        (
            one_name_within_and_without,
            "x is both the loop variable and what it runs over; use two names",
        ),
        (of_arrays, "a list holds something other than numbers; make a list of numbers"),
        (of_two_sorts, "the entries of a list differ in kind; make a list of numbers"),
        (of_a_tuple, "writes through an expression that is not a name of an array"),
    ],
)
def test_what_lists_cannot_be(function, problem):
    with pytest.raises(KernelError, match=problem):
        linad.grad(lambda x: np.sum(linad.kernel(function)(x)))(np.ones(4))


def test_an_index_out_of_range_is_an_error(as_python):
    def f(x, i):
        found = [x[0], x[1]]
        return found[i]

    kernel = linad.kernel(f)
    np.testing.assert_allclose(linad.grad(lambda x: kernel(x, -2))(np.ones(2)), [1.0, 0.0])
    for i in (2, -3):
        with pytest.raises(ValueError, match="list index out of range"):
            linad.grad(lambda x, i=i: kernel(x, i))(np.ones(2))
