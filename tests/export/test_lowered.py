"""linad.lower: programs as NumPy modules, run in a process that cannot import linad."""

import contextlib
import pickle
import subprocess
import sys

import numpy as np
import pytest
import scipy.special
from exported_programs import PROGRAMS as EXPORTED
from hypothesis import given, settings, strategies as st
from programs import bundle, heat, nbody

import linad
import linad.scipy.linalg
from linad.errors import ExportError

rng = np.random.default_rng(0)


def factors(a, b):
    lower = np.linalg.cholesky(a @ a.T + 3 * np.eye(3))
    values, vectors = np.linalg.eigh(a + a.T)
    q, r = np.linalg.qr(a)
    x = linad.scipy.linalg.solve_triangular(lower, b, lower=True)
    return np.sum(x**2), np.sum(np.sin(values)), q @ r @ np.abs(vectors) ** 2, np.linalg.det(a)


def signals(x):
    y = np.fft.rfft(x, 10)
    z = np.convolve(np.abs(y) ** 2, x[:3])
    return np.cumsum(z) + np.interp(0.5, [0.0, 1.0], [0.0, 2.0]), np.cumprod(x), np.pad(x, 2)


def specials(x):
    return scipy.special.gammaln(x) + scipy.special.erf(x) * scipy.special.expit(x)


def complexes(z):
    w = np.exp(1j * z) * (2 - 1j)
    return np.abs(w) ** 2, w.imag


def branches(x):
    return np.sum(x**2) if x[0] > 0 else np.prod(x)


PROGRAMS = {
    **EXPORTED,
    "bundle": (lambda c, p: bundle.project(p, c), EXPORTED["bundle"][1]),
    "heat": (lambda u, c: heat.diffuse(u, c, 6), EXPORTED["heat"][1]),
    "plate": (lambda u: heat.diffuse_plate(u, 4), (rng.standard_normal((6, 5)),)),
    "nbody": (lambda x, v, m: nbody.simulate(x, v, m, 0.01, 5), EXPORTED["nbody"][1]),
    "factors": (factors, (rng.standard_normal((3, 3)), rng.standard_normal(3))),
    "signals": (signals, (rng.standard_normal(8),)),
    "specials": (specials, (1 + rng.random(5),)),
    "complexes": (complexes, (rng.standard_normal(4) + 0.5j,)),
    "branches": (branches, (1 + rng.random(3),)),
    "large constant": (
        lambda x: x @ np.random.default_rng(1).standard_normal((9, 9)),
        (rng.standard_normal(9),),
    ),
}

RUNNER = """
import importlib.util, pickle, sys
sys.modules["linad"] = None
with open(sys.argv[1], "rb") as f:
    jobs = pickle.load(f)
found = {}
for name, (path, arrays, cotangent) in jobs.items():
    spec = importlib.util.spec_from_file_location(name.replace(" ", "_"), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    y, residuals = module.forward(*arrays)
    once = module.reverse(residuals, cotangent)
    twice = module.reverse(residuals, cotangent)
    found[name] = y, once, twice, module.vjp(*arrays, cotangent)
with open(sys.argv[2], "wb") as f:
    pickle.dump(found, f)
"""


def leaves(value):
    return [np.asarray(v) for v in linad.core.tree.flatten(value)[0]]


def cotangent_of(y):
    """A cotangent for each result, in one list; alone where there is one result."""
    found = [
        (
            np.cos(np.arange(v.size)).reshape(v.shape)
            * v.dtype.type(1 + 0.5 * (v.dtype.kind == "c"))
        ).astype(v.dtype)[()]
        for v in leaves(y)
    ]
    return found[0] if len(found) == 1 else found


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """What the modules compute in a process of their own, by name of the program."""
    folder = tmp_path_factory.mktemp("lowered")
    jobs = {}
    for name, (f, args) in PROGRAMS.items():
        path = folder / f"{name.replace(' ', '_')}.py"
        linad.lower(f)(*args).save(path)
        jobs[name] = str(path), linad.core.tree.flatten(args)[0], cotangent_of(f(*args))
    given, result = folder / "jobs.pickle", folder / "found.pickle"
    given.write_bytes(pickle.dumps(jobs))
    subprocess.run([sys.executable, "-c", RUNNER, given, result], check=True, cwd=folder)
    return pickle.loads(result.read_bytes())


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_module_gives_the_same_numbers(name, elsewhere):
    f, args = PROGRAMS[name]
    y, pull = linad.vjp(f, *args)
    weights = cotangent_of(y)
    seeds = weights if isinstance(weights, list) else [weights]
    expected = leaves(pull(linad.core.tree.unflatten(linad.core.tree.flatten(y)[1], seeds)))
    found, once, twice, (again, cotangents) = elsewhere[name]
    rtol = 1e-5 if name == "single" else 1e-11
    for values in (found, again):
        for a, b in zip(leaves(values), leaves(y), strict=True):
            assert a.shape == b.shape
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-13)
    for values in (once, twice, cotangents):
        for a, b in zip(leaves(values), expected, strict=True):
            assert a.shape == b.shape
            np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-12)


def test_the_text_is_for_people():
    def model(weights, x):
        hidden = np.tanh(x @ weights["first"])
        return np.sum(hidden @ weights["second"])

    weights = {"first": np.ones((2, 3)), "second": np.ones(3)}
    lowered = linad.lower(model)(weights, np.ones(2))
    text = str(lowered)
    assert "def forward(weights_first, weights_second, x):" in text
    assert "# test_lowered.py" in text
    assert 'hidden = np.tanh(x @ weights["first"])' in text
    assert "import linad" not in text
    assert all(len(line.split(" = ")) <= 2 for line in text.splitlines() if "#" not in line)
    assert "operations forward" in repr(lowered)


def test_the_module_refuses_another_path():
    module = linad.lower(branches)(np.ones(3)).load()
    with pytest.raises(ValueError, match=r"another path.*x\[0\] > 0"):
        module["forward"](-np.ones(3))


def test_operations_without_a_form_are_named():
    @linad.primitive
    def mine(x):
        return 2 * x

    @mine.jacobian(wrt=0)
    def mine_wrt_x(y, x):
        return lambda v: 2 * v, lambda w: 2 * w

    with pytest.raises(ExportError, match=r"mine at test_lowered.py:\d+: .* cannot be written"):
        linad.lower(lambda x: mine(x))(np.ones(3))


NAMES = ["sin", "exp", "tanh", "multiply", "add", "subtract", "maximum"]


@settings(deadline=None, max_examples=25)
@given(
    st.lists(st.tuples(st.sampled_from(NAMES), st.integers(0, 9), st.integers(0, 9)), max_size=9)
)
def test_random_programs(steps):
    def f(x, y):
        values = [x, y]
        for name, i, j in steps:
            function = getattr(np, name)
            a, b = values[i % len(values)], values[j % len(values)]
            values.append(function(0.3 * a) if function.nin == 1 else function(a, 0.3 * b))
        return values[-1]

    x, y = np.array([0.1, -0.4, 0.9]), np.array([[0.3], [-0.2]])
    z, pull = linad.vjp(f, x, y)
    module = linad.lower(f)(x, y).load()
    w = cotangent_of(z)
    found, cotangents = module["vjp"](x, y, w)
    np.testing.assert_allclose(found, z, rtol=1e-12)
    for a, b in zip(leaves(cotangents), leaves(pull(w)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-14)


# Values as text.


def definite(x):
    try:
        np.linalg.cholesky(x.reshape(2, 2))  # whose result nobody reads
    except np.linalg.LinAlgError:
        return np.sum(x) * 7.0
    return np.sum(x) * 2.0


def inverse(x):
    try:
        return np.sum(np.linalg.inv(x.reshape(2, 2)))
    except np.linalg.LinAlgError:
        return np.sum(x) * 5.0


def suppressed(x):
    c = 1.0
    with contextlib.suppress(np.linalg.LinAlgError):
        np.linalg.cholesky(x.reshape(2, 2))
        c = 2.0
    return c * np.sum(x)


@pytest.mark.parametrize("f", [definite, inverse, suppressed])
def test_what_a_try_has_decided_is_checked(f):
    """The module holds where the same is raised, and nowhere else."""
    good, singular = np.array([2.0, 0.5, 0.5, 1.0]), np.array([1.0, 2.0, 2.0, 4.0])
    for here, there in ((good, singular), (singular, good)):
        module = linad.lower(f)(here).load()
        value, residuals = module["forward"](here)
        assert value == pytest.approx(f(here))
        np.testing.assert_allclose(module["reverse"](residuals, 1.0), linad.grad(f)(here))
        with pytest.raises(ValueError, match="another path|Singular"):
            module["forward"](there)


def test_floating_point_errors_are_refused():
    def f(x):
        with np.errstate(all="raise"):
            try:
                np.log(x)
            except FloatingPointError:
                return 3.0 * np.sum(x)
        return np.sum(x)

    with pytest.raises(ExportError, match=r"f raises or catches floating-point .* use np\.where"):
        linad.lower(f)(np.ones(2))
