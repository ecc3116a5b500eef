"""Loops and branches as ONNX's Scan, Loop and If, by the reference evaluator."""

import numpy as np
import pytest
from exported_programs import gradient, hessian_product, tangent
from onnx_loops import LOOPS, OTHERS, X

import linad
from linad.control import whiles
from linad.errors import ExportError, GuardError


def operators(graph):
    """The operators of a graph and the graphs in it."""
    found = set()
    for node in graph.node:
        found.add(node.op_type)
        for attribute in node.attribute:
            found |= operators(attribute.g)
    return found


QUICK = ("steps", "backwards", "until", "written", "one_of_three")
SHARE = [pytest.param(n, marks=() if n in QUICK else pytest.mark.full) for n in LOOPS]


@pytest.mark.parametrize("name", SHARE)
def test_gradients(name):
    exported = linad.onnx(linad.value_and_grad(LOOPS[name]))(X)
    for x in (X, *OTHERS.get(name, ())):
        exported.check(x)


@pytest.mark.full
@pytest.mark.parametrize("derivative", [gradient, tangent, hessian_product])
@pytest.mark.parametrize("name", LOOPS)
def test_derivatives(name, derivative):
    f, args = derivative(LOOPS[name], (X,))
    linad.onnx(f)(*args).check()


@pytest.mark.parametrize(
    "name, expected", [("steps", "Scan"), ("until", "Loop"), ("one_of_two", "If")]
)
def test_operators(name, expected):
    exported = linad.onnx(LOOPS[name])(X)
    assert expected in operators(exported.model.graph)
    assert len(exported.model.graph.node) < 20
    assert list(exported.outputs) == ["y"]
    exported.check(1.5 * X)


def test_a_size_does_not_depend_on_the_number_of_repetitions():
    def f(x, n):
        return np.sum(linad.fori_loop(0, n, lambda k, y: y + np.sin(y) / (k + 1), x))

    few, many = (linad.onnx(linad.grad(lambda x, n=n: f(x, n)))(X) for n in (3, 3000))
    assert len(few.model.graph.node) == len(many.model.graph.node)


def test_decisions_in_a_body_hold_in_every_repetition():
    exported = linad.onnx(LOOPS["decided"])(X)
    assert list(exported.outputs) == ["y", "decisions_hold"]
    exported.check(2 * X)
    with pytest.raises(GuardError, match="decisions_hold is False"):
        exported.check(np.full(5, -2.0))  # only the first repetition decides otherwise


def test_a_limit_that_is_reached_is_no_result():
    def f(x):
        return linad.while_loop(lambda y: y < 5.0, lambda y: y * 1.5, x, limit=4)

    exported = linad.onnx(f)(2.0)
    exported.check(1.5)
    with pytest.raises(GuardError, match="decisions_hold is False"):
        exported.check(0.1)


def test_an_index_beyond_its_array_is_no_result():
    def f(x, i):
        return linad.fori_loop(0, 2, lambda k, y: y + x[i + k], 0.0)

    exported = linad.onnx(f)(X, np.array(1))
    for i in (0, 3, -5, -3):
        exported.check(X, np.array(i))
    for i in (4, -6):
        with pytest.raises(GuardError, match="decisions_hold is False"):
            exported.check(X, np.array(i))


def test_rows_that_are_kept_for_the_way_back_are_thinned(monkeypatch):
    monkeypatch.setattr(whiles, "affordable", lambda body: 4)
    monkeypatch.setattr(whiles, "SEGMENT", 4)
    monkeypatch.setattr(whiles, "LEAP", 2)

    def f(x):
        y = linad.while_loop(
            lambda y: y[0] < 3.0, lambda y: y * (1.1 + 0.1 * np.sin(x[2])), x[:2], checkpoints=4
        )
        return np.sum(y)

    exported = linad.onnx(linad.grad(f))(X)
    for x in (X, 0.5 * X, 0.1 * X):
        exported.check(x)


def test_branches_that_cannot_be_one_operation_are_decisions():
    def shapes(x):
        return np.sum(linad.cond(x[0] > 0, lambda: x[:2], lambda: x**3))

    def fails(x):
        return np.sum(linad.cond(x[0] > 0, np.sin, lambda x: np.linalg.cholesky(-np.diag(x)), x))

    for f in (shapes, fails):
        exported = linad.onnx(linad.grad(f))(X)
        assert list(exported.outputs) == ["grad_x", "decisions_hold"]
        exported.check(3 * X)


def test_what_has_no_form_in_a_body_is_named_with_its_line():
    def f(x):
        return linad.scan(lambda c, r: (c + np.linalg.eigvals(np.eye(2) * r)[0].real, None), 0.0, x)

    with pytest.raises(ExportError, match=r"onnx: eigvals at .*test_onnx_control.py:\d+"):
        linad.onnx(f)(X)


@pytest.mark.rest
def test_batches_of_any_length_in_a_loop():
    def f(w, x):
        h, _ = linad.scan(lambda h, k: (np.tanh(h @ w + k), None), x, np.arange(3.0))
        return np.mean(h * h)

    exported = linad.onnx(linad.value_and_grad(f), axes={"x": {0: "batch"}})(
        np.eye(2) / 2, np.ones((4, 2))
    )
    assert exported.inputs["x"].shape == ("batch", 2)
    for n in (1, 3, 8):
        exported.check(np.eye(2) / 2, np.cos(np.arange(2.0 * n)).reshape(n, 2))
