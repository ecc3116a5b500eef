"""What a model has: names, decisions, batches of any length."""

import numpy as np
import onnx
import pytest
from exported_programs import NETWORK, network

import linad
from linad.errors import ExportError, GuardError

rng = np.random.default_rng(0)


def loss(params, x):
    return np.mean((np.tanh(x @ params["W"]) + params["b"][0]) ** 2)


PARAMS = {"W": np.ones((3, 2)), "b": [np.zeros(2)]}


def test_names_of_containers_are_kept():
    exported = linad.onnx(linad.value_and_grad(loss))(PARAMS, np.ones((4, 3)))
    assert list(exported.inputs) == ["params_W", "params_b_0", "x"]
    assert list(exported.outputs) == ["value", "grad_params_W", "grad_params_b_0"]
    assert exported.inputs["params_W"] == ((3, 2), np.float64)
    graph = exported.model.graph
    assert [v.name for v in graph.input] == list(exported.inputs)
    assert [v.name for v in graph.output] == list(exported.outputs)


def test_results_in_containers_are_named_after_their_keys():
    def f(x, *, scale):
        x[0] = 2.0
        return {"sum": np.sum(x) * scale, "count": 3, "text": "no array", "both": (x, -x)}

    exported = linad.onnx(f)(np.ones(2), scale=3.0)
    assert list(exported.inputs) == ["x", "scale"]
    assert list(exported.outputs) == ["both_0", "both_1", "count", "sum", "x_written"]
    assert exported.check(np.full(2, 5.0), scale=2.0) == 0


def test_a_model_is_saved_for_all(tmp_path):
    exported = linad.onnx(loss)(PARAMS, np.ones((4, 3)))
    exported.save(tmp_path / "loss.onnx")
    model = onnx.load(tmp_path / "loss.onnx")
    onnx.checker.check_model(model, full_check=True)
    assert model.ir_version == 10
    assert {o.domain: o.version for o in model.opset_import}[""] == 21


def test_decisions_are_an_output():
    exported = linad.onnx(linad.grad(lambda x: np.sum(x**2) if x[0] > 0 else -np.sum(x)))(
        np.ones(2)
    )
    assert list(exported.outputs) == ["grad_x", "decisions_hold"]
    exported.check(np.array([3.0, -1.0]))
    with pytest.raises(GuardError, match="decisions_hold is False"):
        exported.check(np.array([-3.0, 1.0]))


SCALE, TABLE = [2.0], np.array([3.0, 4.0])


def test_what_a_function_reads_from_outside_is_part_of_the_model():
    def f(x):
        return np.sum(x * TABLE) * SCALE[0] if TABLE[0] > 0 else np.sum(x)

    exported = linad.onnx(linad.value_and_grad(f))(np.ones(2))
    assert list(exported.inputs) == ["x"]
    exported.check(np.array([0.5, -1.0]))


def test_programs_without_decisions_have_no_such_output():
    assert "decisions_hold" not in linad.onnx(np.sin)(np.ones(2)).outputs


@pytest.mark.parametrize("n", [1, 2, 6, 11, 30])
def test_one_model_for_batches_of_any_length(n):
    exported = linad.onnx(
        linad.value_and_grad(network), axes={"x": {0: "batch"}, "y": {0: "batch"}}
    )(NETWORK, np.ones((5, 3)), np.ones((5, 2)))
    assert exported.inputs["x"].shape == ("batch", 3)
    exported.check(NETWORK, rng.standard_normal((n, 3)), rng.random((n, 2)))


def test_results_and_derivatives_along_the_batch():
    def f(x, c):
        d = x[1:] - x[:-1]
        moments = np.var(x, axis=0) + np.std(x, axis=0, ddof=1)
        return np.cumsum(d, axis=0) * c, moments, x[::-1], x.reshape(-1)

    exported = linad.onnx(f, axes={"x": {0: "n"}})(np.ones((4, 2)), np.ones(2))
    assert [v.shape for v in exported.outputs.values()] == [
        ("1*n-1", 2),
        (2,),
        ("n", 2),
        ("2*n+0",),
    ]
    for n in (2, 5, 9):
        exported.check(rng.standard_normal((n, 2)), np.ones(2))


@pytest.mark.parametrize(
    "f",
    [
        pytest.param(lambda x: sum(x[k] for k in range(len(x))), id="loop"),
        pytest.param(lambda x: x @ np.cos(np.arange(len(x))), id="table"),
        pytest.param(lambda x: np.linalg.solve(np.outer(x, x) + np.eye(len(x)), x), id="matrix"),
    ],
)
def test_what_goes_by_the_length_is_refused(f):
    with pytest.raises(ExportError, match="'n' cannot have any length: .* without axes"):
        linad.onnx(f, axes={"x": {0: "n"}})(rng.standard_normal(4))


def test_axes_are_checked():
    f = linad.onnx(np.sin, axes={"z": {0: "n"}})
    with pytest.raises(ExportError, match="'z' is not one of"):
        f(np.ones(3))
    with pytest.raises(ExportError, match=r"expected an axis of x0? in \[0, 1\), got 1"):
        linad.onnx(lambda x: np.sin(x), axes={"x": {1: "n"}})(np.ones(3))
    with pytest.raises(ExportError, match="expected one name"):
        linad.onnx(lambda x: np.sin(x), axes={"x": {0: "n", 1: "m"}})(np.ones((3, 2)))
