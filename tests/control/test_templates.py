"""Long Python loops are recorded by templates; where they end, the program is the same."""

import gc
import tracemalloc
import weakref

import numpy as np
import pytest
import scipy.special
from recorded_loops import agrees

import linad
from linad.control.repeat import Repeat

pytestmark = pytest.mark.usefixtures("by_numpy")

class Key:
    """What refers to a value, weakly known."""

    def __init__(self, value):
        self.value = value


X = np.array([0.7, 0.3, 0.5])
ROWS = np.random.default_rng(0).standard_normal((120, 3))
N = 120


def step(y, x):
    return np.sin(y * x[0]) * 0.3 + y * 0.5 + x[2]


def plain(x):
    y = x
    for _ in range(N):
        y = step(y, x)
    return np.sum(y * y)


def other_operation_late(x):
    y = x
    for k in range(N):
        y = step(y, x)
        if k == 101:
            y = y * 1.1 + x
    return np.sum(y)


def other_place_late(x):
    y = x
    for k in range(N):
        y = step(y, x) + 0.1 * y[0 if k < 100 else 1]
    return np.sum(y)


def other_number_late(x):
    y = x
    for k in range(N):
        y = step(y, x) * (0.9 if k < 100 else 0.8)
    return np.sum(y)


def other_numbers_for_a_while(x):
    y, w = x, np.array([0.1, 0.2, 0.3])
    for k in range(N):
        y = step(y, x) * (0.8 if 60 <= k < 90 else 0.9) + (w * 2 if k % 50 == 49 else w)
        y = y * (2 if k > 80 else 3) * np.float32(0.25 if k % 40 else 0.3)
    return np.sum(y)


def other_kind_of_number_late(x):
    y = x
    for k in range(N):
        y = step(y, x) * (1 if k < 100 else 1.1)
    return np.sum(y)


def other_sign_of_zero_late(x):
    y = x
    for k in range(N):
        y = step(y, x) + 0.1 * np.copysign(y, 0.0 if k < 100 else -0.0)
    return np.sum(y)


def numbers_that_change(x):
    y, t = x, 0.0
    for k in range(N):
        y = step(y, x) * np.exp(-0.01 * t) + x * k * 1e-3 + 0.1 * ROWS[k]
        t += 0.01
    return np.sum(y)


def places_that_move(x):
    table, y = np.outer(ROWS[:, 0], x), x
    for k in range(N):
        y = step(y, x) + 0.1 * table[k]
    return np.sum(y)


def left_early(x):
    y, total = x, 0.0 * x[0]
    for _ in range(10 * N):
        y = step(y, x)
        total = total + np.sum(y * y)
        if total > 300.0:
            break
    return np.sum(y) * total


def list_that_grows(x):
    y, path = x, []
    for _ in range(N):
        y = step(y, x)
        path.append(y[1])
    return np.sum(np.stack(path) ** 2) + y[0]


def one_held(x):
    y, held = x, x
    for k in range(N):
        y = step(y, x)
        if k == 80:
            held = y
    return np.sum(y * held)


def held_one_used(x):
    y, held = x, x
    for k in range(N):
        y = step(y, x) + 0.1 * held
        if k == 100:
            held = y
    return np.sum(y)


def held_from_the_first(x):
    y, first = x, []
    for _ in range(N):
        v = np.sin(y)
        first = first or [v]
        y = step(y, x) + 0.1 * v * first[0]
    return np.sum(y)


def two_back(x):
    a, b = x, x * 0.5
    for _ in range(N):
        a, b = b, step(b + 0.1 * a, x)
    return np.sum(a * b)


def nine_back(x):
    path = [x] * 10
    for _ in range(200):
        path.append(step(path[-1] + 0.1 * path[-9], x))
    return np.sum(path[-1] * path[50])


def first_and_previous(x):
    y, previous, first = x, x, None
    for _ in range(N):
        v = np.sin(y)
        first = v if first is None else first
        y = v * 0.3 + y * 0.5 + 0.1 * v * first + 0.05 * previous + x[2]
        previous = v
    return np.sum(y * y)


def made_in_the_loop(x):
    y = x
    for k in range(N):
        d = np.zeros_like(y) if k % 2 else np.full_like(y, 0.1 * k)
        y = step(y, x) + d
    return np.sum(y) + np.sum(d)


def stopped_gradients(x):
    y = x
    for _ in range(N):
        y = step(y, x) + 0.1 * linad.stop_gradient(y * x)
    return np.sum(y)


def in_place(x):
    y = x * 1.0
    for _ in range(N):
        y += 0.1 * (step(y, x) - y)
    return np.sum(y**2)


def seen_by_a_view(x):
    y = x * 1.0
    part = y[1:]
    for _ in range(N):
        y += 0.1 * (step(y, x) - y)
    return np.sum(y**2) + np.sum(part)


def written_later(x):
    z, y = x * 2.0, x
    for _ in range(N):
        part, y = z[1:], step(y, x) + 0.01 * np.sum(z[1:])
        last = y[1:]
    z[1] = 5.0 * x[0]
    y[2] = 3.0 * x[1]
    return np.sum(y) + np.sum(part) + np.sum(last * last)


def written_in_the_loop(x):
    y = x
    for k in range(N):
        y = step(y, x)
        if k == 100:
            y[1] = x[0]
    return np.sum(y)


def written_into_an_older_array(x):
    z, y = x * 2.0, x
    for k in range(N):
        y = step(y, x)
        s = np.sum(y)
        if k == 100:
            z[1] = s
    return np.sum(y * z)


def loops_in_a_loop(x):
    y = x
    for k in range(3):
        for _ in range(N):
            y = step(y, x)
        y = y + np.tanh(x) * k
    return np.sum(y)


def other_loops_within(x):
    y, h = x, linad.grad(lambda z: np.sum(np.sin(z) * z))
    for k in range(N):
        y = step(y, x)
        if k == 100:
            y = y + 0.1 * h(y)
            y = linad.scan(lambda c, _: (step(c, x), None), y, length=5)[0]
            for _ in linad.loop(20):
                y = step(y, x)
    return np.sum(y)


def caught(x):
    y, failures = x, 0.0
    for k in range(N):
        y = step(y, x)
        try:
            np.linalg.inv(np.diag(y) if k != 90 else np.zeros((3, 3)) * x[0])
        except np.linalg.LinAlgError:
            failures += 1.0
    return np.sum(y) + failures * x[0]


def known_by_two_ways(x):
    def inner(z):
        for _ in range(N):
            z = step(z, x)
        return np.sum(z)

    return linad.grad(inner)(x) @ x


def other_function_while_the_template_is_made(x):
    y = x
    for k in range(300):
        y = (np.sin(y) if k < 172 else np.cos(y)) * 0.9 + 0.1 * x
    return np.sum(y)


def other_decision_while_the_template_is_made(x):
    y = x
    for k in range(150):
        y = y * 0.9 + 0.1 * x
        if y[0] > 0:
            y = y + 0.01 * x
        y = y * (1.0 if k < 80 else -1.0)
    return np.sum(y * x)


def order_of_entries_that_changes(x):
    y = x
    for k in range(N):
        y = np.sort(y * 0.9 + 0.1 * np.sin(x * k))
    return np.sum(y * x)


def integers_that_move(x):
    y = x
    for k in range(200):
        y = 0.5 * np.sin(y) + np.ldexp(x, -(k % 4)) + scipy.special.eval_legendre(k, x)
    return np.sum(y)


def integers_beyond_64_bits(x):
    y = x
    for k in range(200):
        y = y * 0.9 + np.sin(x) / (k + 1) + x / 3**k
    return np.sum(y)


def made_before_it_is_written(x):
    y, k = x * np.ones(3), 0
    for n in range(N):
        if x[0] >= 20 * n + k:  # in the first step, behind whose first operations a loop is seen
            y, k = y * 1.1, 1
        new = linad.numpy.zeros(3)
        for i in range(3):
            new[i] = y[i] * 0.5 + np.sin(y[i - 1] * x[0]) * 0.3
        y = new
    return np.sum(y)


def held_now_and_then(x):
    y, held = x, []
    for k in range(N):
        z = np.cos(y)
        y = step(y, x) + 0.1 * z
        if k % 7 == 0:
            held = [*held[-3:], z, x[1:], y[:2]]
    return np.sum(y) + sum([np.sum(v * v) for v in held])


def remembered_while_it_lives(x):
    memory, y = weakref.WeakKeyDictionary(), x
    for k in range(N):
        key = Key(np.cos(y))
        memory[key] = k
        y = step(y, x) * 0.5 + 0.1 * key.value + 0.001 * x * memory[key]
    return np.sum(y) + len(memory) * x[0]


def of_another_shape(x):
    y = x
    for _ in range(N):
        part, other = x[1:], np.cos(y)
        part.shape, other.shape = (1, 2), (3, 1)
        y = step(y, x) + 0.1 * np.sum(part * other, axis=1)
    return np.sum(y)


def written_views(x):
    y = x * 1.0
    for k in range(N):
        part, same = x[1:], x[1:]
        y = step(y, x) + 0.1 * np.sum(part * same)
        if k == 100:
            part = part * 1.0
            part[0] = y[0]
            y = y + np.sum(part) + np.sum(same)
    return np.sum(y)


def parts_of_parts(x):
    y, table = x, np.outer(x, x)
    for k in range(N):
        row = table[1]
        y = step(y, x) + 0.1 * row[:2][-1] * y[1:][0] + 0.1 * table[k % 2][:1]
    return np.sum(y)


def large_results(x):
    y = np.ones(700) * x[0]
    for k in range(N):
        y = np.sin(y) * 0.9 + 0.1 * y[::-1] + (0.1 * x[1] if k % 2 else x[2])
    return np.sum(y)


def loud_for_a_while(x):
    y = x
    for k in range(N):
        with np.errstate(divide="raise" if k == 100 else "ignore"):
            try:
                y = step(y, x) + np.tanh(1.0 / (y - y[0]))[2] * 1e-3
            except FloatingPointError:
                y = y * 0.5
    return np.sum(y)


LOOPS = [
    held_now_and_then,
    remembered_while_it_lives,
    of_another_shape,
    written_views,
    parts_of_parts,
    large_results,
    plain,
    made_before_it_is_written,
    other_function_while_the_template_is_made,
    other_decision_while_the_template_is_made,
    order_of_entries_that_changes,
    integers_that_move,
    integers_beyond_64_bits,
    other_operation_late,
    other_place_late,
    other_number_late,
    other_numbers_for_a_while,
    other_kind_of_number_late,
    other_sign_of_zero_late,
    numbers_that_change,
    places_that_move,
    left_early,
    list_that_grows,
    one_held,
    held_one_used,
    held_from_the_first,
    two_back,
    nine_back,
    first_and_previous,
    made_in_the_loop,
    stopped_gradients,
    in_place,
    seen_by_a_view,
    written_later,
    written_in_the_loop,
    written_into_an_older_array,
    loops_in_a_loop,
    other_loops_within,
    caught,
    known_by_two_ways,
]


@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")  # from NumPy 2.5 on
@pytest.mark.parametrize("f", LOOPS)
def test_same_values_and_gradients(f):
    agrees(f, X)


def _recorded(f, x):
    made = linad.jit(f)
    made(x)
    ((variant,),) = made.variants.values()
    return variant


def test_one_loop_of_all_repetitions():
    """Those from which the template was made are taken up by the loop."""
    variant = _recorded(plain, X)
    loops = [e for e in variant.tape.equations if isinstance(e.primitive, Repeat)]
    assert len(loops) == 1
    assert loops[0].primitive.n < N
    (whole,) = [e for e in variant.rolled.equations if isinstance(e.primitive, Repeat)]
    assert whole.primitive.n == N
    assert len(variant.rolled.equations) < 10


@pytest.mark.parametrize("f", [other_number_late, other_numbers_for_a_while])
def test_constants_that_change_late_are_rows_of_one_loop(f):
    (loop,) = [e for e in _recorded(f, X).rolled.equations if isinstance(e.primitive, Repeat)]
    assert loop.primitive.n >= N - 1


def test_an_array_that_the_first_repetition_has_from_outside():
    """The loop is seen at the first operation of a step, which comes after its array is made."""
    tape = _recorded(made_before_it_is_written, X).tape
    (loop,) = [e.primitive for e in tape.equations if isinstance(e.primitive, Repeat)]
    assert loop.n >= 100  # where it was found at the second attempt, behind one that failed, 33


def test_operations_that_are_handed_back_keep_their_lines():
    def f(x):
        for _ in range(12):
            h = x[0] * 0.1
            for _ in range(9):
                x = step(x, x) * h + np.cos(x * 0.1)
                x = x * 0.9
        return np.sum(x)

    tape = _recorded(f, X).tape
    lines = {e.source.lineno for e in tape.equations if e.primitive.name == "cos"}
    assert len(lines) == 1


@pytest.mark.rest
def test_memory_does_not_grow_with_the_repetitions():
    def peak(n):
        def f(x):
            y = x
            for k in range(n):
                y = step(y, x) + 1e-3 * k
            return np.sum(y)

        gc.collect()
        tracemalloc.start()
        variant = _recorded(f, X)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found, len(variant.tape.equations)

    peak(200)  # with what is remembered of any loop
    (short, few), (long, many) = peak(200), peak(600)
    assert many == few
    # A number for each repetition, and the carries where NumPy runs the loop: equations would
    # take ten times as much.
    assert long - short < 400 * 400


def test_plain_array_overwritten_meanwhile():
    workspace = np.zeros(300)

    def f(x):
        y = x
        for k in range(N):
            workspace[:] = k * 1e-3
            y = step(y, x) + np.sum(workspace * x[0]) * 1e-3
        return np.sum(y)

    np.testing.assert_allclose(linad.jit(linad.grad(f))(X), linad.grad(f)(X), rtol=1e-10)


def test_error_within_the_loop_is_the_user_s():
    def f(x):
        y = x
        for k in range(N):
            y = step(y, x)
            if k == 100:
                raise RuntimeError("no more")
        return np.sum(y)

    with pytest.raises(RuntimeError, match="no more"):
        linad.jit(f)(X)
    np.testing.assert_allclose(linad.jit(plain)(X), plain(X), rtol=1e-10)


def test_a_place_may_change_late_and_be_what_it_was_again():
    def turns(p):
        y = p[:3] * np.array([1.0, 2.0, 3.0])
        total = 0.0
        for k in range(600):
            total = total * 0.9 + np.sin(y[(k // 150) % 3 * (k > 299)] * p[0])
        return total

    f = linad.jit(turns)
    p = np.array([0.5, 0.3, 0.2])
    np.testing.assert_allclose([f(p), f(2 * p)], [turns(p), turns(2 * p)], rtol=1e-13)
    np.testing.assert_allclose(linad.grad(f)(p), linad.grad(turns)(p), rtol=1e-12)


def test_a_place_may_begin_to_change_late():
    """The outer of two entries stays where it is for a row of the triangle."""
    x = np.linspace(0.2, 1.0, 80)

    def pairs(p):
        y = x * p[0]
        total = 0.0
        for i in range(len(x)):
            for j in range(i + 1, len(x)):
                total = total + p[1] * np.exp(-((y[i] - y[j]) ** 2))
        return total

    p = np.array([0.5, 0.3])
    f = linad.jit(pairs)
    np.testing.assert_allclose([f(p), f(2 * p)], [pairs(p), pairs(2 * p)], rtol=1e-13)
    ((path,),) = f.variants.values()
    assert len([e for e in path.tape.equations if isinstance(e.primitive, Repeat)]) == 1
    np.testing.assert_allclose(linad.grad(f)(p), linad.grad(pairs)(p), rtol=1e-12)
