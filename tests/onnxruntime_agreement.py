"""Exported models in ONNX Runtime, all its optimizers on: run by ``tox -e onnx``.

Not collected by the default run: ONNX Runtime writes into the folder of its user.
"""

import importlib.util
from pathlib import Path

import numpy as np
import onnx_cases
import onnxruntime
import pytest
from exported_programs import NETWORK, PROGRAMS, gradient, hessian_product, network, tangent
from onnx_loops import LOOPS, OTHERS, X

import linad

CASES = {n: c for n, c in onnx_cases.cases().items() if onnx_cases.is_exported(c)}
EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "training_as_onnx.py"


def session_of(exported):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    data = exported.model.SerializeToString()
    return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def agreement(exported, *args, **kwargs):
    """The largest error of ONNX Runtime; raises beyond 1e-12, or 1e-5 in single precision."""
    found = session_of(exported).run(None, exported.feed(*args, **kwargs))
    return exported.compare(found, *args, **kwargs)


@pytest.mark.parametrize("dtype", [None, np.float32], ids=["double", "single"])
@pytest.mark.parametrize("name", CASES)
def test_case(name, dtype):
    for program in onnx_cases.programs(CASES[name], dtype):
        exported = program.exported()
        if exported is not None:
            with linad.config(disconnected="ignore"):
                agreement(exported, *program.args)


@pytest.mark.parametrize("derivative", [gradient, tangent, hessian_product])
@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives_of_programs(name, derivative):
    f, args = derivative(*PROGRAMS[name])
    agreement(linad.onnx(f)(*args), *args)


@pytest.mark.parametrize("derivative", [gradient, tangent, hessian_product])
@pytest.mark.parametrize("name", LOOPS)
def test_derivatives_of_loops(name, derivative):
    f, args = derivative(LOOPS[name], (X,))
    exported = linad.onnx(f)(*args)
    for x in (X, *OTHERS.get(name, ())):
        agreement(exported, (x,) if derivative is not gradient else x, *args[1:])


@pytest.mark.parametrize("n", [1, 2, 11, 30])
def test_batches_of_any_length(n):
    axes = {"x": {0: "batch"}, "y": {0: "batch"}}
    exported = linad.onnx(linad.value_and_grad(network), axes=axes)(
        NETWORK, np.ones((5, 3)), np.ones((5, 2))
    )
    rng = np.random.default_rng(n)
    agreement(exported, NETWORK, rng.standard_normal((n, 3)), rng.random((n, 2)))


@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (4, 1), (4, 3)])
@pytest.mark.parametrize("scale", [1 / 3, 0.1])
def test_scalars_beside_products_keep_double_precision(shape, scale):
    """They would become attributes of single precision."""
    m, n = shape

    def f(a, b):
        return scale * (a @ b), (a @ b) / 3, (scale * a) @ b, scale * (a[0] @ b[:, 0])

    rng = np.random.default_rng(1)
    args = rng.standard_normal((m, 5)), rng.standard_normal((5, n))
    assert agreement(linad.onnx(f)(*args), *args) < 1e-14


def test_training_in_a_process_without_linad():
    spec = importlib.util.spec_from_file_location("training_as_onnx", EXAMPLE)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    losses, here, _, _ = example.main(["--steps", "40"])
    np.testing.assert_allclose(losses, here, rtol=1e-10)
