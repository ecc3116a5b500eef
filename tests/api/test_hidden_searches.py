"""Derivatives that do not see what a function searches for by comparisons: they are refused."""

import math

import numpy as np
import pytest

import linad
import linad.scipy.optimize
from linad.api import hidden_searches
from linad.errors import SearchError

POINTS = np.array([0.7, 1.3, 2.9])
TOLD = pytest.raises(SearchError, match=r"brentq or linad\.solve\.root find a root")


def excess(m, p):
    """Rises through 0 at the root."""
    return m**3 + m * p - np.exp(0.3 * p)


# Searches.


def by_ifs(p, low, high, steps=50):
    for _ in range(steps):
        m = 0.5 * (low + high)
        if excess(m, p) > 0:
            high = m
        else:
            low = m
    return 0.5 * (low + high)


def by_where(p, low, high, steps=50):
    for _ in range(steps):
        m = low + (high - low) / 2
        above = excess(m, p) > 0
        low, high = np.where(above, low, m), np.where(above, m, high)
    return 0.5 * (low + high)


def by_masks(p, low, high):
    low, high = np.array(low, like=p), np.array(high, like=p)
    for _ in range(50):
        m = 0.5 * (low + high)
        above = excess(m, p) > 0
        high[above] = m[above]
        low[~above] = m[~above]
    return low


def by_copies(p, low, high):
    low, high = 1.0 * low + 0.0 * p, 1.0 * high + 0.0 * p
    for _ in range(50):
        m = 0.5 * (low + high)
        above = excess(m, p) > 0
        np.copyto(high, m, where=above)
        np.copyto(low, m, where=~above)
    return low


def by_steps(p, low, high):
    """As in textbooks: the step is halved, and taken or not."""
    step = high - low
    for _ in range(50):
        step = 0.5 * step
        m = low + step
        if excess(m, p) <= 0:
            low = m
    return low


def by_products_of_signs(p, low, high):
    at_low = excess(low, p)
    for _ in range(50):
        m = 0.5 * (low + high)
        found = excess(m, p)
        if found * at_low > 0:
            low, at_low = m, found
        else:
            high = m
    return low


def by_signs(p, low, high):
    for _ in range(50):
        m = 0.5 * (low + high)
        if np.sign(excess(m, p)) == 1.0:
            high = m
        else:
            low = m
    return low


def to_a_tolerance(p, low, high):
    while high - low > 1e-7:
        m = 0.5 * (low + high)
        low, high = (low, m) if excess(m, p) > 0 else (m, high)
    return low


def height(m, p):
    """Least at another m for each p."""
    return (m - p * p) ** 2 + m**4 + 0.1 * m


RATIO = (math.sqrt(5) - 1) / 2


def by_golden_section(p, low, high, steps=45):
    c, d = high - RATIO * (high - low), low + RATIO * (high - low)
    at_c, at_d = height(c, p), height(d, p)
    for _ in range(steps):
        if at_c < at_d:
            high, d, at_d = d, c, at_c
            c = high - RATIO * (high - low)
            at_c = height(c, p)
        else:
            low, c, at_c = c, d, at_d
            d = low + RATIO * (high - low)
            at_d = height(d, p)
    return 0.5 * (low + high)


def by_thirds(p, low, high, steps=60):
    for _ in range(steps):
        c, d = low + (high - low) / 3, high - (high - low) / 3
        if height(c, p) < height(d, p):
            high = d
        else:
            low = c
    return low


SEARCHES = {
    f.__name__: f
    for f in (by_ifs, by_where, by_steps, by_products_of_signs, by_signs, to_a_tolerance)
}
SEARCHES |= {f.__name__: f for f in (by_golden_section, by_thirds)}
OF_ARRAYS = {f.__name__: f for f in (by_where, by_masks, by_copies)}

WAYS = {
    "grad": lambda f, p: linad.grad(f)(p),
    "jvp": lambda f, p: linad.jvp(f, (p,), (np.ones_like(p),)),
    "derivative of a gradient": lambda f, p: linad.jvp(linad.grad(f), (p,), (np.ones_like(p),)),
    "jit of a gradient": lambda f, p: linad.jit(linad.grad(f))(p),
    "gradient of a jit": lambda f, p: linad.grad(linad.jit(f))(p),
}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


@pytest.mark.whole
@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)
@pytest.mark.parametrize("bracket", ["of the argument", "of plain numbers"])
def test_a_search_for_one_number(search, bracket):
    def found(p):
        low, high = (-0.5 * p, p + 3.0) if bracket == "of the argument" else (-1.0, 5.0)
        return p * search(p, low, high)

    with TOLD:
        linad.grad(found)(np.float64(1.3))


@pytest.mark.parametrize(
    "way", ["grad", "jvp", pytest.param("jit of a gradient", marks=pytest.mark.rest)]
)
def test_a_search_that_zooms_in(way):
    """The least of the values on a grid, and on a finer one around it."""

    def found(p, first=0.0):
        low, high = first, 3.0
        for _ in range(12):
            grid = low + (high - low) * np.linspace(0, 1, 11)
            k = int(np.argmin(height(grid, p)))
            low, high = grid[max(k - 1, 0)], grid[min(k + 1, 10)]
        return p * low

    for search in (found, lambda p: found(p, 0.1 * p)):
        with TOLD:
            WAYS[way](search, np.float64(1.1))


@pytest.mark.parametrize("p, width", [(4.0, 8.0), (4.0, 4.0), (9.0, 4.0), (1.0, 1.0)])
def test_roots_at_simple_parts_of_the_interval(p, width):
    """Which a bisection comes to from one side."""

    p0 = p

    def found(p):
        low, high = 0.0 * p, width * p / p0
        for _ in range(50):
            m = 0.5 * (low + high)
            low, high = (low, m) if m * m > p else (m, high)
        return low

    with TOLD:
        linad.grad(found)(np.float64(p))


@pytest.mark.whole
@pytest.mark.parametrize("search", OF_ARRAYS.values(), ids=OF_ARRAYS)
def test_searches_for_the_entries_of_an_array(search):
    with TOLD:
        linad.jacobian(lambda p: search(p, np.zeros_like(p), p + 3.0))(POINTS)
    with TOLD:
        linad.jacobian(lambda p: p * search(p, np.zeros(3), np.full(3, 4.0)))(POINTS)


@every_way
@pytest.mark.parametrize("search", [by_ifs, by_where])
def test_each_way_to_a_derivative(way, search):
    with TOLD:
        way(lambda p: np.sin(search(p, 0.1 * p, p + 2.0, 28)), np.float64(1.3))


def long_excess(m, p):
    total = excess(m, p)
    for k in range(1, 9):
        total = total + 0.01 * np.sin(k * m) / k
    return total


def rolled(p):
    """The steps of which repeat each other for so long that they are recorded as a loop."""
    low, high = 0.1 * p, p + 2.0
    for _ in range(60):
        m = 0.5 * (low + high)
        above = long_excess(m, p) > 0
        low, high = np.where(above, low, m), np.where(above, m, high)
    return low


def narrowed(low, high, p):
    m = 0.5 * (low + high)
    above = excess(m, p) > 0
    return np.where(above, low, m), np.where(above, m, high)


def in_fori_loop(p):
    return linad.fori_loop(0, 50, lambda _, s: narrowed(*s, p), (0.1 * p, p + 2.0))[0]


def in_while_loop(p):
    return linad.while_loop(
        lambda s: s[1] - s[0] > 1e-12, lambda s: narrowed(*s, p), (0.1 * p, p + 2.0)
    )[0]


def in_scan(p):
    return linad.scan(lambda s, _: (narrowed(*s, p), s[0]), (0.1 * p, p + 2.0), np.zeros(50))[1][-1]


def in_loop(p):
    low, high = 0.1 * p, p + 2.0
    for _ in linad.loop(50):
        low, high = narrowed(low, high, p)
    return low


def in_cond(p):
    def step(_, s):
        low, high = s
        m = 0.5 * (low + high)
        return linad.cond(excess(m, p) > 0, lambda: (low, m), lambda: (m, high))

    return linad.fori_loop(0, 50, step, (0.1 * p, p + 2.0))[0]


def in_map(p):
    return linad.map(lambda q: by_where(q, 0.1 * q, q + 2.0), p * np.ones(2))[1]


def of_plain_ends(p):
    return p * linad.fori_loop(0, 50, lambda _, s: narrowed(*s, p), (0.0, 5.0))[0]


LOOPS = (rolled, in_fori_loop, in_while_loop, in_scan, in_loop, in_cond, in_map, of_plain_ends)


@every_way
@pytest.mark.parametrize("loop", LOOPS)
def test_loops(loop, way):
    with TOLD:
        way(loop, np.float64(1.3))


@linad.kernel
def compiled_search(p):
    low, high = 0.1 * p, p + 2.0
    for _ in range(50):
        m = 0.5 * (low + high)
        if m**3 + m * p - math.exp(0.3 * p) > 0:
            high = m
        else:
            low = m
    return low


@linad.kernel
def compiled_searches(ps):
    found = np.zeros(ps.shape[0])
    for i in range(ps.shape[0]):
        low, high = 0.0, 5.0
        while high - low > 1e-12:
            m = low + 0.5 * (high - low)
            above = m**3 + m * ps[i] > 2.0
            high = m if above else high
            low = low if above else m
        found[i] = low * ps[i]
    return found


@linad.kernel
def compiled_place(p, table):
    """A search in a table is none: which entries it picks is all that it decides."""
    low, high = 0, table.shape[0] - 1
    while high - low > 1:
        middle = (low + high) // 2
        if table[middle] > p:
            high = middle
        else:
            low = middle
    part = (p - table[low]) / (table[high] - table[low])
    best = 0.0
    for k in range(table.shape[0]):
        if table[k] * p > best:
            best = table[k] * p
    return part * part + best


@pytest.mark.rest
def test_kernels():
    with TOLD:
        linad.grad(compiled_search)(1.3)
    with TOLD:
        linad.jacobian(compiled_searches)(POINTS)
    assert not looked_at(lambda p: compiled_place(p, np.linspace(0, 2, 64)), 1.31)


@pytest.mark.rest
def test_adopted_code(adopting):
    def package(p):
        low, high = np.zeros(3), np.zeros(3)
        high += 4.0
        for _ in range(60):
            m = 0.5 * (low + high)
            above = excess(m, p) > 0
            high[above] = m[above]
            low[~above] = m[~above]
        return math.sqrt(low[1]) * p

    with linad.adopt(package), TOLD:
        linad.jacobian(package)(POINTS)


def by_counting(x):
    low, high = 0.0 * x[0], 1.0 + 0.0 * x[0]
    for _ in range(40):
        m = 0.5 * (low + high)
        low, high = (low, m) if np.sum(m > x) > 5 else (m, high)
    return low * np.sum(x)


def test_a_search_that_counts():
    x = np.random.default_rng(3).uniform(0, 1, 11)
    for taken in (linad.grad(by_counting), linad.grad(linad.jit(by_counting))):
        with TOLD:
            taken(x)


def test_what_is_told():
    def model(p):
        return 2.0 * by_ifs(p, 0.1 * p, p + 2.0)

    with pytest.raises(SearchError) as told:
        linad.grad(model)(1.3)
    words = str(told.value)
    assert "model: it searches by comparisons, as a bisection by hand does" in words
    assert 'linad.config(disconnected="ignore") does not ask' in words
    with linad.config(disconnected="ignore"):
        assert linad.grad(model)(1.3) > 0


def test_single_precision():
    with TOLD:
        linad.grad(lambda p: by_ifs(p, p * np.float32(0.1), p + np.float32(2), 22))(np.float32(1.3))


# What looks alike, and is right.


def looked_at(f, p):
    """Whether a function was run again; its derivative has to be right."""
    seen = []
    keep = hidden_searches._compared

    def compared(*args):
        seen.append(keep(*args))
        return seen[-1]

    hidden_searches._compared = compared
    try:
        dy = linad.grad(f)(p)
    finally:
        hidden_searches._compared = keep
    h = 1e-6
    steps = [h * e for e in np.eye(np.size(p)).reshape(-1, *np.shape(p))]
    slopes = [(f(p + e) - f(p - e)) / (2 * h) for e in steps]
    np.testing.assert_allclose(np.ravel(dy), np.ravel(slopes), rtol=1e-5, atol=1e-8)
    return bool(seen)


def newton(p):
    x = 1.0 * p
    while abs(excess(x, p)) > 1e-13:
        x = x - excess(x, p) / (3 * x * x + p)
    return x


def fixed_point(p):
    x = 0.0 * p
    for _ in range(300):
        x, before = np.cos(p * x), x
        if abs(x - before) < 1e-14:
            break
    return x


def damped_fixed_point(p):
    x = 0.0 * p + 3.0
    while True:
        x, before = 0.5 * (x + np.sqrt(p + x)), x
        if abs(x - before) < 1e-14:
            return x


def relaxation(p):
    """The mean of where it is and where it goes, forty times."""
    x = 0.1 * p * p
    for _ in range(40):
        x = 0.5 * (x + p)
        x = np.where(x > 2 * p, 2 * p, x)
    return x


def mean_of_means(p):
    a, g = 1.0 + 0.0 * p, p
    while abs(a - g) > 1e-15:
        a, g = 0.5 * (a + g), np.sqrt(a * g)
    return a


def aitken(p):
    x = p
    for _ in range(40):
        y = np.cos(x)
        z = np.cos(y)
        bend = z - 2 * y + x
        if abs(bend) < 1e-13:
            break
        x = x - (y - x) ** 2 / bend
    return z


def romberg(p):
    rows = [[0.5 * p * (1.0 + np.exp(p))]]
    for k in range(1, 10):
        inner = np.sum(np.exp(p * (2 * np.arange(2 ** (k - 1)) + 1) / 2**k))
        row = [0.5 * rows[-1][0] + p * inner / 2**k]
        for j in range(k):
            row.append(row[-1] + (row[-1] - rows[-1][j]) / (4 ** (j + 1) - 1))
        rows.append(row)
        if abs(rows[-1][-1] - rows[-2][-1]) < 1e-13:
            break
    return rows[-1][-1]


def halved_steps(p):
    y, t, h = 1.0 + 0.0 * p, 0.0, 0.5
    while t < 2.0:
        half = y - 0.5 * h * p * y * y
        two, one = half - 0.5 * h * p * half * half, y - h * p * y * y
        if abs(two - one) > 1e-3:
            h *= 0.5
            continue
        y, t, h = two, t + h, 1.3 * h
    return y


def line_searches(p):
    def f(x):
        return (x - p) ** 4 + x * x

    x = 0.0 * p + 3.0
    for _ in range(60):
        slope = 4 * (x - p) ** 3 + 2 * x
        step = 1.0
        while f(x - step * slope) > f(x) - 1e-4 * step * slope * slope and step > 1e-9:
            step *= 0.5
        x = x - step * slope
    return f(x)


def sorting_network(x):
    x = [x[i] for i in range(8)]
    for turn in range(8):
        for i in range(turn % 2, 7, 2):
            if x[i] > x[i + 1]:
                x[i], x[i + 1] = x[i + 1], x[i]
    return x[2] * x[3]


def merge_sort(x):
    def merged(v):
        if len(v) < 2:
            return v
        a, b = merged(v[: len(v) // 2]), merged(v[len(v) // 2 :])
        found = []
        while a and b:
            found.append(a.pop(0) if a[0] < b[0] else b.pop(0))
        return found + a + b

    return merged([x[i] for i in range(8)])[5] ** 2


LAYERS = np.random.default_rng(1).standard_normal((50, 8, 8)) / 2


def rectified_layers(x):
    for W in LAYERS:
        y = W @ x
        x = 0.5 * x + np.where(y > 0, y, 0.0)
    return np.log(np.sum(x * x))


def clamped_steps(p):
    x = p * np.ones(4)
    for k in range(1000):
        x = x + 0.01 * np.cos(x + 0.01 * k) * p
        x = np.where(x > 1.9, 1.9, x)
    return np.sum(x)


def greatest_so_far(x):
    greatest, total = x[0], 0.0
    for k in range(40):
        value = np.sin(k * x[1]) * x[2]
        greatest = value if value > greatest else greatest
        total = total + greatest
    return total


TABLE = np.linspace(0.0, 2.0, 2**12 + 1)


def place_in_a_table(p):
    low, high = 0, TABLE.size - 1
    while high - low > 1:
        middle = (low + high) // 2
        if TABLE[middle] > p:
            high = middle
        else:
            low = middle
    a, b = TABLE[low], TABLE[high]
    return np.sin(a) + (p - a) * (np.sin(b) - np.sin(a)) / (b - a)


def swinging_contact(p):
    """Another law on each side of where it comes to rest."""
    x, v, work = 1.0 + 0.0 * p, 0.0, 0.0
    for _ in range(160):
        v = v - 0.3 * (x * p + 0.5 * v)
        x = x + 0.3 * v
        work = work + (x * x if x > 0 else 2 * x * x)
    return work


def alternating_series(p):
    term = total = p
    for k in range(1, 60):
        term = term * (-2.2 / (k * (k + 1)))
        total = total + term
        if abs(term) < 1e-18 * abs(total):
            break
    return total


def false_position(p):
    a, b = 0.1 * p, p + 2.0
    at_a, at_b = excess(a, p), excess(b, p)
    for _ in range(60):
        c = b - at_b * (b - a) / (at_b - at_a)
        at_c = excess(c, p)
        if abs(at_c) < 1e-14:
            break
        if at_c * at_b < 0:
            a, at_a = b, at_b
        else:
            at_a = 0.5 * at_a
        b, at_b = c, at_c
    return c


def polished(p):
    """Newton's step from where a bisection ends has the derivative of the root."""
    x = by_ifs(p, 0.1 * p, p + 2.0)
    return x - excess(x, p) / (3 * x * x + p)


def least_value(p):
    """What is stationary at the end does not move with it."""
    return height(by_thirds(p, -p, 2 * p), p)


def multiple_of_the_bracket(p):
    """A root that moves as its bracket does."""
    low, high = 0.0 * p, 2.0 * p
    for _ in range(50):
        m = 0.5 * (low + high)
        low, high = (low, m) if m * m > 0.37 * p * p else (m, high)
    return low


def constant_root(p):
    return p * linad.stop_gradient(by_ifs(p, 0.1 * p, p + 2.0))


def accepted_steps(p):
    def step(_, s):
        x, h = s
        moved = x - h * p * x
        return linad.cond(
            abs(moved - x) < 0.1, lambda: (moved, 1.1 * h), lambda: (1.0 * x, 0.5 * h)
        )

    return linad.fori_loop(0, 60, step, (1.0 + 0.0 * p, 0.5 + 0.0 * p))[0]


def root_by_brentq(p):
    return p * linad.scipy.optimize.brentq(excess, 0.0, 5.0, args=(p,))


NUMBER, EIGHT = np.float64(1.3), np.array([0.3, -1.2, 0.9, 2.1, -0.4, 1.7, 0.2, -2.2])
HONEST = {
    **dict.fromkeys((newton, fixed_point, damped_fixed_point, relaxation), NUMBER),
    **dict.fromkeys((mean_of_means, aitken, romberg, halved_steps, line_searches), NUMBER),
    **dict.fromkeys((clamped_steps, place_in_a_table, swinging_contact), NUMBER),
    **dict.fromkeys((alternating_series, false_position, polished, least_value), NUMBER),
    **dict.fromkeys((multiple_of_the_bracket, accepted_steps, root_by_brentq), NUMBER),
    **dict.fromkeys((sorting_network, merge_sort, rectified_layers, greatest_so_far), EIGHT),
}

RUN_AGAIN = {"polished", "least_value", "false_position", "multiple_of_the_bracket"}
RUN_AGAIN |= {"swinging_contact", "line_searches"}
"""Of these the decisions do come closer to a tie."""


@pytest.mark.whole
@pytest.mark.parametrize("f, p", HONEST.items(), ids=[f.__name__ for f in HONEST])
def test_right_derivatives_stay(f, p):
    assert looked_at(f, p) <= (f.__name__ in RUN_AGAIN)


@pytest.mark.rest
@pytest.mark.parametrize("f", [f for f in HONEST if f.__name__ in RUN_AGAIN])
def test_right_derivatives_stay_when_compiled(f):
    p = HONEST[f]
    expected = linad.grad(f)(p)
    np.testing.assert_allclose(linad.jit(linad.grad(f))(p), expected, rtol=1e-9)
    np.testing.assert_allclose(linad.grad(linad.jit(f))(p), expected, rtol=1e-9)


def test_what_is_meant_to_be_constant():
    assert linad.grad(constant_root)(1.3) == by_ifs(1.3, 0.13, 3.3)


def test_a_second_derivative_after_one_step_of_newton():
    """The first is right, the second is not: so this is told of, and that is not."""
    linad.grad(polished)(1.3)
    with TOLD:
        linad.hessian(polished)(np.float64(1.3))


def test_a_function_that_cannot_be_run_again():
    calls = []

    def once(p):
        if calls:
            raise RuntimeError("once is enough")
        calls.append(p)
        return by_ifs(p, 0.1 * p, p + 2.0)

    assert linad.grad(once)(1.3) > 0


def test_arguments_stay_as_they_are():
    table, taken = np.zeros(60), []

    def f(p, table):
        taken.append(type(p))
        table[:] = 0.0
        low, high = 0.1 * p, p + 2.0
        for k in range(60):
            m = 0.5 * (low + high)
            table[k] = float(excess(2.0, 0.3))
            low, high = (low, m) if excess(m, p) > 0 else (m, high)
        return low - excess(low, p) / (3 * low * low + p)

    linad.grad(f)(1.3, table)
    assert len(taken) > 1
    assert (table == excess(2.0, 0.3)).all()
