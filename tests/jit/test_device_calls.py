"""Jitted functions with arrays on a device: whose arrays decide, and what comes back."""

import pickle
import sys
from unittest import mock

import numpy as np
import pytest
from fake_device import Foreign, fake_gpu, transfers
from test_docs import ROOT, blocks_of, run_block

import linad
from linad.errors import DeviceError, DTypeError, FallbackError
from linad.sweeps.cuda.gpu_arrays import Array

RNG = np.random.default_rng(5)
X, W = RNG.normal(size=(5, 4)), RNG.normal(size=(4, 3))


def loss(w, x):
    return np.sum(np.tanh(x @ w) ** 2)


def test_arrays_decide():
    value, gradient = linad.value_and_grad(loss)(W, X)
    with fake_gpu() as device:
        f = linad.jit(linad.value_and_grad(loss))
        assert type(f(W, X)[1]) is np.ndarray
        for _ in range(3):
            v, g = f(Foreign(device, W), Foreign(device, X))
            assert (type(v), type(g)) == (np.float64, Array)
            np.testing.assert_allclose(v, value, rtol=1e-12)
            np.testing.assert_allclose(g.numpy(), gradient, rtol=1e-12)
        _, g = f(g, Foreign(device, X))  # a result is an argument
        np.testing.assert_allclose(g.numpy(), linad.grad(loss)(gradient, X), rtol=1e-10)
        assert type(f(W, X)[1]) is np.ndarray


def test_numpys_arrays_for_the_device():
    with fake_gpu() as device:
        f = linad.jit(linad.grad(loss), device="cuda")
        for _ in range(2):
            g = f(W, X)
            assert type(g) is np.ndarray
            np.testing.assert_allclose(g, linad.grad(loss)(W, X), rtol=1e-12)
        assert device.counts["graph"]
        assert type(f(Foreign(device, W), Foreign(device, X))) is Array

        @linad.jit(device="cuda", static_argnames="n")
        def g(x, n):
            return {"y": [x * n, n, "text"], "z": np.array(2.0)}

        for _ in range(2):
            found = g(X, n=3)
            np.testing.assert_array_equal(found["y"][0], 3 * X)
            assert found["y"][1:] == [3, "text"]
            assert found["z"].shape == ()


def test_mixed_arguments():
    with fake_gpu() as device:
        x = Foreign(device, X)
        with pytest.raises(DeviceError, match="loss: argument 0 is a NumPy array, and others"):
            linad.jit(loss)(W, x)
        with pytest.raises(DeviceError, match=r"argument 1\['b'\]\[0\] is a NumPy array"):
            linad.jit(lambda x, more: x * more["a"])(x, {"a": 2.0, "b": [X]})
        with pytest.raises(DeviceError, match="argument w is a NumPy array"):
            linad.jit(lambda x, w: x * w)(x, w=X)
        # Numbers, and what is part of the program, are at home everywhere.
        f = linad.jit(lambda x, a, n, table: x * a + n * table[0], static_argnums=3)
        for a in (2.0, np.float64(3), 4):
            y = f(x, a, 2, X)
            np.testing.assert_allclose(y.numpy(), X * a + 2 * X[0])


def test_without_a_gpu():
    with mock.patch.dict(sys.modules, {"cuda": None, "cuda.core": None}):
        from linad.sweeps.cuda import opening

        opening._made.cache_clear()
        with pytest.raises(DeviceError, match=r"not installed \(cuda\S*\): pip install 'linad\[c"):
            linad.jit(np.sin, device="cuda")(X)
        with pytest.raises(DeviceError, match="not installed"):
            linad.cuda.asarray(X)


def test_options():
    with pytest.raises(linad.errors.OptionError, match="device must be 'cuda' or None, got 'tpu'"):
        linad.jit(np.sin, device="tpu")


def test_python_decides():
    def f(x):
        return x * 2 if x[0, 0] > 0 else -x

    with fake_gpu() as device:
        g = linad.jit(f)
        for sign in (1, -1, 1, -1, -1):
            x = sign * np.abs(X)
            np.testing.assert_array_equal(g(Foreign(device, x)).numpy(), f(x))
        (variants,) = g.variants.values()
        assert len(variants) == 2
        h = linad.jit(lambda x: x + 1 if np.sum(x) < 0 else x - 1 if x[0, 0] < 1 else x)
        with linad.config(variants=2):
            for k in (-1, 0):
                h(Foreign(device, X * 0 + k))
            with pytest.raises(DeviceError, match="new path"):
                h(Foreign(device, X * 0 + 1))


def test_writes():
    def f(x, y):
        x[1:] = x[:-1] * 2
        y += x
        return np.sum(y)

    def expected():
        x, y = X.copy(), X.copy()
        return f(x, y), x, y

    with fake_gpu() as device:
        g = linad.jit(f)
        total, x, y = expected()
        for _ in range(2):
            a, b = Foreign(device, X), Foreign(device, X)
            np.testing.assert_allclose(g(a, b), total)
            np.testing.assert_allclose(a.numpy(), x)
            np.testing.assert_allclose(b.numpy(), y)
        a = Foreign(device, X)
        with pytest.raises(DeviceError, match="shares memory with another"):
            g(a, a)
        h = linad.jit(f, device="cuda")
        a, b = X.copy(), X.copy()
        np.testing.assert_allclose(h(a, b), total)
        np.testing.assert_allclose(b, y)


def test_nothing_is_written_where_a_guard_fails():
    def f(x):
        x *= 2
        return x if np.sum(x) > 0 else x * 3

    with fake_gpu() as device:
        g = linad.jit(f)
        for x in (np.abs(X), -np.abs(X)):
            a = Foreign(device, x)
            y = g(a)
            np.testing.assert_allclose(a.numpy(), 2 * x)
            np.testing.assert_allclose(y.numpy(), f(x.copy()))


def test_numpy_where_a_kernel_stops():
    def f(a):
        try:
            return np.linalg.inv(a)
        except np.linalg.LinAlgError:
            return a

    with fake_gpu() as device:
        g = linad.jit(f)
        for a in (2 * np.eye(3), np.zeros((3, 3))):
            np.testing.assert_allclose(g(Foreign(device, a)).numpy(), f(a))
        g = linad.jit(np.linalg.inv)
        g(Foreign(device, 2 * np.eye(3)))
        with pytest.raises(np.linalg.LinAlgError):
            g(Foreign(device, np.zeros((3, 3))))


def test_single_precision_with_numbers():
    """A Python number does not change the precision: it is part of the program there."""
    with fake_gpu() as device:
        f = linad.jit(lambda x, a: x.astype("f4") * a)
        for a in (2.0, 3.0):
            y = f(Foreign(device, X), a)
            assert y.dtype == np.float32
            np.testing.assert_allclose(y.numpy(), X.astype("f4") * np.float32(a))


def test_arrays_from_outside():
    table = X.copy()
    with fake_gpu() as device:
        f = linad.jit(lambda x: x * table)
        for k in range(3):
            table[...] = X + k
            np.testing.assert_allclose(f(Foreign(device, X)).numpy(), X * (X + k))


def test_a_derivative_around_a_call_is_the_cpus():
    with fake_gpu():
        f = linad.jit(loss, device="cuda")
        np.testing.assert_allclose(linad.grad(f)(W, X), linad.grad(loss)(W, X))


def test_no_kernel():
    with fake_gpu() as device:
        f = linad.jit(lambda a: np.linalg.eigvals(a).real)
        a = Foreign(device, X[:4])
        with pytest.raises(FallbackError, match="eigvals"):
            f(a)
        with linad.config(device_fallback=True):
            g = linad.jit(lambda a: np.linalg.eigvals(a).real)
            np.testing.assert_allclose(g(a).numpy(), np.linalg.eigvals(X[:4]).real)


class TestLinearize:
    def test_containers(self):
        def f(p, x):
            return {"y": np.tanh(x @ p["w"] + p["b"]), "n": np.sum(p["w"] ** 2), "k": 3.0 * x[0]}

        p = {"w": W, "b": W[0]}
        y, J = linad.linearize(f, p, X, argnums=0)
        with fake_gpu() as device:
            there = {k: Foreign(device, a) for k, a in p.items()}
            g = linad.jit(f)
            for _ in range(2):
                z, K = linad.linearize(g, there, Foreign(device, X), argnums=0)
                assert K.shape == J.shape
                np.testing.assert_allclose(z["y"].numpy(), y["y"])
                assert z["n"] == pytest.approx(y["n"])
                v = RNG.normal(size=K.shape[1])
                w = RNG.normal(size=K.shape[0])
                np.testing.assert_allclose(K @ v, J @ v)
                np.testing.assert_allclose(K.T @ w, J.T @ w)
                moved, expected = K.pushforward(there), J.pushforward(p)
                np.testing.assert_allclose(moved["y"].numpy(), expected["y"])
                np.testing.assert_allclose(moved["n"], expected["n"])
                np.testing.assert_allclose(fetched(moved["k"]), 0)
                ybar = {"y": z["y"], "n": 2.0, "k": z["k"]}
                pulled = K.pullback(ybar)
                expected = J.pullback({"y": y["y"], "n": 2.0, "k": y["k"]})
                for name in p:
                    np.testing.assert_allclose(pulled[name].numpy(), expected[name])

    def test_a_number(self):
        with fake_gpu() as device:
            y, J = linad.linearize(linad.jit(loss), Foreign(device, W), Foreign(device, X))
            assert y == pytest.approx(loss(W, X))
            g = linad.grad(loss, argnums=(0, 1))(W, X)
            for a, b in zip(J.pullback(1.0), g, strict=True):
                assert type(a) is Array
                np.testing.assert_allclose(a.numpy(), b)
            flat = np.concatenate([a.ravel() for a in g])
            np.testing.assert_allclose(J.T @ np.ones(1), flat)
            np.testing.assert_allclose(J.todense()[0], flat)

    def test_solvers(self):
        with fake_gpu() as device:
            f = linad.jit(lambda x: np.tanh(x) + 0.1 * np.roll(x, 1))
            _, J = linad.linearize(f, Foreign(device, X[0]))
            _, K = linad.linearize(f.function, X[0])
            b = X[0] * 0 + 1
            np.testing.assert_allclose(linad.solve_linear(J, b), linad.solve_linear(K, b))
            normal = J.T @ J + 0.1 * linad.eye(4)
            for k in range(4):
                if k == 3:  # the second time it is made, and from then on it is one program
                    before = device.counts["graph"]
                np.testing.assert_allclose(normal @ b, (K.T @ K + 0.1 * linad.eye(4)) @ b)
            assert device.counts["graph"] == before
            assert all(type(a) is Array for a in J.whole.residuals)
            _, J = linad.linearize(f, Foreign(device, X[1]))
            _, K = linad.linearize(f.function, X[1])
            normal = J.T @ J + 0.1 * linad.eye(4)
            np.testing.assert_allclose(normal @ b, (K.T @ K + 0.1 * linad.eye(4)) @ b)
            fused = {len(p.program.program.lowering.inputs) for p in plans_of(f) if p.program}
            assert fused == {2 * len(J.whole.residuals) + 2}

    def test_vectors_of_the_device(self):
        def f(x):
            return np.tanh(X @ x) * x[0]

        with fake_gpu() as device:
            _, J = linad.linearize(linad.jit(f), Foreign(device, W[:, 0]))
            _, K = linad.linearize(f, W[:, 0])
            v, u = W[:, 1], X[:, 0]
            for op, host, w in (
                (J, K, v),
                (J.T, K.T, u),
                (J.T @ J + 0.1 * linad.eye(4), K.T @ K + 0.1 * linad.eye(4), v),
            ):
                y = op @ Foreign(device, w)
                np.testing.assert_allclose(y.numpy(), host @ w, rtol=1e-12)
                with transfers(device) as moved:
                    y = op @ y if op.shape[0] == op.shape[1] else op @ Foreign(device, w)
                    assert type(y) is Array
                assert moved == []
            y, J = linad.linearize(linad.jit(loss), Foreign(device, W), Foreign(device, X))
            ones = linad.cuda.asarray(np.ones(1))
            np.testing.assert_allclose((J.T @ ones).numpy(), J.T @ np.ones(1))
            flat = Foreign(device, np.ones(J.shape[1]))
            np.testing.assert_allclose((J @ flat).numpy(), J @ np.ones(J.shape[1]))
            with pytest.raises(linad.errors.ShapeError, match=r"vectors of shape \(32,\), got"):
                J @ ones
            with pytest.raises(DTypeError, match="takes vectors of dtype float64, got float32"):
                J @ Foreign(device, np.ones(32, "f4"))
            with pytest.raises(DeviceError, match="one vector on a device, from the left"):
                J @ Foreign(device, np.ones((32, 2)))
            with pytest.raises(DeviceError, match="is not one program there"):
                K @ Foreign(device, v)

    def test_a_point_is_copied(self):
        with fake_gpu() as device:
            x = Foreign(device, X)
            _, J = linad.linearize(linad.jit(lambda x: x**3), x)
            device.upload(x.memory.address, X * 0, device.stream_of(1))
            np.testing.assert_allclose(J.pushforward(J.pushforward(x)).numpy(), 0)
            np.testing.assert_allclose(J @ np.ones(20), 3 * X.ravel() ** 2)

    def test_refusals(self):
        with fake_gpu() as device:
            x = Foreign(device, X)
            with pytest.raises(DeviceError, match=r"linad.linearize\(linad.jit\(sin\), x\)"):
                linad.linearize(np.sin, x)
            with pytest.raises(DTypeError, match="argument 0: expected an array of floating"):
                linad.linearize(linad.jit(np.cumsum), Foreign(device, np.arange(3)))
            _, J = linad.linearize(linad.jit(np.sin), x)
            with pytest.raises(linad.errors.ShapeError, match="tangent: expected shape"):
                J.pushforward(Foreign(device, W))
            with pytest.raises(DTypeError, match="cotangent: expected dtype float64"):
                J.pullback(Foreign(device, X.astype("f4")))

    def test_several_seeds(self):
        with fake_gpu() as device:
            _, J = linad.linearize(linad.jit(np.sin), Foreign(device, X))
            seeds = RNG.normal(size=(3, *X.shape))
            found = J.pushforward(Foreign(device, seeds))
            np.testing.assert_allclose(found.numpy(), seeds * np.cos(X))


def plans_of(f):
    """The programs of operators with a derivative of ``f``."""
    (variants,) = f.variants.values()
    return [p for v in variants for c in v._elsewhere.values() for p in c.plans.values()]


def fetched(a):
    return a.numpy() if type(a) is Array else a


def test_pickled():
    f = pickle.loads(pickle.dumps(linad.jit(np.sin, device="cuda")))
    assert f.device == "cuda"


def test_the_page():
    """The blocks of docs/cuda.md that need a GPU."""
    page, names = ROOT / "docs" / "cuda.md", {}
    blocks = blocks_of(page.read_text(encoding="utf-8"))
    needing = [(body, line) for _, body, line, before in blocks if "not run: needs a GPU" in before]
    with fake_gpu():
        for body, line in needing:
            run_block(body, names, page, line)
    assert type(names["gradient"]) is Array
    assert names["J"].shape == (20, 20)
