import functools
import itertools
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from scipy.sparse import csr_array
from shard_losses import dies, fails_without_rows, logistic as loss, slow_where_it_fails, squares

import linad
from linad.errors import ArgumentError, NotHolomorphicError, OptionError, OutputError, ShardError
from linad.shards import worker
from linad.shards.worker import LatelyUsed

SIZES = (3, 1, 7, 0, 4)

sum_of = functools.partial(linad.sum_of, jit=False)
"""What is compiled takes long for tests of what is not in it."""


@pytest.fixture(scope="module")
def shards():
    rng = np.random.default_rng(1)
    return [(rng.standard_normal((n, 4)), np.sign(rng.standard_normal(n))) for n in SIZES]


@pytest.fixture(scope="module")
def whole(shards):
    return [np.concatenate(parts) for parts in zip(*shards, strict=True)]


@pytest.fixture(scope="module")
def threads():
    with ThreadPoolExecutor(3) as executor:
        yield executor


W, V = np.linspace(-1, 1, 4), np.array([1.0, -2.0, 0.5, 3.0])


def third(f):
    return linad.grad(lambda w: linad.hvp(f, (w,), (V,)) @ V)


@pytest.mark.parametrize(
    "transform",
    [
        pytest.param(lambda f: f, id="value"),
        pytest.param(linad.grad, id="grad"),
        pytest.param(lambda f: lambda w: linad.jvp(f, (w,), (V,)), id="jvp"),
        pytest.param(lambda f: lambda w: linad.hvp(f, (w,), (V,)), id="hvp"),
        pytest.param(linad.hessian, id="hessian"),
        pytest.param(third, id="third"),
        pytest.param(lambda f: linad.jit(linad.grad(f)), id="jit-grad"),
        pytest.param(lambda f: linad.grad(lambda w: f(np.sin(w)) * w[0]), id="composed"),
        pytest.param(lambda f: lambda w: linad.sparse_hessian(f, w).todense(), id="sparse"),
    ],
)
def test_derivatives_of_every_kind(transform, shards, whole, threads):
    one, several = (transform(sum_of(loss, shards, executor=e))(W) for e in (None, threads))
    expected = transform(lambda w: loss(w, *whole))(W)
    for a, b, c in zip(*map(np.atleast_1d, (one, several, expected)), strict=True):
        assert np.array_equal(a, b)
        assert np.allclose(a, c, rtol=1e-12, atol=1e-12)


def test_compiled_terms_give_the_same_bits_at_each_call(shards, whole, threads, kernels):
    one, several = (linad.sum_of(loss, shards, executor=e) for e in (None, threads))
    slope = linad.grad(one)(W)
    assert np.allclose(slope, linad.grad(loss)(W, *whole), rtol=1e-12)
    for F in (one, several, several):
        assert np.array_equal(linad.grad(F)(W), slope)
    product = linad.hvp(one, (W,), (V,))
    assert np.array_equal(linad.hvp(several, (W,), (V,)), product)
    assert np.allclose(product, linad.hvp(lambda w: loss(w, *whole), (W,), (V,)), rtol=1e-12)


def test_a_derivative_follows_its_point_in_compiled_programs(shards, whole):
    F = sum_of(loss, shards)
    compiled = linad.jit(linad.grad(lambda w: F(np.sin(w)) + w @ w))
    expected = linad.grad(lambda w: loss(np.sin(w), *whole) + w @ w)
    for k in range(4):
        assert np.allclose(compiled(W + k), expected(W + k), rtol=1e-12)


def test_solvers_take_a_sum(shards, whole):
    F = sum_of(loss, shards)
    found = linad.solve.newton_cg(lambda w: F(w) + 0.5 * w @ w, W)
    expected = linad.solve.newton_cg(lambda w: loss(w, *whole) + 0.5 * w @ w, W)
    assert found.success
    assert np.allclose(found.x, expected.x, rtol=1e-10)
    # Normal equations, as residuals that are a sum.
    balance = sum_of(lambda w, X, y: X.T @ (X @ w - y), shards)
    root = linad.solve.gauss_newton(balance, W)
    assert np.allclose(root.x, np.linalg.lstsq(*whole)[0], rtol=1e-8)


@pytest.mark.rest
def test_processes_give_the_same_bits_and_name_what_fails(shards):
    with ProcessPoolExecutor(2, mp_context=get_context("forkserver")) as pool:
        F, alone = (sum_of(squares, shards, executor=e) for e in (pool, None))
        for f in (lambda F: F(W), lambda F: linad.grad(F)(W), lambda F: linad.hvp(F, (W,), (V,))):
            assert np.array_equal(f(F), f(alone))
        assert sum(c.shards for c in F.report().workers.values()) == 5 * F.report().calls
        failing = sum_of(fails_without_rows, shards, executor=pool)
        with pytest.raises(ShardError, match="shard 3 of 5: IndexError") as error:
            failing(W)
        assert error.value.shard == 3
        assert any("Traceback" in note for note in error.value.__notes__)
        F = sum_of(dies, [2], executor=pool)
        with pytest.raises(ShardError, match="did not compute shard 0: BrokenProcessPool"):
            F(W)
        with pytest.raises(ShardError, match="did not compute shard 0"):
            F(W)


def test_several_executors_keep_their_shards(shards):
    with ThreadPoolExecutor(1) as a, ThreadPoolExecutor(1) as b:
        F = sum_of(loss, shards, executor=[a, b])
        assert np.array_equal(linad.grad(F)(W), linad.grad(sum_of(loss, shards))(W))
        assert F.report().tasks == 2 * F.report().calls


@pytest.mark.parametrize("tasks", [1, 2, 3, None])
def test_bits_do_not_depend_on_the_number_of_tasks(tasks, threads):
    numbers = [1e16, 1.0, -1e16, 1.0, 3.0, 1e-8, 7.0]
    F = sum_of(lambda w, x: w * x, numbers, executor=threads, tasks=tasks)
    assert F(1.0) == sum_of(lambda w, x: w * x, numbers)(1.0)


def test_shards_of_every_form():
    rng = np.random.default_rng(2)
    parts = [rng.standard_normal((3, 4)) for _ in range(3)]
    expected = sum(np.sum((X @ W) ** 2) for X in parts)

    def f(w, X):
        return np.sum((X @ w) ** 2)

    made = [functools.partial(parts.__getitem__, k) for k in range(3)]
    forms = [parts, tuple(parts), iter(parts), (p for p in parts), made, [(p,) for p in parts]]
    for form in forms:
        assert np.isclose(sum_of(f, form)(W), expected, rtol=1e-14)
    sparse = sum_of(f, [csr_array(p) for p in parts])
    assert np.isclose(sparse(W), expected, rtol=1e-14)
    assert np.allclose(linad.grad(sparse)(W), 2 * sum(p.T @ p @ W for p in parts))
    named = sum_of(lambda w, d: f(w, d["X"]), [{"X": p} for p in parts])
    assert np.isclose(named(W), expected, rtol=1e-14)


def test_containers_of_parameters(shards):
    def net(p, scale, X, y):
        return scale * np.sum((np.tanh(X @ p["W"]) @ p["v"] + p["b"] - y) ** 2)

    p = {"W": np.linspace(-1, 1, 8).reshape(4, 2), "v": np.ones(2, np.float32), "b": 0.5}
    F = sum_of(net, shards)

    def all_of(p, scale):
        return sum(net(p, scale, *s) for s in shards)

    found, expected = (linad.grad(f, argnums=(0, 1))(p, 2.0) for f in (F, all_of))
    assert np.allclose(linad.ravel(found)[0], linad.ravel(expected)[0], rtol=1e-6)
    assert found[0]["v"].dtype == np.float32
    assert F.report().calls == 4  # the value, and one pullback for p's two dtypes, b and the scale


def test_single_precision_stays(shards):
    single = [tuple(a.astype(np.float32) for a in s) for s in shards]
    F = sum_of(lambda w, c, X, y: c * squares(w, X, y), single)
    w = W.astype(np.float32)
    assert F(w, 2.0).dtype == np.float32
    assert linad.grad(F)(w, 2.0).dtype == np.float32
    assert linad.grad(sum_of(squares, shards))(w).dtype == np.float32


def test_complex_arguments(shards, whole):
    z = W + 1j * V
    holomorphic, X = sum_of(lambda z, X, y: np.sum((X @ z) ** 3), shards), whole[0]
    J = linad.linearize(holomorphic, z)[1]
    assert np.allclose(J.todense(), 3 * (X @ z) ** 2 @ X)
    norm = sum_of(lambda z, X, y: np.sum(np.abs(X @ z) ** 2), shards)
    gradient = 2 * X.T @ X @ z
    assert np.allclose(linad.grad(norm)(z), gradient)
    assert np.allclose(linad.linearize(norm, z)[1].H @ np.ones(1), gradient)
    mixed = sum_of(lambda z, X, y: np.sum((X @ z) * np.conj(X @ z)), shards)
    for f in (norm, mixed):
        with pytest.raises(NotHolomorphicError):
            linad.linearize(f, z)[1] @ z


def test_sums_of_arrays(shards, whole):
    moments = sum_of(lambda w, X, y: (X * w).sum(axis=0), shards)
    assert np.allclose(moments(W), whole[0].sum(axis=0) * W)
    assert np.allclose(linad.jacobian(moments)(W), np.diag(whole[0].sum(axis=0)))
    count = sum_of(lambda w, X, y: len(X), shards)
    assert count(W) == sum(SIZES)
    with pytest.raises(OutputError, match="int64 has no derivative"):
        linad.grad(count)(W)


@pytest.mark.parametrize(
    "f, message",
    [
        (lambda w, X, y: X @ w, r"shape \(3,\) for shard 0 and \(1,\) for shard 1"),
        (lambda w, X, y: (w, w), "shard 0 of 5: OutputError: .* returned"),
        (lambda w, X, y: None, "must return a number or an array, it returned None"),
        (lambda w, X, y: "high", "array of numbers, it returned 'high'"),
    ],
)
def test_what_cannot_be_added_is_refused(f, message, shards):
    with pytest.raises(ShardError, match=message):
        sum_of(f, shards)(W)


def test_a_derivative_is_never_lost(shards):
    def closes_over(c):
        return sum_of(lambda w, X, y: c * squares(w, X, y), shards)(W)

    for f in (closes_over, linad.jit(closes_over)):
        with pytest.raises(ShardError, match="Make it an argument of the sum"):
            linad.grad(f)(2.0)
    with pytest.raises(ArgumentError, match="a shard holds a traced value"):
        linad.grad(lambda c: sum_of(squares, [(c * X, y) for X, y in shards])(W))(2.0)


def test_the_first_failing_shard_is_named_whoever_is_faster(threads):
    with pytest.raises(ShardError, match="shard 1 of 4: ValueError: row 1") as error:
        sum_of(slow_where_it_fails, range(4), executor=threads)(W)
    assert error.value.shard == 1
    assert isinstance(error.value.__cause__, ValueError)


@pytest.mark.parametrize(
    "shards, executor, message",
    [
        ([], None, "there are no shards"),
        (np.ones((3, 2)), None, "shards must be a list"),
        (3, None, "shards must be a list"),
        ([1.0], 3, "executor must be None"),
        ([1.0], [], "executor must be None"),
    ],
)
def test_arguments_are_checked(shards, executor, message):
    with pytest.raises(ArgumentError, match=message):
        sum_of(squares, shards, executor=executor)
    with pytest.raises(OptionError, match="tasks must be"):
        sum_of(squares, [1.0], tasks=0)


def test_what_is_kept_follows_its_data_and_its_point(shards):
    own = [(X.copy(), y.copy()) for X, y in shards]
    F = sum_of(squares, own)
    before = linad.grad(F)(W)
    own[0][0][:] = 7.0
    assert np.array_equal(linad.grad(F)(W), before)
    w = W.copy()
    J = linad.linearize(F, w)[1]
    slope = J @ V
    w[:] = 0.0
    assert np.array_equal(J @ V, slope)
    assert not np.allclose(linad.grad(F)(w), before)


def test_kept_bytes_bound_what_a_process_keeps():
    calls = itertools.count()

    def made(k):
        next(calls)
        return np.full((1000, 4), k + 1.0)

    recipes = [functools.partial(made, k) for k in range(3)]

    def f(w, X):
        return np.sum(np.sin(X @ w))

    kept, bounded, nothing = (sum_of(f, recipes, kept_bytes=n) for n in (2**30, 50_000, 0))
    expected = linad.grad(kept)(W)
    assert next(calls) == 3
    [counts] = kept.report().workers.values()
    assert counts.loaded == 3
    assert counts.kept_bytes >= 3 * 32_000
    for F in (bounded, nothing):
        assert np.array_equal(linad.grad(F)(W), expected)
    [counts] = bounded.report().workers.values()
    assert 0 < counts.kept_bytes <= 50_000
    [counts] = nothing.report().workers.values()
    assert counts.kept_bytes == 0
    assert "3 shards" in str(nothing.report())


def test_linearizations_are_made_once_a_point(shards):
    F = sum_of(squares, shards)
    H = linad.hessian_operator(F, W)
    for v in np.eye(4):
        H @ v
    [counts] = F.report().workers.values()
    assert counts.linearized == 10  # of the function, and of its gradient
    assert counts.found == 5 * 3


def test_a_dropped_sum_leaves_nothing_behind():
    F = sum_of(squares, [(np.ones((3, 4)), np.ones(3))])
    token = F._shards.token
    linad.grad(F)(W)
    assert worker.kept.bytes_of(token) > 0
    F._shards.forget()
    assert worker.kept.bytes_of(token) == 0
    assert token not in worker.functions


def test_progress_is_told(shards, threads):
    told = []
    F = sum_of(squares, shards, executor=threads, progress=lambda *p: told.append(p))
    F(W)
    assert told == [(k, 5) for k in range(1, 6)]


def test_a_sum_may_go_while_what_is_kept_is_looked_at():
    """A collection of garbage runs anywhere, also where a lock is held."""
    kept = LatelyUsed()

    class Key(str):
        def __hash__(self):
            kept.forget("old")
            return super().__hash__()

    kept.put(("old", 0), "value", 8, 100)
    assert kept.get(("new", Key("key"))) is None
    assert kept.bytes_of("old") == 0
    assert kept.bytes == 0
