"""What is said of functions that are recorded at each call, and of which nothing is said."""

import numpy as np
import pytest

import linad

X = np.ones(3)


@pytest.fixture(autouse=True)
def telling():
    with linad.config(progress=True):
        yield


class Counting:
    def __init__(self):
        self.calls = 0

    def value(self, x):
        self.calls += 1
        return np.sum(x) * self.calls


def told(capsys):
    return capsys.readouterr().err


@pytest.mark.usefixtures("kernels")
def test_what_differs_is_named_once(capsys):
    state = {"n": 0}
    seen = []
    counting = Counting()
    functions = {
        "argument k has another value at each (6, then 7)": linad.jit(lambda x, k: np.sum(x) * k),
        "what argument k holds has another value": linad.jit(lambda x, k: np.sum(x) * k[0]),
        "attribute calls, which it writes itself": linad.jit(counting.value),
        "which it reads from outside, is another": linad.jit(lambda x: np.sum(x) * state["n"]),
        "seen, which it reads from outside": linad.jit(lambda x: np.sum(x) * len(seen)),
    }
    arguments = [lambda k: (X, k), lambda k: (X, [k]), *[lambda k: (X,)] * 3]
    for (words, f), given in zip(functions.items(), arguments, strict=True):
        for k in range(20):
            state["n"] = k
            seen.append(k)
            f(*given(k))
        line = told(capsys)
        assert words in line
        assert line.count("recorded at each of its last 8 calls") == 1
        assert "leave linad.jit out" in line


@pytest.mark.usefixtures("kernels")
def test_derivatives_of_jitted_functions_are_told_too(capsys):
    f = linad.jit(lambda x, k: np.sum(x**2) * k)
    for k in range(10):
        linad.grad(lambda x, k=k: f(x, k))(X)
    assert "argument k" in told(capsys)


@pytest.mark.usefixtures("kernels")
def test_nothing_is_said_where_it_has_to_be_so_or_is_not(capsys):
    sums = linad.jit(lambda x, k=1, kind="": np.sum(x) * k)
    for n in range(1, 20):
        sums(np.ones(n))  # shapes
    firsts = linad.jit(lambda xs: xs[0] * 2)
    for n in range(1, 20):
        firsts([X] * n)  # containers
    for k in range(20):
        sums(X, k // 3)  # programs that run
        sums(X, float(k))  # data
        sums(X, kind=str(k))
    static = linad.jit(lambda x, k: np.sum(x) * k, static_argnums=1)
    for k in range(20):
        static(X, k)
    for k in range(20):
        linad.jit(lambda x, k=k: np.sum(x) * k)(X)
    with linad.config(progress=False):
        for k in range(20):
            linad.jit(sums.function)(X, k)
            sums(X, 100 + k)
    assert told(capsys) == ""
