"""Neural networks: value and gradient in all weights, in double and single precision."""

import numpy as np
from scipy.linalg.blas import dgemm, sgemm

from . import median_seconds, topics
from .workloads import WORKLOADS

Times, Ratios, AgainstPeers, OverSizes = topics.measured("mlp")

PRECISIONS = ("float64", "float32")


def products_alone(precision, seconds=0.3):
    """How much of value and gradient are the matrix products in them, and how fast those are.

    Seconds of the compiled derivative, of its eight products by the same BLAS, and of the
    same products by PyTorch's where that is installed; all in turn.
    """
    workload = WORKLOADS[f"MLP 784-512-512-10, batch 128, {precision}"]
    inputs = workload.inputs("value_and_grad")
    compiled = workload.compiled("value_and_grad")
    for _ in range(2):
        compiled(*inputs)
    pairs = _pairs(*inputs)
    found = {"linad": lambda: compiled(*inputs), "products": _by_blas(pairs)}
    theirs = _by_torch(pairs)
    if theirs is not None:
        found["products of torch"] = theirs
    times = median_seconds(*found.values(), seconds=seconds)
    return dict(zip(found, times, strict=True))


def _pairs(W1, b1, W2, b2, W3, b3, X, T):
    """The operands of the products: three forwards, five backwards."""
    H, G = np.tanh(X @ W1 + b1), np.tanh(X @ W1 - b1)
    Y = np.ascontiguousarray(T)
    forwards = [(X, W1), (H, W2), (H, W3)]
    return [*forwards, (H.T, Y), (Y, W3.T), (H.T, G), (G, W2.T), (X.T, G)]


def _by_blas(pairs):
    """Row by row, as C^T = B^T A^T, like linad: SciPy's OpenBLAS, nothing copied."""
    gemm = dgemm if pairs[0][0].dtype == np.float64 else sgemm
    calls = []
    for A, B in pairs:
        C = np.empty((A.shape[0], B.shape[1]), A.dtype)
        flipped = [not M.flags.c_contiguous for M in (B, A)]
        first, second = [M if f else M.T for M, f in zip((B, A), flipped, strict=True)]
        calls.append((1.0, first, second, 0.0, C.T, *flipped, True))
        np.testing.assert_allclose(gemm(*calls[-1]).T, A @ B, rtol=1e-3, atol=1e-3)

    def run():
        for arguments in calls:
            gemm(*arguments)

    return run


def _by_torch(pairs):
    try:
        import torch
    except ImportError:
        return None
    torch.set_num_threads(1)
    calls = []
    for A, B in pairs:
        C = np.empty((A.shape[0], B.shape[1]), A.dtype)
        calls.append([torch.from_numpy(M) for M in (A, B, C)])

    def run():
        for A, B, C in calls:
            torch.matmul(A, B, out=C)

    return run


class Products:
    """What of value and gradient is BLAS, and what the same products cost in PyTorch."""

    params = list(PRECISIONS)
    param_names = ["precision"]
    timeout = 120

    def track_compiled_over_products(self, precision):
        found = products_alone(precision)
        return found["linad"] / found["products"]

    def track_products_over_those_of_torch(self, precision):
        found = products_alone(precision)
        if "products of torch" not in found:
            raise NotImplementedError("torch is not installed")
        return found["products"] / found["products of torch"]

    track_compiled_over_products.unit = "ratio"
    track_products_over_those_of_torch.unit = "ratio"
