"""linad beside other libraries, with the libraries themselves: run by ``tox -e interop``.

Not collected by the default run, which needs none of these libraries. Derivatives are compared
with those that each library takes of the same function written in its own terms, or with
differences by its own checks.
"""

import importlib

import numpy as np
import pytest
from needing_libraries import ELSEWHERE
from test_docs import run_docstrings

import linad
from linad.errors import ArgumentError, DTypeError, OutputError, ShapeError


def mixed(x, A, *, p):
    """Containers in and out, one result an integer."""
    return {"a": np.sin(x) * p["s"], "b": (A @ x).sum(), "k": np.argmax(x)}


def cubic(x):
    return np.sum(x**3 * np.exp(x))


def complex_parts(z):
    return z**2 * np.conj(z), np.abs(z) ** 2, np.real(z), np.sqrt(z) * 3


@pytest.mark.parametrize("name", sorted(ELSEWHERE))
def test_docstrings(name):
    run_docstrings(importlib.import_module(name))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


class TestTorch:
    torch = pytest.importorskip("torch")

    def tensor(self, values, **options):
        return self.torch.tensor(np.asarray(values), **options)

    @pytest.fixture
    def point(self, rng):
        x, s = (self.tensor(rng.standard_normal(4), requires_grad=True) for _ in range(2))
        A = self.tensor(rng.standard_normal((4, 3))).T.requires_grad_()
        assert not A.is_contiguous()
        return x, A, s

    # Forward mode loads decompositions that PyTorch compiles by its deprecated torch.jit.script.
    @pytest.mark.filterwarnings("ignore:.*torch.jit.script")
    def test_derivatives(self, point):
        from torch.autograd import gradcheck, gradgradcheck

        f = linad.interop.torch(mixed)

        def floating(x, A, s):
            found = f(x, A, p={"s": s})
            return found["a"], found["b"]

        assert gradcheck(floating, point, check_forward_ad=True)
        assert gradgradcheck(floating, point, check_fwd_over_rev=True)

    def test_complex_numbers(self, rng):
        from torch.autograd import gradcheck, gradgradcheck

        z = rng.standard_normal(3) + 1j * rng.standard_normal(3)
        f = linad.interop.torch(complex_parts)
        z = self.tensor(z, requires_grad=True)
        assert gradcheck(f, (z,))
        assert gradgradcheck(f, (z,))
        assert gradcheck(f, (z.detach().conj().requires_grad_(),))

    @pytest.mark.filterwarnings("ignore:.*torch.jit.script")
    def test_functional_transforms(self, rng):
        from torch.func import grad, hessian, jacfwd, jacrev, vmap

        f = linad.interop.torch(cubic)
        x = rng.standard_normal(4)
        expected = linad.hessian(cubic)(x)
        for found in (hessian(f), jacrev(grad(f)), jacfwd(jacfwd(f))):
            np.testing.assert_allclose(found(self.tensor(x)), expected, atol=1e-13)
        rows = rng.standard_normal((3, 4))
        slopes = [linad.grad(cubic)(row) for row in rows]
        np.testing.assert_allclose(vmap(grad(f))(self.tensor(rows)), slopes, rtol=1e-13)
        found = grad(lambda rows: vmap(f)(rows).sum())(self.tensor(rows))
        np.testing.assert_allclose(found, slopes, rtol=1e-13)

    @pytest.mark.parametrize("name", ["float32", "float64", "complex64", "complex128"])
    def test_dtypes_stay(self, name):
        x = self.torch.ones(3, dtype=getattr(self.torch, name), requires_grad=True)
        y = linad.interop.torch(lambda x: np.sum(np.abs(x * x)))(x)
        y.backward()
        assert x.grad.dtype == x.dtype
        assert y.dtype == x.dtype.to_real()
        np.testing.assert_allclose(x.grad, 2.0)

    def test_only_what_needs_a_gradient_is_differentiated(self):
        seen = []

        def f(x, data):
            seen.append(type(data))
            return np.sum(x * data)

        x = self.torch.ones(3, requires_grad=True)
        data = self.torch.arange(3.0)
        linad.interop.torch(f)(x, data).backward()
        assert seen == [np.ndarray]
        np.testing.assert_array_equal(x.grad, data)
        assert data.grad is None

    def test_without_gradients_the_function_just_runs(self):
        x = self.torch.tensor([1.0, 3.0, 2.0], requires_grad=True)
        with self.torch.no_grad():
            y = linad.interop.torch(lambda x: (np.argmax(x), x * 2))(x)
        assert y[0] == 1
        assert not y[1].requires_grad

    def test_integer_results_have_no_gradient(self):
        x = self.torch.tensor([1.0, 3.0, 2.0], requires_grad=True)
        k, y = linad.interop.torch(lambda x: (np.argmax(x), x[np.argmax(x)] ** 2))(x)
        assert not k.requires_grad
        y.backward()
        np.testing.assert_array_equal(x.grad, [0.0, 6.0, 0.0])

    def test_training(self, rng):
        """A layer in NumPy between layers of PyTorch."""
        torch = self.torch
        torch.manual_seed(0)
        smooth = linad.interop.torch(linad.jit(lambda h, a: np.tanh(a * h) + 0.1 * h))
        first, last = torch.nn.Linear(2, 8), torch.nn.Linear(8, 1)
        a = torch.nn.Parameter(torch.ones(8))
        x = torch.tensor(rng.standard_normal((64, 2)), dtype=torch.float32)
        y = x[:, :1] * x[:, 1:]
        adam = torch.optim.Adam([*first.parameters(), *last.parameters(), a], lr=0.03)
        losses = []
        for _ in range(150):
            adam.zero_grad()
            loss = torch.mean((last(smooth(first(x), a)) - y) ** 2)
            loss.backward()
            adam.step()
            losses.append(loss.item())
        assert losses[-1] < losses[0] / 20

    def test_a_tensor_that_was_overwritten_is_refused(self):
        x = self.torch.ones(3, requires_grad=True)
        moved = x * 1
        y = linad.interop.torch(np.sin)(moved)
        moved += 1
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()

    def test_refusals(self):
        torch = self.torch
        f = linad.interop.torch(lambda x: np.sum(x))
        with pytest.raises(ArgumentError, match=r"on the device meta.*pass x\.cpu\(\)"):
            f(torch.ones(3, device="meta"))
        with pytest.raises(ArgumentError, match=r"layout torch\.sparse_coo.*to_dense"):
            f(torch.ones(3, 3).to_sparse())
        with pytest.raises(DTypeError, match=r"bfloat16, which NumPy does not have"):
            f(torch.ones(3, dtype=torch.bfloat16))
        with pytest.raises(OutputError, match="returned a float"):
            linad.interop.torch(lambda x: 1.0)(torch.ones(3))
        with pytest.raises(ArgumentError, match="must be a function"):
            linad.interop.torch(3)


class TestJax:
    jax = pytest.importorskip("jax")

    @pytest.fixture(autouse=True)
    def _double(self):
        self.jax.config.update("jax_enable_x64", True)
        yield
        self.jax.config.update("jax_enable_x64", False)

    def test_derivatives(self, rng):
        from jax.test_util import check_grads

        f = linad.interop.jax(mixed)

        def floating(x, A, s):
            found = f(x, A, p={"s": s})
            return found["a"], found["b"]

        point = rng.standard_normal(4), rng.standard_normal((3, 4)), rng.standard_normal(4)
        check_grads(floating, point, order=3, rtol=1e-5)
        check_grads(self.jax.jit(floating), point, order=2)

    def test_second_order_in_every_mode(self, rng):
        jax = self.jax
        f = linad.interop.jax(cubic)
        x = rng.standard_normal(4)
        expected = linad.hessian(cubic)(x)
        for first in (jax.jacfwd, jax.jacrev):
            for second in (jax.jacfwd, jax.jacrev):
                for found in (first(second(f)), jax.jit(first(second(f)))):
                    np.testing.assert_allclose(found(x), expected, atol=1e-13)

    def test_vmap(self, rng):
        jax = self.jax
        f = linad.interop.jax(cubic)
        rows = rng.standard_normal((5, 4))
        slopes = [linad.grad(cubic)(row) for row in rows]
        np.testing.assert_allclose(jax.vmap(jax.grad(f))(rows), slopes, rtol=1e-13)
        np.testing.assert_allclose(jax.jit(jax.vmap(jax.grad(f)))(rows), slopes, rtol=1e-13)
        found = jax.grad(lambda rows: jax.vmap(f)(rows).sum())(rows)
        np.testing.assert_allclose(found, slopes, rtol=1e-13)
        columns = jax.vmap(f, in_axes=1)(rows.T)
        np.testing.assert_allclose(columns, [cubic(row) for row in rows], rtol=1e-14)
        curvature = jax.jit(jax.vmap(jax.hessian(f)))(rows)
        np.testing.assert_allclose(curvature[2], linad.hessian(cubic)(rows[2]), atol=1e-13)

    def test_control_flow(self, rng):
        jax = self.jax
        f, own = linad.interop.jax(cubic), lambda x: (x**3 * self.jax.numpy.exp(x)).sum()

        def descend(f):
            def step(x, _):
                return x - 0.1 * jax.grad(f)(x), f(x)

            return jax.jit(lambda x: jax.lax.scan(step, x, None, length=4))

        x = rng.standard_normal(4)
        for found, expected in zip(descend(f)(x), descend(own)(x), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12)
        found = jax.grad(lambda x: descend(f)(x)[1][-1])(x)
        np.testing.assert_allclose(found, jax.grad(lambda x: descend(own)(x)[1][-1])(x), rtol=1e-11)

    def test_complex_numbers(self, rng):
        """JAX's convention: J^T, not its conjugate."""
        jax, jnp = self.jax, self.jax.numpy

        def own(z):
            return z**2 * jnp.conj(z), jnp.abs(z) ** 2, jnp.real(z), jnp.sqrt(z) * 3

        z = rng.standard_normal(3) + 1j * rng.standard_normal(3)
        y, expected = jax.vjp(own, z)
        w = tuple(a * (2 + k) for k, a in enumerate(y))
        values, found = jax.vjp(linad.interop.jax(complex_parts), z)
        np.testing.assert_allclose(values[0], y[0], rtol=1e-14)
        np.testing.assert_allclose(found(w)[0], expected(w)[0], rtol=1e-13)

    def test_single_precision_is_the_default(self):
        self.jax.config.update("jax_enable_x64", False)
        f = linad.interop.jax(lambda x: np.sum(x * np.arange(3.0)))
        x = self.jax.numpy.ones(3)
        assert f(x).dtype == self.jax.jit(f)(x).dtype == np.float32
        assert self.jax.grad(f)(x).dtype == np.float32

    def test_other_arguments_are_left_alone(self):
        f = linad.interop.jax(lambda n, x, how: np.ones(n) * x if how == "many" else x)
        assert self.jax.jit(lambda x: f(3, x, "many"))(2.0).shape == (3,)
        assert f(True, np.ones(2), "one").shape == (2,)
        with pytest.raises(ArgumentError, match=r"neither an array nor hashable"):
            f(3, 2.0, {1, 2})

    def test_integer_results(self, rng):
        f = linad.interop.jax(lambda x: (np.argmax(x), x**2))
        x = rng.standard_normal(3)
        (k, _), pullback = self.jax.vjp(lambda x: f(x), x)
        assert k == np.argmax(x)
        zero = np.zeros((), self.jax.dtypes.float0)
        np.testing.assert_allclose(pullback((zero, np.ones(3)))[0], 2 * x)

    def test_shapes_are_found(self):
        """By a run at positive definite matrices, by an earlier call, or as they are stated."""
        jax = self.jax
        factor = linad.interop.jax(np.linalg.cholesky)
        assert jax.eval_shape(factor, np.eye(3)).shape == (3, 3)

        def picky(x):
            if x[0] != 7.0:
                raise ValueError("not seven")
            return x * 2

        x = np.full(2, 7.0)
        with pytest.raises(ArgumentError, match=r"not seven\); state them: linad.interop.jax"):
            jax.jit(linad.interop.jax(picky))(x)
        stated = linad.interop.jax(picky, result=jax.ShapeDtypeStruct((2,), float))
        np.testing.assert_array_equal(jax.jit(stated)(x), [14.0, 14.0])
        known = linad.interop.jax(picky)
        known(x)
        np.testing.assert_array_equal(jax.jit(known)(x), [14.0, 14.0])

    def test_shapes_that_depend_on_values(self):
        f = linad.interop.jax(lambda x: x[x > 0.7])
        x = np.ones(2)
        compiled = self.jax.jit(lambda x: f(x) * 2)
        with pytest.raises(self.jax.errors.JaxRuntimeError, match="ShapeError: .* on values"):
            compiled(x).block_until_ready()

    def test_value_and_gradient_run_the_function_once(self):
        runs = []

        def f(x):
            runs.append(1)
            return np.sum(x**2)

        found = self.jax.jit(self.jax.value_and_grad(linad.interop.jax(f)))
        for k in range(5):
            found(np.full(3, float(k)))[1].block_until_ready()
        assert len(runs) == 7  # once for shapes, twice at the first point


class TestPyTensor:
    pytensor = pytest.importorskip("pytensor")

    @property
    def pt(self):
        import pytensor.tensor as pt

        return pt

    @pytest.mark.parametrize("mode", [None, "FAST_COMPILE"])
    def test_derivatives(self, rng, mode):
        pytensor = self.pytensor
        x, v = self.pt.dvector("x"), self.pt.dvector("v")
        y = linad.interop.pytensor(cubic)(x)
        g = pytensor.grad(y, x)
        found = pytensor.function(
            [x, v],
            [y, g, pytensor.gradient.hessian(y, x), pytensor.gradient.Rop(y, x, v)],
            mode=mode,
        )
        X, V = rng.standard_normal((2, 4))
        value, slope, curvature, tangent = found(X, V)
        assert value == pytest.approx(cubic(X))
        np.testing.assert_allclose(slope, linad.grad(cubic)(X), rtol=1e-13)
        np.testing.assert_allclose(curvature, linad.hessian(cubic)(X), atol=1e-13)
        np.testing.assert_allclose(tangent, slope @ V, rtol=1e-13)

    def test_containers_and_several_results(self, rng):
        f = linad.interop.pytensor(mixed)
        x, s = rng.standard_normal((2, 4))
        A = rng.standard_normal((3, 4))
        for name in "ab":
            self.pytensor.gradient.verify_grad(
                lambda x, A, s, name=name: f(x, A, p={"s": s})[name], [x, A, s], rng=rng
            )
        found = f(self.pt.dvector(), self.pt.dmatrix(), p={"s": self.pt.dvector()})
        assert [found[name].type.dtype for name in "abk"] == ["float64", "float64", "int64"]

    def test_types_are_found(self):
        pt = self.pt
        f = linad.interop.pytensor(np.linalg.inv)
        assert f(pt.dmatrix()).type == pt.dmatrix
        assert f(pt.fmatrix()).type == pt.fmatrix
        assert f(pt.TensorType("float64", (4, 4))()).type.shape == (4, 4)
        data = np.arange(5.0)
        shared = self.pytensor.shared(data)
        assert linad.interop.pytensor(lambda a: a * data)(shared).type.ndim == 1
        with pytest.raises(ArgumentError, match=r"state them: .*result=pytensor\.tensor\.dscalar"):
            linad.interop.pytensor(lambda x: np.sum(x * data))(pt.dvector())
        stated = linad.interop.pytensor(lambda x: np.sum(x * data), result=pt.dscalar)
        x = pt.dvector()
        slope = self.pytensor.function([x], self.pytensor.grad(stated(x), x))
        np.testing.assert_array_equal(slope(np.ones(5)), data)

    def test_refusals(self):
        x = self.pt.dvector()
        with pytest.raises(DTypeError, match="complex"):
            linad.interop.pytensor(np.sin)(self.pt.zvector())
        wrong = linad.interop.pytensor(lambda x: x * 2, result=self.pt.dscalar)(x)
        with pytest.raises(ShapeError, match="was made for Scalar"):
            self.pytensor.function([x], wrong)(np.ones(2))

    def test_constants_cost_no_cotangents(self, rng):
        data = rng.standard_normal(3)
        x = self.pt.dvector()
        y = linad.interop.pytensor(lambda x, d: np.sum(x * d))(x, self.pt.constant(data))
        found = self.pytensor.function([x], self.pytensor.grad(y, x))
        np.testing.assert_array_equal(found(np.ones(3)), data)


class TestPyMC:
    pymc = pytest.importorskip("pymc")

    def test_a_numpy_likelihood_is_sampled(self, rng):
        """By NUTS: Bayesian regression, whose posterior is known in closed form."""
        pymc = self.pymc
        X = np.stack([np.ones(40), np.linspace(-1, 1, 40)], axis=1)
        y = X @ [0.5, 2.0] + 0.3 * rng.standard_normal(40)

        def log_likelihood(beta):
            return -0.5 * np.sum(((y - X @ beta) / 0.3) ** 2)

        with pymc.Model():
            beta = pymc.Normal("beta", 0.0, 10.0, shape=2)
            pymc.Potential("likelihood", linad.interop.pytensor(log_likelihood)(beta))
            drawn = pymc.sample(1000, tune=500, chains=2, cores=1, progressbar=False, random_seed=1)
        samples = drawn.posterior["beta"].values.reshape(-1, 2)
        covariance = np.linalg.inv(X.T @ X / 0.09 + np.eye(2) / 100)
        mean = covariance @ X.T @ y / 0.09
        deviations = np.sqrt(np.diag(covariance))
        np.testing.assert_allclose(samples.mean(0), mean, atol=0.15 * deviations.min())
        np.testing.assert_allclose(samples.std(0), deviations, rtol=0.1)
        assert drawn.sample_stats["diverging"].sum() == 0


class TestPoints:
    """Their arrays as points, through DLPack."""

    @pytest.fixture(params=["torch", "jax"])
    def made(self, request):
        if request.param == "torch":
            return pytest.importorskip("torch").tensor
        return pytest.importorskip("jax").numpy.asarray

    def test_points(self, made):
        x, y = np.array([0.3, -1.0], np.float32), np.array([2.0, 5.0], np.float32)

        def f(x, y):
            return np.sum(np.exp(x) * y)

        for gradient in (linad.grad(f), linad.jit(linad.grad(f)), linad.grad(linad.jit(f))):
            found = gradient(made(x), made(y))
            assert found.dtype == np.float32
            np.testing.assert_allclose(found, np.exp(x) * y, rtol=1e-6)

    def test_results_are_handed_on(self):
        torch, jnp = pytest.importorskip("torch"), pytest.importorskip("jax.numpy")
        y = linad.jit(np.exp)(np.ones(3))
        assert torch.from_dlpack(y).data_ptr() == y.ctypes.data
        np.testing.assert_allclose(jnp.from_dlpack(y), np.e, rtol=1e-6)

    def test_a_tensor_that_needs_a_gradient(self):
        torch = pytest.importorskip("torch")
        with pytest.raises(ArgumentError, match=r"use tensor\.detach.*linad\.interop makes"):
            linad.grad(np.sum)(torch.ones(3, requires_grad=True))


class TestArrayApiCompat:
    compat = pytest.importorskip("array_api_compat")

    def test_one_namespace_of_traced_and_plain_arrays(self):
        A = np.array([[1.0, 2.5, -0.5], [0.3, -1.2, 4.0]])
        B = np.ones((2, 3))

        def f(x, *others):
            xp = self.compat.array_namespace(x, *others)
            size = self.compat.size(x)
            x = xp.permute_dims(xp.concat([x, B], axis=0), (1, 0))
            return xp.sum(xp.std(x, axis=1, correction=1) ** 2) * size + xp.linalg.matrix_norm(x)

        linad.check_derivatives(f, A)
        alone, beside = linad.grad(f)(A), linad.grad(f)(A, B)
        np.testing.assert_allclose(alone, beside, rtol=1e-14)
        np.testing.assert_allclose(linad.jit(linad.grad(f))(A, B), alone, rtol=1e-12)

    def test_its_own_names_for_values(self):
        seen = []

        def f(x):
            seen.append((self.compat.is_array_api_obj(x), self.compat.device(x)))
            xp = self.compat.array_namespace(x)
            assert xp.isdtype(x.dtype, "real floating")
            return xp.sum(xp.sort(x, descending=True) * xp.asarray([3.0, 2.0, 1.0]))

        np.testing.assert_array_equal(linad.grad(f)(np.array([1.0, 3.0, 2.0])), [1.0, 3.0, 2.0])
        assert seen == [(True, "cpu")]
