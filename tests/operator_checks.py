"""Operators beside the dense matrices that they stand for."""

import numpy as np
import operator_zoo as zoo

rng = np.random.default_rng(0)
F8, C16 = np.dtype(float), np.dtype(complex)


def array(*shape):
    return zoo.numbers(rng, shape, F8)


def complex_array(*shape):
    return zoo.numbers(rng, shape, C16)


def check(op, matrix):
    """Both maps of ``op``, one seed and several, are those of the dense ``matrix``."""
    matrix = np.asarray(matrix)
    assert op.shape == matrix.shape
    np.testing.assert_allclose(op.todense(), matrix, atol=1e-14)
    v = zoo.numbers(rng, (2, 3, *op.in_shape), op.in_dtype)
    w = zoo.numbers(rng, (2, 3, *op.out_shape), op.out_dtype)
    pushed, pulled = op.pushforward(v), op.pullback(w)
    assert pushed.shape == (2, 3, *op.out_shape)
    assert pulled.shape == (2, 3, *op.in_shape)
    rows = v.reshape(6, -1) @ matrix.T
    np.testing.assert_allclose(pushed.reshape(6, -1), rows.reshape(6, -1), atol=1e-13)
    rows = w.reshape(6, -1) @ np.conj(matrix)
    np.testing.assert_allclose(pulled.reshape(6, -1), rows.reshape(6, -1), atol=1e-13)
    np.testing.assert_allclose(op.pushforward(v[1, 2]), pushed[1, 2], atol=1e-14)
    np.testing.assert_allclose(op.pullback(w[1, 2]), pulled[1, 2], atol=1e-14)
