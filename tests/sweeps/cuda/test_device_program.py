"""Programs with their words, graphs and streams, on a device whose streams are late."""

import numpy as np
import pytest
from device_programs import CASES, X, Y
from fake_device import Foreign, bytes_in_use, fake_gpu
from random_programs import assert_same, rounding

import linad
from linad.core import tree
from linad.errors import FallbackError, GuardError
from linad.sweeps.cuda import opening
from linad.sweeps.cuda.gpu_arrays import Array
from linad.sweeps.program import simplified


def program_of(f, *args):
    with np.errstate(all="ignore"):
        y, tape = linad.trace(f, *args)
    return opening.target_here().compile(simplified(tape)), tree.flatten(y)[0]


def fetched(values):
    return [a.numpy() if type(a) is Array else a for a in values]


@pytest.mark.parametrize("name", CASES)
def test_values(name):
    f, *args = CASES[name]
    with fake_gpu() as device:
        program, y = program_of(f, *args)
        for _ in range(2):  # the second run finds words and memory of the first
            given = [Foreign(device, a) for a in args]
            found = linad.jit(f)(*given)
            found = [a.numpy() if hasattr(a, "numpy") else a for a in tree.flatten(found)[0]]
            assert_same([np.asarray(a) for a in found], y, rounding(program.tape))


def test_a_call_is_one_graph():
    """Another array is another word in memory of the device, and nothing is recorded again."""
    with fake_gpu() as device:
        program, _ = program_of(lambda x: np.sin(x) * np.sum(x * x), X)
        program.run([X])
        before = dict(device.counts)
        for k in range(3):
            (y,) = program.run([X + k])
            np.testing.assert_allclose(y.numpy(), np.sin(X + k) * np.sum((X + k) ** 2), rtol=1e-12)
        made = {name: device.counts[name] - before[name] for name in before}
        assert (made["graph"], made["launch"]) == (0, 0)
        # An argument and a result each; the argument and the words; and the result.
        assert (made["allocate"], made["upload"], made["download"]) == (6, 6, 3)


def test_nobody_waits_for_arrays():
    """A program that cannot fail, and gives arrays alone, returns before it has run."""
    with fake_gpu() as device:
        program, _ = program_of(lambda x: np.sin(x) + 1, X)
        x = linad.cuda.asarray(X)
        (y,) = program.run([x])
        (z,) = program.run([y])  # in the order of the one stream that both use
        assert any(stream.done < stream.asked for stream in device.streams.values())
        np.testing.assert_allclose(z.numpy(), np.sin(np.sin(X) + 1) + 1)


def test_numbers_travel_with_words_and_status():
    def f(x, a, z):
        return a * np.sum(x), x * z, np.argmax(x) + 1, np.max(x) > a

    with fake_gpu() as device:
        program, y = program_of(f, X, np.float64(2), 1 + 2j)
        program.run([X, 2.0, 1 + 2j])
        before = dict(device.counts)
        found = program.run([X, 2.0, 1 + 2j])
        assert [type(a) for a in found] == [np.ndarray, Array, np.ndarray, np.ndarray]
        assert_same(fetched(found), y, 1e-14)
        found = fetched(program.run([X, 5.0, 2j]))
        assert_same(found, [np.asarray(v) for v in f(X, 5.0, 2j)], 1e-14)
        assert device.counts["download"] - before["download"] == 2 + 2  # and the arrays, fetched


def test_a_guard_stops_the_run():
    with fake_gpu():
        program, _ = program_of(lambda x: x * 2 if x[3] > 0 else x, np.ones(5))
        np.testing.assert_array_equal(program.run([np.ones(5)])[0].numpy(), 2 * np.ones(5))
        with pytest.raises(GuardError):
            program.run([-np.ones(5)])
        np.testing.assert_array_equal(program.run([np.ones(5)])[0].numpy(), 2 * np.ones(5))


def body(carry, row):
    """Too large for the registers of a thread."""
    carry = np.tanh(carry @ row) + np.linalg.solve(np.eye(3) * 3 + row, carry.T).T
    return carry, np.sum(carry)


LOOPS = {
    "scan": (lambda c, xs: linad.scan(body, c, xs), Y[0, :3] * 0.1, Y[:, :3]),
    "reverse": (lambda c, xs: linad.scan(body, c, xs, reverse=True), Y[0, :3] * 0.1, Y[:, :3]),
    "while": (
        lambda c, a: linad.while_loop(lambda c: np.sum(c * c) > 0.1, lambda c: c @ a * 0.5, c),
        Y[0, :3],
        Y[1, :3] / 3,
    ),
    "cond": (
        lambda c, a: linad.cond(np.sum(c) > 0, lambda c: c @ a, lambda c: c - a @ c, c),
        Y[0, :3],
        Y[1, :3],
    ),
}


@pytest.mark.parametrize("name", LOOPS)
def test_loops(name):
    f, *args = LOOPS[name]
    with fake_gpu():
        program, y = program_of(f, *args)
        for _ in range(2):
            assert_same(fetched(program.run(args)), y, 1e-10)


def test_a_gradient_through_a_loop():
    def loss(c, xs):
        return np.sum(linad.scan(body, c, xs)[1])

    with fake_gpu():
        program, y = program_of(linad.grad(loss, argnums=(0, 1)), *LOOPS["scan"][1:])
        assert_same(fetched(program.run(LOOPS["scan"][1:])), y, 1e-8)


def test_a_stopped_loop():
    """The status of a part inside reaches the caller."""
    with fake_gpu():
        f, c, xs = LOOPS["scan"]
        program, _ = program_of(f, c, xs)
        program.run([c, xs])
        with pytest.raises(ArithmeticError):
            program.run([c, xs * 0 - 3 * np.eye(3)])


def test_what_has_no_kernel():
    def f(a):
        return np.linalg.eig(a @ a.T + 3)[0].real, a + 1

    a = Y[0, :3]
    with fake_gpu():
        program, y = program_of(f, a)
        with pytest.raises(FallbackError, match=r"cuda: .*: eig \(test_device_program\.py:\d+"):
            program.run([a])
        with linad.config(device_fallback=True):
            program, y = program_of(f, a)
            for _ in range(2):
                assert_same(fetched(program.run([a])), y, 1e-12)
        report = linad.explain(f, target="cuda")(a)
        (step,) = report.fallbacks
        assert report.round_trip_bytes == step.bytes > 0
        assert "goes to the host and back" in str(report)


def test_nothing_leaks():
    with fake_gpu() as device:
        program, _ = program_of(lambda x: (np.sin(x), np.sum(x)), X)
        program.run([X])
        before = bytes_in_use(device)
        for _ in range(20):
            program.run([X])
        assert bytes_in_use(device) == before


def test_threads_have_workspaces_of_their_own():
    with fake_gpu() as device:
        program, _ = program_of(lambda x: np.cumsum(x) * np.sum(x), X)
        first, second = program.borrow(), program.borrow()
        assert first.stream is not second.stream
        for workspace in (first, second):
            program.give_back(workspace)
        for k in range(2):
            status, (y,) = (first, second)[k].run([X + k])
            assert status == 0
            np.testing.assert_allclose(y.numpy(), np.cumsum(X + k) * np.sum(X + k), rtol=1e-12)
        assert device.counts["graph"] == 2
