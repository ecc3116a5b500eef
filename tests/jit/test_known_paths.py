"""Paths that are kept, by the kind of arguments."""

import numpy as np
import pytest

import linad
from linad.jit import known_paths
from linad.jit.specializations import Variant


def double(x):
    return x * 2 if x.ndim else -x


def test_each_kind_has_paths_of_its_own():
    jitted = linad.jit(double)
    for x in (np.ones(2), np.ones(3), np.ones(2, np.float32), np.ones(2)):
        jitted(x)
    assert [len(paths) for paths in jitted.variants.values()] == [1, 1, 1]
    with linad.config(fast_math=True):
        jitted(np.ones(2))
    assert len(jitted.variants) == 4


def test_the_kind_that_was_not_used_for_longest_goes(monkeypatch):
    monkeypatch.setattr(known_paths, "SIGNATURES", 2)
    jitted = linad.jit(double)
    for n in (1, 2, 1, 3):
        jitted(np.ones(n))
    shapes = [path.tape.inputs[0].shape for paths in jitted.variants.values() for path in paths]
    assert shapes == [(1,), (3,)]


def test_one_path_found_twice_is_kept_once():
    jitted = linad.jit(double)
    jitted(np.ones(2))
    ((path,),) = jitted.variants.values()
    again = linad.jit(double)
    again(np.ones(2))
    ((twin,),) = again.variants.values()
    (paths,) = jitted.variants.values()
    assert paths.add(twin) is path
    assert len(paths) == 1


def test_the_last_decision_is_named():
    jitted = linad.jit(lambda x: x if x[0] > 0 else -x)
    jitted(np.ones(2))
    (paths,) = jitted.variants.values()
    assert "test_known_paths.py" in str(paths.last_decision())


def test_the_decision_that_differs_is_named():
    def f(x):
        y = x if x[0] > 0 else -x
        return 2 * y if x[1] > 0 else y

    jitted = linad.jit(f)
    jitted(np.ones(2))
    jitted(np.array([-1.0, 1.0]))
    (paths,) = jitted.variants.values()
    assert paths.last_decision().lineno == f.__code__.co_firstlineno + 1
    assert known_paths.KnownPaths().last_decision() is None


def test_only_a_path_that_is_taken_again_is_compiled():
    def steps(x):
        count = 0
        while x > 1:
            x = x / 2
            count += 1
        return x, count

    for f in (linad.jit(steps), linad.jit(lambda x: linad.grad(lambda x: steps(x)[0])(x))):
        for x in (3.0, 9.0, 17.0, 65.0, 10.0):
            f(x)
        (paths,) = f.variants.values()
        assert [path._compiled is not None for path in paths] == [False, True, False, False]


def test_whether_a_path_is_taken_is_not_asked_for_longer_than_compiling_takes():
    def f(x):
        if x > 0:
            x = linad.fori_loop(0, 10**6, lambda k, x: x * 0.9999 + 1, x)
        return x

    jitted = linad.jit(f)
    assert jitted(1.0) == jitted(1.0)
    (path,) = next(iter(jitted.variants.values()))
    assert path._compiled is not None


def test_paths_that_no_call_takes_are_seldom_asked_for(monkeypatch):
    def steps(x):
        count = 0
        while x > 1:
            x = x / 2
            count += 1
        return x * count

    f = linad.jit(steps)
    for k in range(8):
        f(2.0**k)
    (paths,) = f.variants.values()
    asked = []
    followed = Variant._followed
    monkeypatch.setattr(
        Variant, "_followed", lambda path, given: asked.append(path) or followed(path, given)
    )
    with pytest.warns(UserWarning, match="8 times"):
        found = [f(3.0**9) for _ in range(64)]
    assert found == [steps(3.0**9)] * 64
    assert max(map(asked.count, paths)) < 16 + 64 / 16
    for _ in range(32):
        f(1.0)
    assert paths[0]._compiled is not None


def test_a_plain_table_read_at_computed_positions_is_named_with_a_remedy(kernels):
    table, edges = np.linspace(0.0, 1.0, 9), np.linspace(-2.0, 2.0, 8)
    plain = linad.jit(lambda x: np.sum(table[np.digitize(x, edges)] * x))
    traced = linad.jit(lambda x: np.sum(np.asarray(table, like=x)[np.digitize(x, edges)] * x))
    points = np.random.default_rng(0).standard_normal((12, 20))
    with pytest.warns(UserWarning, match=r"np.asarray\(table, like=x\)\[positions\]"):
        found = [plain(x) for x in points]
    np.testing.assert_allclose([traced(x) for x in points], found, rtol=1e-12)
    ((_,),) = traced.variants.values()
    table *= 2
    np.testing.assert_allclose(traced(points[0]), 2 * found[0], rtol=1e-12)


TURNING = {
    "eigvals": np.linalg.eigvals,
    "eig": lambda a: np.linalg.eig(a)[0],
    "poly": np.poly,
    "roots": lambda a: np.roots(np.stack([1.0 + 0 * a[0, 0], -np.trace(a), np.linalg.det(a)])),
    "sqrtm": linad.scipy.linalg.sqrtm,
    "logm": linad.scipy.linalg.logm,
    "emath": np.emath.sqrt,
}
"""Functions of a real matrix whose results are real for some matrices and complex for others."""


@pytest.mark.parametrize("derivative", [linad.grad, linad.jacobian])
@pytest.mark.parametrize("f", TURNING.values(), ids=TURNING)
def test_derivatives_of_jitted_functions_follow_what_turns_complex(f, derivative):
    def of_parts(a):
        z = f(a)
        return np.sum(np.imag(z) ** 2) + 7 if np.iscomplexobj(z) else np.sum(z**3)

    jitted = linad.jit(of_parts)
    real, turned = np.array([[2.0, 0.3], [0.1, 1.0]]), np.array([[1.0, 2.0], [-2.0, 1.5]])
    for a in (real, turned, -real, real, turned):
        found, expected = derivative(jitted)(a), derivative(of_parts)(a)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(jitted(a), of_parts(a), rtol=1e-9)
