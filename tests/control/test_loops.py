"""`linad.scan` and its kind against the unrolled loop, in every mode and order."""

import pickle

import numpy as np
import pytest
from together import together

import linad
from linad.errors import ArgumentError, DTypeError, GuardError, ShapeError, TreeError

pytestmark = pytest.mark.usefixtures("kernels")

RNG = np.random.default_rng(0)
XS = RNG.standard_normal((5, 2))
MATRIX = RNG.standard_normal((9, 9)) / 5


def unrolled(f, init, xs=None, length=None, reverse=False):
    """What `linad.scan` does, by Python."""
    n = length if xs is None else len(xs)
    order = range(n - 1, -1, -1) if reverse else range(n)
    carry, ys = init, [None] * n
    for k in order:
        carry, ys[k] = f(carry, None if xs is None else xs[k])
    return carry, None if not ys or ys[0] is None else np.stack(ys)


def pendulum(scan, x, **options):
    """A small body: numbers, slices, a constant that is traced."""

    def step(y, row):
        angle = y[0] + 0.1 * y[1] * x[2]
        return np.stack([angle, y[1] - 0.1 * np.sin(angle) * x[1] + row[0]]), y[0] * row[1]

    y, path = scan(step, np.stack([x[0], x[0] * x[1]]), XS, **options)
    return np.sum(y * y) + np.sum(np.cos(path))


def network(scan, x, **options):
    """A body that is a program of its own: a product, a broadcast."""

    def step(y, row):
        return np.tanh(MATRIX @ y * x[0] + np.concatenate([x, row, y[:4]])), y @ y

    y, sizes = scan(step, np.ones(9) * x[1], XS, **options)
    return np.sum(y[2:] ** 3) + np.sum(sizes * sizes)


@linad.primitive
def halved_cube(x):
    return x * x * x / 2


@halved_cube.jacobian(wrt=0)
def halved_cube_wrt_x(y, x):
    return 1.5 * np.diag(x * x)


def with_numpy(scan, x, **options):
    """A body of which NumPy runs a part."""

    def step(y, row):
        return halved_cube(np.cos(y)) + row[0] * x, None

    return np.sum(scan(step, x, XS, **options)[0] ** 2)


def columns(scan, x, **options):
    """A carry without axes, and one that is never read."""

    def step(carry, row):
        return (carry[0] * np.cos(carry[0] * row[0]) + x[1], carry[1] + 1.0), carry[0] + row

    (y, _), path = scan(step, (x[0], 0.0), XS, **options)
    return y * np.sum(path * path * x[2])


PROGRAMS = [pendulum, network, with_numpy, columns]
POINT = np.array([0.7, 1.2, 0.9])
TANGENT = np.array([0.3, -0.5, 0.2])

MODES = {
    "value": lambda f: f(POINT),
    "jvp": lambda f: linad.jvp(f, (POINT,), (TANGENT,))[1],
    "grad": lambda f: linad.grad(f)(POINT),
    "linearize": lambda f: linad.linearize(f, POINT)[1].T @ np.ones(1),
    "seeds": lambda f: linad.jacobian(lambda x: np.stack([f(x), f(2 * x)]))(POINT),
    "hvp": lambda f: linad.hvp(f, (POINT,), (TANGENT,)),
    "hessian": lambda f: linad.hessian(f)(POINT),
    "grad of grad": lambda f: linad.grad(lambda x: linad.grad(f)(x) @ TANGENT)(POINT),
    "jit": lambda f: twice(linad.jit(f)),
    "jit grad": lambda f: twice(linad.jit(linad.grad(f))),
    "grad jit": lambda f: linad.grad(linad.jit(f))(POINT),
    "jit hessian": lambda f: twice(linad.jit(linad.hessian(f))),
    "tape": lambda f: linad.trace(f, POINT)[1](POINT),
}


def twice(f):
    f(POINT)
    return f(POINT)


FEW = {"value", "jvp", "grad", "jit grad", "seeds"}
CASES = [
    pytest.param(
        mode, program, marks=[] if mode in FEW or program is pendulum else pytest.mark.full
    )
    for mode in MODES
    for program in PROGRAMS
]


@pytest.mark.parametrize("mode, program", CASES)
def test_modes(mode, program):
    run = MODES[mode]
    found = run(lambda x: program(linad.scan, x))
    wanted = run(lambda x: program(unrolled, x))
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("program", [pendulum, network])
@pytest.mark.parametrize("checkpoints", [1, 2, 3, 5])
@pytest.mark.parametrize("reverse", [False, True])
def test_checkpoints_and_order(program, checkpoints, reverse):
    found = linad.grad(lambda x: program(linad.scan, x, reverse=reverse, checkpoints=checkpoints))
    wanted = linad.grad(lambda x: program(unrolled, x, reverse=reverse))
    np.testing.assert_allclose(found(POINT), wanted(POINT), rtol=1e-11)


@pytest.mark.parametrize("dtype", [np.float32, np.complex128, np.complex64])
def test_dtypes(dtype):
    x = (POINT + (0.2j if np.dtype(dtype).kind == "c" else 0)).astype(dtype)

    def f(scan):
        def run(x):
            y, ys = scan(lambda y, r: (y * x + r[0] * np.sin(y), y[1]), x, XS.astype(x.real.dtype))
            return np.sum((y * y.conj()).real) + np.sum(np.abs(ys))

        return run

    value, gradient = linad.value_and_grad(f(linad.scan))(x)
    wanted, exact = linad.value_and_grad(f(unrolled))(x)
    assert value.dtype == wanted.dtype
    assert gradient.dtype == exact.dtype
    tolerance = 1e-11 if np.finfo(dtype).eps < 1e-10 else 1e-4
    np.testing.assert_allclose(value, wanted, rtol=tolerance)
    np.testing.assert_allclose(gradient, exact, rtol=tolerance, atol=tolerance)


def test_containers_and_integers():
    def f(x):
        def step(carry, row):
            k = carry["k"]
            y = carry["y"] * np.where(k % 2 == 0, x, 2.0)
            return {"k": k + 1, "y": y}, {"a": y, "b": (row["p"] * k, k)}

        rows = {"p": np.arange(4.0)}
        carry, ys = linad.scan(step, {"k": 0, "y": x}, rows)
        assert carry["k"] == 4
        assert ys["b"][1].dtype.kind == "i"
        return np.sum(carry["y"]) + np.sum(ys["a"]) + np.sum(ys["b"][0])

    x = np.array([0.5, 1.5])
    steps = [x, 2 * x, 2 * x * x, 4 * x * x]
    steps = [x * x, 2 * x * x, 2 * x**3, 4 * x**3]
    np.testing.assert_allclose(f(x), np.sum(steps[-1]) + np.sum(steps) + 14)
    exact = 2 * 4 * 3 * x**2 + 2 * x + 4 * x + 6 * x**2
    np.testing.assert_allclose(linad.grad(f)(x), exact)
    g = linad.jit(linad.grad(f))
    g(x)
    np.testing.assert_allclose(g(x), exact)


def test_number_takes_the_dtype_of_the_body():
    assert linad.scan(lambda c, x: (c + x, None), 0, np.ones(3))[0] == 3.0
    assert linad.scan(lambda c, x: (c + x, None), 0, np.ones(3))[0].dtype == float


def test_no_repetitions():
    carry, ys = linad.scan(lambda c, x: (c * 2, None), POINT, np.zeros((0, 2)))
    assert carry is POINT
    assert ys is None
    with pytest.raises(ShapeError, match="no results to stack"):
        linad.scan(lambda c, x: (c, c), POINT, length=0)


def test_fori_loop_and_map():
    def f(x):
        return np.sum(linad.fori_loop(1, 5, lambda i, y: y * x + i, x))

    def g(x):
        y = x
        for i in range(1, 5):
            y = y * x + i
        return np.sum(y)

    np.testing.assert_allclose(f(POINT), g(POINT))
    np.testing.assert_allclose(linad.grad(f)(POINT), linad.grad(g)(POINT))
    assert linad.fori_loop(3, 3, lambda i, y: y + 1, 5.0) == 5.0
    rows = linad.jacobian(lambda x: linad.map(lambda r: np.sum(r * x) ** 2, XS))
    exact = 2 * (XS @ POINT[:2])[:, None] * XS
    np.testing.assert_allclose(rows(POINT[:2]), exact)


def test_nested_loops_and_captured_values():
    def f(scan, x):
        def outer(y, row):
            z, _ = scan(lambda z, r: (z + np.sin(z * y) * x[1] * r, None), row[0], y * XS[:, 0])
            return y * 0.5 + z, z

        return np.sum(scan(outer, x[:1] + 0.0 * XS[0, 0], XS)[0])

    def exact(x):
        y = x[:1]
        for row in XS:
            z = row[0]
            for r in y * XS[:, 0]:
                z = z + np.sin(z * y) * x[1] * r
            y = y * 0.5 + z
        return np.sum(y)

    def g(x):
        def outer(y, row):
            step = lambda z, r: (z + np.sin(z * y[0]) * x[1] * r, None)  # noqa: E731
            z, _ = linad.scan(step, row[0], y * XS[:, 0])
            return y * 0.5 + z, z

        return np.sum(linad.scan(outer, x[:1], XS)[0])

    np.testing.assert_allclose(linad.grad(g)(POINT), linad.grad(exact)(POINT), rtol=1e-11)
    np.testing.assert_allclose(
        linad.hessian(g)(POINT), linad.hessian(exact)(POINT), rtol=1e-10, atol=1e-13
    )
    h = linad.jit(linad.grad(g))
    h(POINT)
    np.testing.assert_allclose(h(POINT), linad.grad(exact)(POINT), rtol=1e-11)


def test_derivatives_taken_in_the_body():
    def f(x):
        def step(y, _):
            return y - 0.1 * linad.grad(lambda v: np.sum(v**4) + v @ x)(y), None

        return np.sum(linad.scan(step, x, length=4)[0])

    def g(x):
        y = x
        for _ in range(4):
            y = y - 0.1 * (4 * y**3 + x)
        return np.sum(y)

    np.testing.assert_allclose(linad.grad(f)(POINT), linad.grad(g)(POINT))


def test_writes_in_the_body():
    def f(x):
        def step(y, row):
            y = y.copy()
            y[1] = y[0] * row[0] + x[1]
            y[0] += 1.0
            return y, None

        return np.sum(linad.scan(step, x, XS)[0])

    def g(x):
        a, b = x[0], x[1]
        for row in XS:
            a, b = a + 1.0, a * row[0] + x[1]
        return a + b + x[2]

    np.testing.assert_allclose(f(POINT), g(POINT))
    np.testing.assert_allclose(linad.grad(f)(POINT), linad.grad(g)(POINT))


def test_decision_that_changes():
    def step(y, x):
        return (y + 1 if x > 0 else y - 1), None

    assert linad.scan(step, 0.0, np.ones(3))[0] == 3
    with pytest.raises(GuardError, match="linad.cond or np.where"):
        linad.scan(step, 0.0, np.array([1.0, 1.0, -1.0]))


@pytest.mark.parametrize(
    "error, words, call",
    [
        (
            ShapeError,
            r"\['v'\] went in as float64\[2\] and came out of .* as float64\[3\]",
            lambda: linad.scan(lambda c, _: ({"v": np.ones(3)}, None), {"v": np.ones(2)}, length=2),
        ),
        (
            DTypeError,
            "begin with dtype complex128",
            lambda: linad.scan(lambda c, _: (c * 1j, None), np.ones(2), length=2),
        ),
        (
            TreeError,
            "return the carry as it came",
            lambda: linad.scan(lambda c, _: ((c, c), None), np.ones(2), length=2),
        ),
        (TreeError, r"return \(carry, None\)", lambda: linad.scan(lambda c, _: c, 1.0, length=2)),
        (ArgumentError, "give xs, or length=n", lambda: linad.scan(lambda c, _: (c, c), 1.0)),
        (
            ShapeError,
            "must agree",
            lambda: linad.scan(lambda c, x: (c, c), 1.0, np.ones(3), length=2),
        ),
        (
            ArgumentError,
            "length must be an integer >= 0",
            lambda: linad.scan(lambda c, x: (c, c), 1.0, length=2.5),
        ),
        (ShapeError, "first axis of rows", lambda: linad.scan(lambda c, x: (c, c), 1.0, 3.0)),
        (ArgumentError, "while_loop", lambda: linad.fori_loop(0, 2.5, lambda i, c: c, 1.0)),
        (ArgumentError, "must be a function", lambda: linad.scan(3, 1.0, length=2)),
        (
            ShapeError,
            "^map: the leaves of xs must agree",
            lambda: linad.map(sum, (np.ones(3), np.ones(4))),
        ),
        (
            ShapeError,
            "^fori_loop: carry went in",
            lambda: linad.fori_loop(0, 2, lambda i, c: np.ones(3) * c, 1.0),
        ),
    ],
)
def test_errors(error, words, call):
    with pytest.raises(error, match=words):
        call()


def test_two_threads():
    f = linad.jit(linad.grad(lambda x: network(linad.scan, x)))
    wanted = linad.grad(lambda x: network(unrolled, x))
    f(POINT)

    def work(k):
        x = POINT + 0.01 * k
        for _ in range(20):
            np.testing.assert_allclose(f(x), exact[k], rtol=1e-10)

    exact = [wanted(POINT + 0.01 * k) for k in range(2)]
    together(2, work)


def test_pickled_tape():
    tape = pickle.loads(pickle.dumps(linad.trace(lambda x: pendulum(linad.scan, x), POINT)[1]))
    np.testing.assert_allclose(tape(POINT), pendulum(unrolled, POINT))


@pytest.mark.compiles
def test_no_fallbacks_and_njit():
    for program in (pendulum, network):
        f = linad.grad(lambda x, program=program: program(linad.scan, x))
        assert not linad.explain(f)(POINT).fallbacks
    result = np.empty(3)
    linad.jit(f).njit(POINT)(POINT, result)
    np.testing.assert_allclose(result, f(POINT))


@pytest.mark.full
@pytest.mark.parametrize("seed", range(40))
def test_random_bodies(seed):
    """Random bodies, numbers of repetitions and of checkpoints, against the unrolled loop."""
    rng = np.random.default_rng(seed)
    size, n = int(rng.integers(1, 5)), int(rng.integers(1, 12))
    rows = rng.standard_normal((n, size))
    matrix = rng.standard_normal((size, size)) / 3
    chosen = rng.integers(0, 6, 4)
    options = {"reverse": bool(rng.integers(2))}
    k = int(rng.integers(0, n + 1))

    def program(scan, x, **options):
        def step(carry, row):
            a, b = carry
            for kind in chosen:
                if kind == 0:
                    a = np.tanh(a + b * x)
                elif kind == 1:
                    b = np.sin(matrix @ b) + row
                elif kind == 2:
                    a, b = b, a * 0.5
                elif kind == 3:
                    a = np.where(a > 0, a, 0.1 * b)
                elif kind == 4:
                    b = np.cumsum(b)[::-1] * 0.3
                else:
                    a = a + np.sum(b) * 0.1
            return (a, b), (a * b, np.sum(a))

        (a, b), ys = scan(step, (x, x * 0.5), rows, **options)
        if scan is unrolled_pairs:
            return np.sum(a * b) + ys
        return np.sum(a * b) + np.sum(np.sin(ys[0])) + np.sum(ys[1] ** 2)

    def unrolled_pairs(f, init, xs, reverse=False):
        total = 0.0
        for row in xs[::-1] if reverse else xs:
            init, (p, q) = f(init, row)
            total = total + np.sum(np.sin(p)) + q**2
        return init, total

    x = rng.standard_normal(size)
    more = dict(options, checkpoints=k) if k else options
    for run in (linad.grad, linad.hessian, lambda f: linad.jit(linad.grad(f))):
        found = run(lambda x: program(linad.scan, x, **more))
        wanted = run(lambda x: program(unrolled_pairs, x, **options))
        np.testing.assert_allclose(found(x), wanted(x), rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(found(x), wanted(x), rtol=1e-8, atol=1e-9)


def test_exported_source_has_a_loop():
    lowered = linad.lower(lambda x: pendulum(linad.scan, x))(POINT)
    assert "for k_" in lowered.source
    scope = {}
    exec(lowered.source, scope)
    value, gradient = scope["vjp"](POINT, 1.0)
    np.testing.assert_allclose(value, pendulum(unrolled, POINT))
    wanted = linad.grad(lambda x: pendulum(unrolled, x))(POINT)
    np.testing.assert_allclose(gradient, wanted, rtol=1e-12)
