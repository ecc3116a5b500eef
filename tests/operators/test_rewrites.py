"""The table of rewrites: every identity against dense matrices, at random operands."""

import numpy as np
import operator_zoo as zoo
import pytest
from hypothesis import given, settings, strategies as st

import linad
from linad.core.indices import Index
from linad.operators.circulant import Circulant
from linad.operators.composites import Chain, Sum
from linad.operators.contraction import Contraction
from linad.operators.dft import Fourier
from linad.operators.facts import declares
from linad.operators.matrices import Kronecker, Matrix
from linad.operators.placement import Pad, Roll
from linad.operators.recurrences import BackwardDifference, CumulativeSum, Recurrence
from linad.operators.reordering import Broadcast, Permutation, Reshape
from linad.operators.rewrites import AT_ONCE, PRODUCTS, SUMS, SUMS_AT_ONCE, direct
from linad.operators.structured import Diagonal, Identity, Masked, Zero
from linad.operators.wrappers import Adjoint, Scaled, Transpose, adjoint_of, transpose_of
from linad.rules.cumulative import recurrence
from linad.rules.indexing import Selection

pytestmark = pytest.mark.whole

DTYPES = zoo.REAL + zoo.COMPLEX


class Draw:
    """Operands of random shapes and numbers, of one dtype."""

    def __init__(self, data):
        self.data = data
        self.dtype = data.draw(st.sampled_from(DTYPES))
        self.rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
        self.m, self.n, self.k = (data.draw(st.integers(1, 4)) for _ in range(3))
        self.shape = (self.m, self.n)

    def __call__(self, *shape):
        return zoo.numbers(self.rng, shape, self.dtype)

    def bool(self):
        return self.data.draw(st.booleans())

    def complex_dtype(self):
        return np.result_type(self.dtype, np.complex64)

    # One operator of each class, from arrays (m, n) where the class leaves the choice.

    def identity(self, shape=None):
        return Identity(shape or self.shape, self.dtype)

    def diagonal(self, shape=None):
        shape = shape or self.shape
        entries = [2.0, self(*shape), self(*shape[1:])][self.data.draw(st.integers(0, 2))]
        return Diagonal(entries, shape, self.dtype)

    def masked(self):
        return Masked(self.rng.random(self.shape) < 0.5, self.shape, self.dtype)

    def matrix(self, m=None, n=None):
        return Matrix(self(m or self.m, n or self.n))

    def permutation(self, shape=None):
        shape = shape or (self.m, self.n, self.k)
        return Permutation(self.rng.permutation(len(shape)).tolist(), shape, self.dtype)

    def roll(self, shape=None):
        shape = shape or self.shape
        shifts = self.rng.integers(-3, 4, len(shape)).tolist()
        return Roll(shifts, range(len(shape)), shape, self.dtype)

    def broadcast(self):
        return Broadcast((self.m, self.n, self.k), (self.n, 1), self.dtype)

    def pad(self, shape=None, before=None):
        shape = shape or self.shape
        before = before or self.rng.integers(0, 3, len(shape)).tolist()
        outer = tuple(b + n + 1 for b, n in zip(before, shape, strict=True))
        return Pad(before, outer, shape, self.dtype)

    def selection(self, shape=None, count=5):
        shape = shape or self.shape
        picked = self.rng.integers(0, shape[0], count)
        return Selection(Index((picked,)), (count,), shape[:1], self.dtype)

    def rows(self, shape):
        index = Index((slice(None, None, -1), *[slice(None)] * (len(shape) - 1)))
        return Selection(index, shape, shape, self.dtype)

    def kronecker(self, left=True, right=True):
        m, n = self.shape
        return Kronecker(
            self(m, m) if left else None, self(n, n) if right else None, (m, n), (m, n), self.dtype
        )

    def contraction(self):
        m, n, k = self.m, self.n, self.k
        fixed = [("jk", self(n, k)), ("i", self(m))]
        return Contraction("ij", fixed, "ki", (k, m), (m, n), self.dtype)

    def fourier(self, inverse, shape=None):
        norm = self.data.draw(st.sampled_from(["backward", "ortho", "forward"]))
        return Fourier((-1,), inverse, norm, shape or self.shape, self.complex_dtype())

    def circulant(self):
        values = np.fft.fft(self(*self.shape), axis=-1)
        return Circulant(values, (-1,), self.shape, self.dtype)

    def steps(self):
        return BackwardDifference(-1, self.shape, self.dtype)

    def recurrence(self):
        return Recurrence(recurrence, self(*self.shape), -1, self.bool(), self.shape, self.dtype)


def with_same(make):
    """A pair of the adjoint of an operator and itself."""

    def pair(d):
        op = make(d)
        return op.H, op

    return pair


def reshapes(d):
    m, n = d.shape
    out = (n, m) if d.bool() else (m, n)
    return Reshape(out, (m * n,), d.dtype), Reshape((m * n,), (m, n), d.dtype)


def permutations(d):
    first = d.permutation()
    return d.permutation(first.out_shape), first


def contractions(d):
    second = d.contraction()
    first = Contraction("ab", [("bc", d(d.m, 2))], "ac", (d.k, 2), (d.k, d.m), d.dtype)
    return first, second


def pads_apart(d):
    a = Pad((0, 0), (d.m + 2, 2 * d.n), d.shape, d.dtype)
    b = Pad((0, d.n), (d.m + 2, 2 * d.n), d.shape, d.dtype)
    return (a.H, b) if d.bool() else (a.H, a)


def summed_chains(d):
    repeat = d.broadcast()
    shape = repeat.out_shape
    return d.diagonal(shape) @ repeat, d.diagonal(shape) @ d.broadcast()


def selected_pad(d):
    pad = Pad((3,), (d.m + 6,), (d.m,), d.dtype)
    start = 3 if d.bool() else 0  # inside of the part, or outside
    count = d.m if start else 3
    return Selection(Index((slice(start, start + count),)), (count,), (d.m + 6,), d.dtype), pad


def selected_sum(d):
    parts = [Pad((k * d.m,), (2 * d.m,), (d.m,), d.dtype) for k in range(2)]
    total = parts[0] + parts[1] @ Diagonal(d(d.m), (d.m,), d.dtype)
    return Selection(Index((slice(0, d.m),)), (d.m,), (2 * d.m,), d.dtype), total


def with_adjoint_on_the_right(d):
    op = d.rows((d.m,))
    return op, op.H


def fouriers(d):
    inverse = d.bool()
    return d.fourier(inverse), d.fourier(not inverse)


def mixed_kroneckers(d):
    a = d.kronecker(left=d.bool(), right=True)
    return a, d.kronecker(left=True, right=d.bool())


PRODUCT_CASES = {
    (Diagonal, Diagonal): lambda d: (d.diagonal(), d.diagonal()),
    (Masked, Diagonal): lambda d: (d.masked(), d.diagonal()),
    (Diagonal, Masked): lambda d: (d.diagonal(), d.masked()),
    (Masked, Masked): lambda d: (d.masked(), d.masked()),
    (Permutation, Permutation): permutations,
    (Reshape, Reshape): reshapes,
    (Roll, Roll): lambda d: (d.roll(), d.roll()),
    (Permutation, Diagonal): lambda d: (d.permutation(d.shape), d.diagonal()),
    (Reshape, Diagonal): lambda d: (Reshape((d.m * d.n,), d.shape, d.dtype), d.diagonal()),
    (Roll, Diagonal): lambda d: (d.roll(), d.diagonal()),
    (Broadcast, Broadcast): lambda d: (d.broadcast(), Broadcast((d.n, 1), (), d.dtype)),
    (Adjoint, Broadcast): with_same(Draw.broadcast),
    (Pad, Pad): lambda d: ((inner := d.pad()) and d.pad(inner.out_shape), inner),
    (Adjoint, Pad): pads_apart,
    (Kronecker, Kronecker): mixed_kroneckers,
    (Matrix, Matrix): lambda d: (d.matrix(), d.matrix(d.n, d.m)),
    (Diagonal, Matrix): lambda d: (d.diagonal((d.m,)), d.matrix()),
    (Matrix, Diagonal): lambda d: (d.matrix(), d.diagonal((d.n,))),
    (Fourier, Fourier): fouriers,
    (Circulant, Circulant): lambda d: (d.circulant(), d.circulant()),
    (CumulativeSum, BackwardDifference): lambda d: (CumulativeSum(1, d.shape, d.dtype), d.steps()),
    (BackwardDifference, CumulativeSum): lambda d: (d.steps(), CumulativeSum(1, d.shape, d.dtype)),
    (Diagonal, Contraction): lambda d: ((c := d.contraction()) and d.diagonal(c.out_shape), c),
    (Contraction, Diagonal): lambda d: (d.contraction(), d.diagonal()),
    (Contraction, Contraction): contractions,
    (Selection, Broadcast): lambda d: (
        d.rows((d.m, d.n, d.k)),
        d.broadcast(),
    ),
    (Selection, Permutation): lambda d: ((p := d.permutation()) and d.rows(p.out_shape), p),
    (Selection, Roll): lambda d: (d.selection(), d.roll((d.m,))),
    (Selection, Selection): lambda d: (d.selection((5,)), d.selection()),
    (Permutation, Selection): lambda d: (d.permutation(d.shape), d.rows(d.shape)),
    (Roll, Selection): lambda d: (d.roll((5,)), d.selection()),
    (Selection, Reshape): lambda d: (
        d.rows((d.n, d.m)),
        Reshape((d.n, d.m), (d.m * d.n,), d.dtype),
    ),
    (Selection, Diagonal): lambda d: (d.selection(), d.diagonal((d.m,))),
    (Selection, Masked): lambda d: (d.rows(d.shape), d.masked()),
    (Adjoint, Selection): with_same(Draw.selection),
    (Selection, Adjoint): with_adjoint_on_the_right,
    (Selection, Pad): selected_pad,
    (Selection, Sum): selected_sum,
}

SUM_CASES = {
    (Diagonal, Diagonal): lambda d: (d.diagonal(), d.diagonal()),
    (Diagonal, Identity): lambda d: (d.diagonal(), d.identity()),
    (Identity, Identity): lambda d: (d.identity(), d.identity()),
    (Masked, Masked): lambda d: (d.masked(), d.masked()),
    (Masked, Diagonal): lambda d: (d.masked(), d.diagonal()),
    (Masked, Identity): lambda d: (d.masked(), d.identity()),
    (Chain, Chain): summed_chains,
    (Kronecker, Kronecker): lambda d: (
        (d.kronecker(left=False), d.kronecker(left=False))
        if d.bool()
        else (d.kronecker(right=False), d.kronecker(right=False))
    ),
    (Matrix, Matrix): lambda d: (d.matrix(), d.matrix()),
    (Matrix, Diagonal): lambda d: (d.matrix(d.m, d.m), d.diagonal((d.m,))),
    (Matrix, Identity): lambda d: (d.matrix(d.m, d.m), d.identity((d.m,))),
    (Circulant, Circulant): lambda d: (d.circulant(), d.circulant()),
    (Circulant, Identity): lambda d: (d.circulant(), d.identity()),
    (Circulant, Diagonal): lambda d: (d.circulant(), Diagonal(0.5, d.shape, d.dtype)),
}

SINGLE_CASES = {
    Identity: Draw.identity,
    Masked: Draw.masked,
    Zero: lambda d: Zero((d.k,), d.shape, d.dtype),
    Diagonal: Draw.diagonal,
    Permutation: Draw.permutation,
    Reshape: lambda d: Reshape((d.m * d.n,), d.shape, d.dtype),
    Roll: Draw.roll,
    Kronecker: Draw.kronecker,
    Matrix: Draw.matrix,
    Fourier: lambda d: d.fourier(d.bool()),
    Circulant: Draw.circulant,
    Contraction: Draw.contraction,
    Recurrence: Draw.recurrence,
    Chain: lambda d: Chain((d.kronecker(), d.roll(), d.kronecker())),
    Sum: lambda d: Sum((d.kronecker(), d.roll())),
    Scaled: lambda d: Scaled(-1.5, d.kronecker()),
}

TAKE_A_NUMBER = {Identity, Diagonal, Zero, Kronecker, Matrix, Circulant, Contraction}


def check(op, matrix, dtype):
    """``op`` is the matrix, by both maps, with seeds and without."""
    tolerance = {"rtol": 0, "atol": zoo.tolerance(dtype) * (1 + np.abs(matrix).sum())}
    assert op.shape == matrix.shape
    assert op.dtype == dtype
    np.testing.assert_allclose(op.todense(), matrix, **tolerance)
    rng = np.random.default_rng(0)
    v = zoo.numbers(rng, (2, *op.in_shape), op.in_dtype)
    w = zoo.numbers(rng, (2, *op.out_shape), op.out_dtype)
    pushed, pulled = op.pushforward(v), op.pullback(w)
    assert pushed.shape == w.shape
    assert pulled.shape == v.shape
    tolerance["atol"] *= 10
    np.testing.assert_allclose(pushed.reshape(2, -1), v.reshape(2, -1) @ matrix.T, **tolerance)
    np.testing.assert_allclose(
        pulled.reshape(2, -1), w.reshape(2, -1) @ np.conj(matrix), **tolerance
    )


def declaring(fact):
    """The classes of single operators, products and sums that say a fact."""
    return {
        kind
        for kind in zoo.every_class()
        if kind not in (Adjoint, Transpose) and declares(kind, fact)
    }


def test_every_rewrite_has_a_case():
    assert set(PRODUCT_CASES) == set(PRODUCTS)
    assert set(SUM_CASES) == {key for key in SUMS if key in SUM_CASES or key[::-1] not in SUM_CASES}
    assert declaring("multiple") == TAKE_A_NUMBER
    assert declaring("adjoint_form") == set(SINGLE_CASES)


def test_what_is_rewritten_at_once():
    """What costs next to nothing; the others wait until somebody asks for the whole."""
    products = {
        (Adjoint, Broadcast),
        *[(c, c) for c in (Broadcast, Diagonal, Permutation, Reshape)],
    }
    sums = {(a, b) for a in (Diagonal, Identity) for b in (Diagonal, Identity)}
    assert set(AT_ONCE) == products
    assert set(SUMS_AT_ONCE) == sums


@pytest.mark.parametrize("kinds", PRODUCT_CASES, ids=lambda k: f"{k[0].__name__}-{k[1].__name__}")
@settings(deadline=None, max_examples=12)
@given(st.data())
def test_products(kinds, data):
    """A B, as the table writes it and as `simplified` does."""
    d = Draw(data)
    a, b = PRODUCT_CASES[kinds](d)
    assert (type(a), type(b)) == kinds
    expected = zoo.by_columns(a) @ zoo.by_columns(b)
    found = PRODUCTS[kinds](a, b)
    if found is None:  # products of matrices that would grow stay as they are
        assert kinds in [(Kronecker, Kronecker), (Matrix, Matrix)]
    else:
        assert found.in_shape == b.in_shape
        assert found.out_shape == a.out_shape
        check(found, expected, b.dtype)
    check((a @ b).simplified(), expected, b.dtype)
    check(Chain((a, b)).simplified(), expected, b.dtype)


@pytest.mark.parametrize("kinds", SUM_CASES, ids=lambda k: f"{k[0].__name__}-{k[1].__name__}")
@settings(deadline=None, max_examples=12)
@given(st.data())
def test_sums(kinds, data):
    """A + B and B + A."""
    a, b = SUM_CASES[kinds](Draw(data))
    expected = zoo.by_columns(a) + zoo.by_columns(b)
    check(SUMS[kinds](a, b), expected, a.dtype)
    check(SUMS[kinds[::-1]](b, a), expected, a.dtype)
    check((a + b).simplified(), expected, a.dtype)
    check(Sum((a, b)).simplified(), expected, a.dtype)


@pytest.mark.parametrize("kind", SINGLE_CASES, ids=lambda k: k.__name__)
@settings(deadline=None, max_examples=12)
@given(st.data())
def test_multiples_and_adjoints(kind, data):
    """α A, A^H and A^T."""
    d = Draw(data)
    op = SINGLE_CASES[kind](d)
    A = zoo.by_columns(op)
    alpha = -0.5 + 2j if op.dtype.kind == "c" and d.bool() else -0.5
    if kind in TAKE_A_NUMBER:
        check(op.multiple(alpha), alpha * A, op.dtype)
        assert type((alpha * op).simplified()) is not Scaled
    check((alpha * op).simplified(), alpha * A, op.dtype)
    check(adjoint_of(op), A.conj().T, op.dtype)
    check(transpose_of(op), A.T, op.dtype)
    if kind is not Kronecker:
        assert type(adjoint_of(op)) is not Adjoint
    check(op.H.simplified(), A.conj().T, op.dtype)
    check(op.T.simplified(), A.T, op.dtype)


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_expressions(data):
    """Products, sums, multiples and adjoints of everything that maps (m, n) to itself."""
    d = Draw(data)
    makers = [
        d.identity,
        d.diagonal,
        d.masked,
        d.roll,
        d.kronecker,
        d.circulant,
        d.steps,
        d.recurrence,
        lambda: d.rows(d.shape),
        lambda: CumulativeSum(0, d.shape, d.dtype),
        lambda: Zero(d.shape, d.shape, d.dtype),
    ]
    ops = [makers[data.draw(st.integers(0, len(makers) - 1))]() for _ in range(4)]
    A, B, C, D = [zoo.by_columns(op) for op in ops]
    a, b, c, e = ops
    check(((a @ b + 2 * c) @ e.H).simplified(), (A @ B + 2 * C) @ D.conj().T, d.dtype)
    check((a.H @ (b - c) @ a).simplified(), A.conj().T @ (B - C) @ A, d.dtype)


class TestAtOnce:
    """What composing rewrites without being asked."""

    D = Diagonal(np.array([1.0, 2.0, 3.0]), (3,), np.dtype(float))
    eye = linad.eye(3)
    zero = Zero((3,), (3,), np.dtype(float))

    def test_diagonals(self):
        for op, expected in [
            (self.D @ self.D, [1, 4, 9]),
            (self.D + self.D, [2, 4, 6]),
            (self.D - 2 * self.eye, [-1, 0, 1]),
            (-self.D / 2, [-0.5, -1, -1.5]),
            (self.D.T @ self.D, [1, 4, 9]),
            (self.D**3, [1, 8, 27]),
        ]:
            assert type(op) is Diagonal
            np.testing.assert_array_equal(op.entries, expected)

    def test_zero_absorbs_and_vanishes(self):
        A = Matrix(np.arange(9.0).reshape(3, 3))
        assert type(A @ self.zero) is Zero
        assert type(self.zero @ A @ A) is Zero
        assert type(3 * self.zero) is Zero
        assert A + self.zero is A
        assert self.zero + A is A
        assert type(self.zero + self.zero) is Zero

    def test_matrices_are_not_multiplied(self):
        A = Matrix(np.ones((3, 3)))
        assert type(A @ A) is Chain
        assert type((A @ A).simplified()) is Matrix

    def test_a_neighbour_inside_a_chain(self):
        A = Matrix(np.ones((3, 3)))
        op = (A @ self.D) @ (self.D @ A)
        assert [type(f) for f in op.factors] == [Matrix, Diagonal, Matrix]


def test_products_that_would_grow_stay_factored():
    tall = Matrix(np.ones((50, 2)))
    op = (tall @ tall.T).simplified()
    assert type(op) is Chain
    assert type((tall.T @ tall).simplified()) is Matrix


def test_numbers_of_a_product_gather():
    A = Recurrence(recurrence, np.ones(3), -1, False, (3,), np.dtype(float))
    op = ((2 * A) @ (3 * A)).simplified()
    assert type(op) is Scaled
    assert op.alpha == 6


def test_a_shared_part_is_simplified_once():
    rng = np.random.default_rng(0)
    A = Matrix(rng.standard_normal((4, 4))) @ Diagonal(
        rng.standard_normal(4), (4,), np.dtype(float)
    )
    op = (A + A).simplified()
    np.testing.assert_allclose(op.todense(), 2 * A.todense())


def test_traced_numbers():
    """Rewrites of operators made of traced values are differentiated."""
    d = np.array([1.0, 2.0, 3.0])
    A = np.arange(9.0).reshape(3, 3)

    def f(d):
        op = Diagonal(d, (3,), np.dtype(float))
        whole = (op @ Matrix(A) @ op + 2 * op).simplified()
        assert type(whole) is Matrix
        return whole @ np.ones(3)

    expected = np.diag(A @ d + 2) + d[:, None] * A
    np.testing.assert_allclose(linad.jacobian(f)(d), expected)


def test_adjoints_of_composites_wait():
    """What a product, a sum or a multiple is made of is asked first."""
    d = Diagonal(np.arange(1.0, 4.0), (3,), np.dtype(float))
    assert type(direct(Adjoint(d))) is not Adjoint
    for op in (Chain((d, d)), Sum((d, d)), Scaled(2.0, d)):
        for view in (Adjoint(op), Transpose(op)):
            assert direct(view) is view
