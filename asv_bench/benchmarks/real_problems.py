"""The programs in examples/ at full size, against SciPy, NumPy by hand, JAX and CasADi.

Ratios divide the smallest processor times of calls that were made in turn, so that a busy machine
does little to them. Those against JAX and CasADi are left out where these are not installed.
"""

import importlib.util
import time
from functools import cache
from pathlib import Path

import numpy as np
import scipy.optimize
import scipy.sparse
from scipy.sparse.linalg import splu

import linad

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@cache
def example(name):
    """A script of examples/ as a module."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def smallest_ratio(numerator, denominator, rounds=7):
    """Smallest processor time of one function over that of another; the calls take turns."""
    best = [np.inf, np.inf]
    for _ in range(rounds):
        for k, function in enumerate((numerator, denominator)):
            start = time.process_time()
            function()
            best[k] = min(best[k], time.process_time() - start)
    return best[0] / best[1]


def needed(name):
    """A module that may be missing: asv leaves out what raises NotImplementedError."""
    if importlib.util.find_spec(name) is None:
        raise NotImplementedError
    return importlib.import_module(name)


def jax_on_one_thread():
    """JAX in double precision."""
    jax = needed("jax")
    jax.config.update("jax_enable_x64", True)
    return jax


class _Ratios:
    """Calls, by name, that are compared with linad's. asv passes over such names."""

    param_names = ["over"]
    timeout = 600
    rounds = 15

    def setup(self, over):
        self.prepare()
        self.other = getattr(self, f"by_{over}")()
        self.check(self.linad(), self.other())

    def track_time_over_that_of_linad(self, over):
        return smallest_ratio(self.other, self.linad, self.rounds)

    track_time_over_that_of_linad.unit = "ratio"

    def check(self, found, expected):
        """Raise AssertionError where the two do not agree."""


class BratuNewton(_Ratios):
    """Newton's method on 128 x 128 unknowns to 1e-12."""

    params = ["scipy_differences", "jax", "casadi"]
    lam = 6.0

    def prepare(self):
        self.start = np.zeros((128, 128))
        self.f = example("bratu_fold").bratu

    def linad(self):
        return linad.solve.newton(self.f, self.start, (self.lam,), ftol=1e-12).x

    def check(self, found, expected):
        for u in (found, expected):
            assert np.abs(self.f(u, self.lam)).max() <= 1e-12

    def by_scipy_differences(self):
        def residual(u):
            return self.f(u, self.lam)

        return lambda: scipy.optimize.newton_krylov(residual, self.start, f_tol=1e-12)

    def by_jax(self):
        """Colours by hand, `jax.jvp` of all of them at once, SuperLU in each step."""
        matrix = BratuJacobian()
        matrix.prepare()
        jacobian = matrix.by_jax()

        def solve():
            u = self.start
            while np.abs(r := self.f(u, self.lam)).max() > 1e-12:
                factors = splu(
                    jacobian(u).tocsc(),
                    permc_spec="MMD_AT_PLUS_A",
                    diag_pivot_thresh=0.1,
                    options={"SymmetricMode": True},
                )
                u = u - factors.solve(r.ravel()).reshape(u.shape)
            return u

        return solve

    def by_casadi(self):
        """Its own root finder, with its own sparse Jacobian and linear solver."""
        casadi = needed("casadi")
        x, residual = casadi_bratu(128, self.lam)
        options = {"abstol": 1e-12, "linear_solver": "csparse"}
        find = casadi.rootfinder("find", "newton", {"x": x, "g": residual}, options)
        flat = self.start.ravel()
        return lambda: np.asarray(find(x0=flat)["x"]).reshape(128, 128)


class BratuNewtonKrylov(_Ratios):
    """Newton's method on 128 x 128 unknowns with GMRES, the whole of it one compiled program.

    The same forcing terms, restarts and line search in a loop by hand, and in loops of `jax.lax`.
    """

    params = ["hand", "jax"]
    rounds = 5
    lam, restart, most, ftol = 6.0, 50, 1000, 1e-10

    def prepare(self):
        from linad.solve import newton_krylov, root

        f, start = example("bratu_fold").bratu, np.zeros((128, 128))
        self.f = f
        options = {"ftol": self.ftol, "restart": self.restart, "inner_maxiter": self.most}

        def solution(lam):
            return root(
                lambda u: f(u, lam),
                start,
                solver=newton_krylov,
                preconditioner=None,
                **options,
            )

        self.solution = linad.jit(solution)
        self.solution(self.lam)
        self.solution(self.lam)
        assert not linad.explain(solution)(self.lam).fallbacks
        found = newton_krylov(f, start, (self.lam,), preconditioner=None, **options)
        self.products = found.njvp

    def linad(self):
        return self.solution(self.lam)

    def check(self, found, expected):
        for u in (found, expected):
            assert np.abs(self.f(u, self.lam)).max() <= self.ftol

    def by_hand(self):
        from .workloads.newton_krylov import bratu_root

        _, products = bratu_root(128, self.lam, self.ftol, self.restart, self.most)
        assert abs(products - self.products) <= 0.1 * self.products, (products, self.products)
        return lambda: bratu_root(128, self.lam, self.ftol, self.restart, self.most)[0]

    def by_jax(self):
        jax_on_one_thread()
        from .workloads.newton_krylov_jax import bratu_root

        solution = bratu_root(128, self.ftol, self.restart, self.most)
        _, products = solution(self.lam)
        assert abs(int(products) - self.products) <= 0.1 * self.products, (products, self.products)
        return lambda: np.asarray(solution(self.lam)[0])


def casadi_bratu(n, lam):
    """The unknowns, column by column, and the residuals of the Bratu equation."""
    casadi = needed("casadi")
    x = casadi.SX.sym("x", n * n)
    u = casadi.reshape(x, n, n)
    v = casadi.SX.zeros(n + 2, n + 2)
    v[1:-1, 1:-1] = u
    neighbours = v[:-2, 1:-1] + v[2:, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:]
    return x, casadi.vec(neighbours - 4 * u + lam / (n + 1) ** 2 * casadi.exp(u))


class BratuJacobian(_Ratios):
    """The sparse Jacobian at a new point; the first three are assembled by hand in NumPy."""

    params = ["triplets", "diagonals", "sum", "jax", "casadi"]
    n, lam = 128, 6.0
    rounds = 300

    def prepare(self):
        self.f = example("bratu_fold").bratu
        self.compiled = linad.jit(self.f)
        self.u = np.random.default_rng(0).standard_normal((self.n, self.n))

    def linad(self):
        return linad.sparse_jacobian(self.compiled, self.u, self.lam)

    def check(self, found, expected):
        assert abs(found - expected).max() < 1e-12

    def _middle(self, u):
        return -4.0 + self.lam / (self.n + 1) ** 2 * np.exp(u.ravel())

    def by_triplets(self):
        n = self.n
        k = np.arange(n * n)

        def assemble():
            i, j = k // n, k % n
            rows, columns, values = [k], [k], [self._middle(self.u)]
            for inside, step in ((i > 0, -n), (i < n - 1, n), (j > 0, -1), (j < n - 1, 1)):
                rows.append(k[inside])
                columns.append(k[inside] + step)
                values.append(np.ones(inside.sum()))
            entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
            return scipy.sparse.csr_array(entries, shape=(n * n, n * n))

        return assemble

    def by_diagonals(self):
        n = self.n

        def assemble():
            far, near = np.ones(n * n - n), np.ones(n * n - 1)
            near[n - 1 :: n] = 0
            diagonals = [self._middle(self.u), near, near, far, far]
            return scipy.sparse.diags_array(diagonals, offsets=[0, 1, -1, n, -n]).tocsr()

        return assemble

    def by_sum(self):
        """A Laplacian made beforehand, and a diagonal."""
        n = self.n
        line = scipy.sparse.diags_array([1.0, -2.0, 1.0], offsets=[-1, 0, 1], shape=(n, n))
        laplacian = scipy.sparse.csr_array(scipy.sparse.kronsum(line, line))

        def assemble():
            return (laplacian + scipy.sparse.diags_array(self._middle(self.u) + 4.0)).tocsr()

        return assemble

    def by_jax(self):
        """Five colours and the pattern, by hand; the products are jitted."""
        jax = jax_on_one_thread()
        n = self.n
        i, j = np.indices((n, n))
        colour = ((i + 2 * j) % 5).ravel()
        seeds = (colour == np.arange(5)[:, None]).astype(float).reshape(5, n, n)
        pattern = self.linad()
        rows = np.repeat(np.arange(n * n), np.diff(pattern.indptr))
        places = colour[pattern.indices] * n * n + rows

        def residual(u):
            v = jax.numpy.pad(u, 1)
            neighbours = v[:-2, 1:-1] + v[2:, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:]
            return neighbours - 4 * u + self.lam / (n + 1) ** 2 * jax.numpy.exp(u)

        @jax.jit
        def products(u):
            return jax.vmap(lambda s: jax.jvp(residual, (u,), (s,))[1])(seeds)

        def jacobian(u=self.u):
            data = np.asarray(products(u)).ravel()[places]
            return scipy.sparse.csr_array((data, pattern.indices, pattern.indptr), pattern.shape)

        return jacobian

    def by_casadi(self):
        """Its virtual machine, called through buffers."""
        casadi = needed("casadi")
        n = self.n
        x, residual = casadi_bratu(n, self.lam)
        function = casadi.Function("J", [x], [casadi.jacobian(residual, x)])
        return casadi_matrix(function, lambda: self.u)  # rows and columns change places


def casadi_matrix(function, point):
    """A call of a CasADi function with one argument and one sparse result, without its slow
    conversions."""
    sparsity = function.sparsity_out(0)
    indptr, indices = np.array(sparsity.colind()), np.array(sparsity.row())
    given, entries = np.zeros(function.nnz_in(0)), np.zeros(sparsity.nnz())
    buffer, run = function.buffer()
    buffer.set_arg(0, memoryview(given))
    buffer.set_res(0, memoryview(entries))

    def call():
        given[:] = point().ravel()
        run()
        return scipy.sparse.csc_array((entries.copy(), indices, indptr), sparsity.shape)

    call.buffer = buffer  # it must live as long as the call
    return call


class BundleAdjustment(_Ratios):
    """50 cameras and 5000 points by Levenberg and Marquardt's method, to the default tolerances."""

    params = ["scipy_differences"]
    size = 50, 5000
    rounds = 1

    def prepare(self):
        self.example = example("bundle_adjustment")
        self.scene = self.example.draw_scene(*self.size)
        self.first = self.example.dead_reckoning(self.scene)

    def linad(self):
        found = self.example.adjust(self.scene, self.first)
        assert found.success
        return found.cost

    def check(self, found, expected):
        assert found <= expected * (1 + 1e-6)

    def by_scipy_differences(self):
        split = self.first[0].size
        start = np.concatenate([x.ravel() for x in self.first])
        pattern = linad.sparse_jacobian(self.scene.residual, self.first)

        def residual(x):
            parts = x[:split].reshape(-1, 6), x[split:].reshape(-1, 3)
            return self.scene.residual(parts).ravel()

        return lambda: (
            scipy.optimize.least_squares(residual, start, jac_sparsity=pattern, x_scale="jac").cost
        )


class BundleJacobian(BundleAdjustment):
    """The sparse Jacobian of it at a new point."""

    params = ["jax", "casadi", "residual"]
    rounds = 10

    def linad(self):
        return linad.sparse_jacobian(self.scene.residual, self.first)

    def check(self, found, expected):
        assert isinstance(expected, np.ndarray) or abs(found - expected).max() < 1e-8

    def by_residual(self):
        """Not the Jacobian: one run of the residual in NumPy."""
        return lambda: self.scene.residual(self.first)

    def _columns(self):
        """Rows and columns of the blocks (observations, 2, 9), cameras first."""
        scene = self.scene
        camera = 6 * scene.camera[:, None] + np.arange(6)
        point = self.first[0].size + 3 * scene.point[:, None] + np.arange(3)
        columns = np.repeat(np.concatenate([camera, point], axis=1)[:, None], 2, axis=1)
        return columns.ravel(), 9 * np.arange(2 * len(scene.camera) + 1)

    def _matrix(self, blocks):
        columns, indptr = self._columns_once
        unknowns = sum(x.size for x in self.first)
        return scipy.sparse.csr_array(
            (blocks.ravel(), columns, indptr), (len(indptr) - 1, unknowns)
        )

    def by_jax(self):
        """`jax.jacfwd` of one projection under `jax.vmap`; blocks put in place by hand."""
        jax = jax_on_one_thread()
        xp, focal = jax.numpy, self.example.FOCAL
        self._columns_once = self._columns()

        def project(both):
            w, t, X = both[:3], both[3:6], both[6:]
            angle = xp.sqrt(xp.sum(w**2) + 1e-30)
            axis = w / angle
            along = xp.sum(axis * X) * (1 - xp.cos(angle))
            turned = xp.cos(angle) * X + xp.sin(angle) * xp.cross(axis, X) + along * axis + t
            return focal * turned[:2] / turned[2]

        blocks = jax.jit(jax.vmap(jax.jacfwd(project)))
        scene = self.scene

        def jacobian():
            cameras, points = self.first
            both = np.concatenate([cameras[scene.camera], points[scene.point]], axis=1)
            return self._matrix(np.asarray(blocks(both)))

        return jacobian

    def by_casadi(self):
        """The Jacobian of one projection, mapped over all; blocks put in place by hand."""
        casadi = needed("casadi")
        self._columns_once = self._columns()
        both = casadi.SX.sym("both", 9)
        w, t, X = both[:3], both[3:6], both[6:]
        angle = casadi.sqrt(casadi.sumsqr(w) + 1e-30)
        axis = w / angle
        turned = casadi.cos(angle) * X + casadi.sin(angle) * casadi.cross(axis, X)
        turned = turned + casadi.dot(axis, X) * (1 - casadi.cos(angle)) * axis + t
        pixels = self.example.FOCAL * turned[:2] / turned[2]
        dense = casadi.densify(casadi.jacobian(pixels, both))
        one = casadi.Function("one", [both], [dense.T])
        scene = self.scene
        count = len(scene.camera)
        mapped = one.map(count)
        given, entries = np.zeros((count, 9)), np.zeros((count, 2, 9))
        buffer, run = mapped.buffer()
        buffer.set_arg(0, memoryview(given))
        buffer.set_res(0, memoryview(entries))

        def jacobian():
            cameras, points = self.first
            given[:, :6], given[:, 6:] = cameras[scene.camera], points[scene.point]
            run()
            return self._matrix(entries)

        jacobian.buffer = buffer
        return jacobian


class DigitsProduct(_Ratios):
    """A Hessian-vector product of the logistic regression at a new point, compiled by linad.jit."""

    params = ["numpy", "jax", "casadi"]
    rounds = 1000

    def prepare(self):
        self.example = example("logistic_regression")
        self.X, labels = self.example.load_digits()
        self.chosen = np.eye(10)[labels]
        rng = np.random.default_rng(0)
        self.w, self.v = (
            (0.1 * rng.standard_normal((64, 10)), 0.1 * rng.standard_normal(10)) for _ in "wv"
        )
        self.product = linad.jit(lambda w, v: linad.hvp(self.loss, (w,), (v,)))

    def loss(self, w):
        return self.example.loss(w, self.X, self.chosen)

    def linad(self):
        return self.product(self.w, self.v)

    def check(self, found, expected):
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-8)

    def by_numpy(self):
        """The formula: dz -> p (dz - sum_k p dz), between X and its transpose."""
        strength, X = self.example.STRENGTH, self.X
        self.probabilities = None

        def at_new_point():
            W, b = self.w
            z = X @ W + b
            z -= z.max(axis=1, keepdims=True)
            p = np.exp(z, out=z)
            p /= p.sum(axis=1, keepdims=True)
            self.probabilities = p
            return at_kept_point()

        def at_kept_point():
            V, c = self.v
            q = X @ V + c
            q *= self.probabilities
            q -= self.probabilities * q.sum(axis=1, keepdims=True)
            return X.T @ q + strength * V, q.sum(axis=0)

        self.at_kept_point = at_kept_point
        return at_new_point

    def by_jax(self):
        jax = jax_on_one_thread()
        xp, strength = jax.numpy, self.example.STRENGTH
        X, chosen = xp.asarray(self.X), xp.asarray(self.chosen)

        def loss(w):
            W, b = w
            z = X @ W + b
            misfit = xp.sum(jax.scipy.special.logsumexp(z, axis=1)) - xp.sum(chosen * z)
            return misfit + 0.5 * strength * xp.sum(W**2)

        product = jax.jit(lambda w, v: jax.jvp(jax.grad(loss), (w,), (v,))[1])
        return lambda: [np.asarray(x) for x in product(self.w, self.v)]

    def by_casadi(self):
        casadi = needed("casadi")
        W, b, V, c = (casadi.MX.sym(s, *shape) for s, shape in
                      zip("WbVc", [(64, 10), (1, 10)] * 2, strict=True))  # fmt: skip
        X, chosen = casadi.DM(self.X), casadi.DM(self.chosen)
        z = casadi.mtimes(X, W) + casadi.repmat(b, len(self.X), 1)
        largest = z[:, 0]
        for k in range(1, 10):
            largest = casadi.fmax(largest, z[:, k])
        z = z - casadi.repmat(largest, 1, 10)
        misfit = casadi.sum1(casadi.log(casadi.sum2(casadi.exp(z)))) - casadi.dot(chosen, z)
        loss = misfit + 0.5 * self.example.STRENGTH * casadi.sumsqr(W)
        gradients = [casadi.gradient(loss, s) for s in (W, b)]
        pairs = [sum(casadi.jtimes(g, s, d) for s, d in ((W, V), (b, c))) for g in gradients]
        function = casadi.Function("product", [W, b, V, c], pairs)

        def call():
            found = function(self.w[0], self.w[1][None], self.v[0], self.v[1][None])
            return found[0].full(), found[1].full()[0]

        return call


class DigitsProductAtKeptPoint(DigitsProduct):
    """As in conjugate gradients: the gradient has been taken, and products follow."""

    params = ["numpy"]

    def prepare(self):
        super().prepare()
        gradient = linad.jit(linad.grad(self.loss))
        gradient(self.w)
        _, self.H = linad.linearize(gradient, self.w)
        self.flat = np.concatenate([x.ravel() for x in self.v])

    def linad(self):
        return np.split(self.H @ self.flat, [640])

    def by_numpy(self):
        super().by_numpy()()
        return self.at_kept_point

    def check(self, found, expected):
        super().check([found[0].reshape(64, 10), found[1]], expected)


class Scripts:
    """Times of the other examples."""

    timeout = 300

    def setup(self):
        self.cavity, self.pelts = example("driven_cavity"), example("pelts")
        self.robertson, self.digits = example("robertson"), example("logistic_regression")
        self.pictures = self.digits.load_digits()
        self.found = self.pelts.fit()

    def time_cavity(self):
        assert self.cavity.solve(127).success

    def time_pelts(self):
        self.pelts.fit()

    def time_sensitivities_of_pelts(self):
        self.pelts.sensitivities(self.found)

    def time_robertson(self):
        assert self.robertson.integrate().success

    def time_robertson_with_differences(self):
        assert self.robertson.integrate(jac=None).success

    def time_logistic_regression(self):
        assert self.digits.fit(*self.pictures).success
