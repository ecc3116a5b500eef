"""Programs for a GPU, their kernels run on the CPU: many threads in reverse order, or one.

The memory of a run is full of NaN before it, and the number of threads must not change a bit.
"""

import numpy as np
import pytest
from device_programs import CASES, RNG, X, Y, Z
from device_runs import check, run_both
from hypothesis import given
from kernels_in_python import kernels_in_python
from random_programs import near_a_jump, programs
from sweeps_of_examples import examples, inexact

import linad
from linad.errors import FallbackError
from linad.sweeps.cuda.target import CUDA


@pytest.mark.parametrize("name", CASES)
def test_values(name):
    with kernels_in_python():
        check(*CASES[name])


def test_equal_indices():
    """The last write stays, and sums are added up in order: as NumPy does, bit for bit."""
    index = RNG.integers(0, 9, 200)

    def f(x):
        y = np.zeros(9, like=x)
        y[index] = x[:200]
        return y, linad.vjp(lambda x: x[index], x[:9])[1](x[:200])

    with kernels_in_python():
        found, y, _, _ = run_both(f, X)
        check(f, Z[:, None].real.repeat(6, 1).ravel())
    expected = np.zeros(9)
    np.add.at(expected, index, X[:200])
    assert found[1].tobytes() == expected.tobytes()
    assert found[0].tobytes() == y[0].tobytes()


def test_gradients():
    def mixture(m, s, x):
        d = (x[:, None] - m) * np.exp(-s)
        return -np.sum(np.log(np.sum(np.exp(-0.5 * d * d - s), axis=1)))

    def network(w, v, b):
        return np.sum(np.tanh(np.tanh(Y[0] @ w + b) @ v) ** 2)

    with kernels_in_python():
        for f, *args in (
            (mixture, X[:5], X[5:10] * 0.1, X),
            (network, X[:24].reshape(3, 8), X[24:40].reshape(8, 2), X[40:48]),
        ):
            labels = check(lambda *a, f=f: linad.grad(f, argnums=tuple(range(len(a))))(*a), *args)
            assert labels


def test_a_plan_in_words():
    # The loop, and the sum of its pieces.
    report = linad.explain(lambda x: np.sum(np.sin(x) * x), target="cuda")(X)
    assert (report.target, report.kernels, report.fallbacks) == ("CUDA", 2, [])
    assert "planned for CUDA; not compiled, and not run" in str(report)
    report = linad.explain(np.linalg.inv, target="cuda")(np.eye(3))
    assert [step.name for step in report.library_calls] == ["getrf", "getrs"]
    assert "2 calls of CUDA's libraries" in str(report)
    report = linad.explain(np.linalg.eigvals, target="cuda")(np.eye(3))
    assert [step.name for step in report.fallbacks] == ["eigvals"]
    with pytest.raises(linad.errors.LinadError, match="target"):
        linad.explain(np.sin, target="gpu")


def test_a_guard_stops_the_run():
    _, tape = linad.trace(lambda x: x * 2 if x[3] > 0 else x, np.ones(5))
    with kernels_in_python():
        program = CUDA.compile(tape)
        np.testing.assert_array_equal(program.run([np.ones(5)])[0], 2 * np.ones(5))
        with pytest.raises(linad.errors.GuardError):
            program.run([-np.ones(5)])


def test_what_has_no_kernel_is_named():
    _, tape = linad.trace(lambda a: np.linalg.inv(a) @ a, np.eye(3) * 2)
    with pytest.raises(FallbackError, match=r"cuda: .*: inv \(test_target\.py:\d+"):
        CUDA.compile(tape).borrow()


def test_compiled():
    """By Numba, as tests elsewhere run the sources in Python."""
    check(lambda x: (np.sin(x) * 2, np.sum(x * x), np.cumsum(x)), X)


DERIVATIVES = programs(dtypes=["f8", "f8", "c16", "f4"], most=10)


def check_program(f, inputs):
    with np.errstate(all="ignore"), linad.config(disconnected="ignore"):
        if near_a_jump(f, inputs):
            return
        try:
            check(f, *inputs)
        except FallbackError as refused:
            assert "needs kernels that there are not" in str(refused)  # noqa: PT017


class TestRandomPrograms:
    @examples(25)
    @given(DERIVATIVES)
    def test_values(self, program):
        with kernels_in_python():
            check_program(*program)

    @pytest.mark.full
    @examples(300)
    @given(DERIVATIVES)
    def test_derivatives(self, program):
        f, inputs = program

        def pulled(*given):
            y, pullback = linad.vjp(lambda *x: inexact(f(*x)), *given)
            return y, pullback([np.ones_like(v) * (1 + k) for k, v in enumerate(y)])

        with kernels_in_python(), np.errstate(all="ignore"):
            if inexact(f(*inputs)):
                check_program(pulled, inputs)
