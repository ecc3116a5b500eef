"""Eigenvalues, singular values and QR in compiled programs: bit by bit NumPy's, without Python."""

import numpy as np
import pytest
from compiled_runs import check_compiled

import linad
from linad.core.primitive import Primitive
from linad.sweeps.cpu import spectral_routines
from linad.sweeps.cpu.target import CPU
from linad.sweeps.program import KernelStoppedError

SQUARES = [(4, 4), (1, 1), (2, 3, 5, 5), (40, 40), (0, 0), (0, 3, 3)]
OBLONGS = [(5, 3), (3, 5), *SQUARES, (1, 6), (6, 1), (2, 6, 4), (0, 3), (3, 0)]
OF_SQUARES = {
    "eigh": lambda a: tuple(np.linalg.eigh(a)),
    "eigh of the other triangle": lambda a: tuple(np.linalg.eigh(a, "U")),
    "vectors alone": lambda a: np.linalg.eigh(a)[1],
    "eig": lambda a: tuple(np.linalg.eig(a)),
    "eigvals": np.linalg.eigvals,
    "vectors of a general one": lambda a: np.linalg.eig(a)[1],
    "eigvalsh": np.linalg.eigvalsh,
    "eigvalsh of the other triangle": lambda a: np.linalg.eigvalsh(a, "U"),
}
OF_OBLONGS = {
    "svd": lambda a: tuple(np.linalg.svd(a, full_matrices=False)),
    "svdvals": np.linalg.svdvals,
    "qr": lambda a: tuple(np.linalg.qr(a)),
    "r": lambda a: np.linalg.qr(a, "r"),
    "of a view": lambda a: tuple(np.linalg.svd(np.swapaxes(a[..., ::-1], -1, -2), False)),
}
CASES = [(f, s) for f in OF_SQUARES for s in SQUARES]
CASES += [(f, s) for f in OF_OBLONGS for s in OBLONGS]


def normal(shape, dtype):
    rng = np.random.default_rng(sum(shape))
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def symmetric(n):
    a = normal((n, n), "d")
    return a + a.T


def check(f, a, value=lambda f, a: linad.linearize(f, a)[0]):
    compiled, expected = linad.jit(f), value(f, a)
    for _ in range(2):
        for got, wanted in zip(parts(compiled(a)), parts(expected), strict=True):
            assert got.dtype == wanted.dtype
            np.testing.assert_array_equal(got, wanted)
    fallbacks = {s.name for s in linad.explain(compiled)(a).fallbacks}
    assert not fallbacks or (fallbacks == {"all"} and not a.size)


def of_numpy(f, a):
    return f(a)


def parts(y):
    return y if isinstance(y, tuple) else (y,)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("dtype", ["d", "D", "f", "F"])
@pytest.mark.parametrize("name, shape", CASES)
def test_values(name, shape, dtype):
    check((OF_SQUARES | OF_OBLONGS)[name], normal(shape, dtype))


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("dtype", ["d", "D", "f", "F"])
@pytest.mark.parametrize("shape", [(5, 3), (2, 4, 1), (2, 6, 4), (3, 5)])
@pytest.mark.parametrize("f", [np.linalg.svd, lambda a: np.linalg.qr(a, "complete")])
def test_bases_of_the_whole_space(f, shape, dtype):
    compiled, a = linad.jit(lambda a: tuple(f(a))), normal(shape, dtype)
    for _ in range(2):
        for got, wanted in zip(compiled(a), f(a), strict=True):
            assert got.dtype == wanted.dtype
            np.testing.assert_allclose(got, wanted, atol=1e-13 if dtype in "dD" else 1e-5)
    assert not linad.explain(compiled)(a).fallbacks


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("dtype", ["d", "D", "f", "F"])
@pytest.mark.parametrize("name", ["left_rest", "qr_rest"])
def test_rests_are_those_of_numpy(name, dtype):
    primitive = Primitive.registry[name]
    for shape in [(5, 3), (2, 4, 1), (7, 6)]:
        check(lambda a: primitive(a), normal(shape, dtype), value=of_numpy)


@pytest.mark.usefixtures("kernels")
def test_integers():
    a = np.arange(9).reshape(3, 3)
    for name in ("eigh", "svd", "qr", "eig", "eigvals"):
        check((OF_SQUARES | OF_OBLONGS)[name], a, value=of_numpy)


def test_memory():
    """In memory that held rubbish before; the matrix is one that the program made."""
    for shape in [(4, 4), (2, 3, 3)]:
        for f in (OF_SQUARES["eigh"], OF_OBLONGS["svd"], OF_OBLONGS["qr"], OF_SQUARES["eig"]):
            check_compiled(lambda a, f=f: f(2 * a), normal(shape, "d"))


LOSSES = {
    "eigvals": lambda a: np.sum(np.abs(np.linalg.eigvals(a)) ** 3),
    "eig": lambda a: np.sum(np.abs(np.linalg.eig(a)[1]) ** 4 * np.arange(a.shape[-1])),
    "eigvalsh": lambda a: np.sum(np.linalg.eigvalsh(a) ** 3),
    "eigh": lambda a: np.sum(np.linalg.eigh(a)[1] ** 4 * np.arange(a.shape[-1])),
    "svdvals": lambda a: np.sum(np.linalg.svdvals(a) ** 3),
    "svd": lambda a: np.sum(np.linalg.svd(a)[2] ** 4) + np.linalg.norm(a, "nuc"),
    "qr": lambda a: np.sum(np.linalg.qr(a)[0] ** 4) + np.sum(np.linalg.qr(a)[1] ** 3),
    "det": lambda a: np.linalg.det(a) ** 2,
    "spectral norm": lambda a: np.linalg.norm(a, 2),
}


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("name", LOSSES)
def test_gradients(name):
    gradient = linad.jit(linad.grad(LOSSES[name]))
    for a in (symmetric(5), normal((5, 5), "d")):  # real eigenvalues, and complex ones
        expected = linad.grad(LOSSES[name])(a)
        for _ in range(2):
            np.testing.assert_allclose(gradient(a), expected, rtol=1e-10, atol=1e-12)
        assert not linad.explain(gradient)(a).fallbacks


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("name", ["eig", "eigvals", "vectors of a general one"])
@pytest.mark.parametrize("dtype", ["d", "f"])
def test_general_eigenvalues_are_real_or_complex_as_numpys(name, dtype):
    """For the whole stack at once, whichever it was recorded with; -0.0 is real."""
    turn, mirror = np.array([[0, 1], [-1, 0]], dtype), np.diag([1, -1]).astype(dtype)
    nothing = -np.zeros((2, 2), dtype)
    f = OF_SQUARES[name]
    for matrices in ([turn, mirror, nothing], [mirror, turn], [(turn, mirror), (mirror, mirror)]):
        compiled = linad.jit(f)
        for a in map(np.array, 2 * matrices):
            for got, wanted in zip(parts(compiled(a)), parts(f(a)), strict=True):
                assert got.dtype == wanted.dtype
                np.testing.assert_array_equal(got, wanted)
        assert not linad.explain(compiled)(np.array(matrices[0])).fallbacks


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("dtype", ["d", "D", "f", "F"])
def test_conditions_of_eigenvalues(dtype):
    conditions = Primitive.registry["eigen_conditions"]
    stack = np.stack([normal((3, 3), dtype), np.ones((3, 3), dtype), np.eye(3, dtype=dtype)])
    for vectors in (normal((5, 5), dtype), stack, normal((0, 3, 3), dtype)):
        compiled = linad.jit(lambda v: conditions(v))
        for _ in range(2):
            got, wanted = compiled(vectors), conditions(vectors)
            assert got.dtype == wanted.dtype
            np.testing.assert_allclose(got, wanted, rtol=1e-12 if dtype in "dD" else 1e-5)
        assert not linad.explain(compiled)(vectors).fallbacks


@pytest.mark.parametrize("name", ["eigh", "svdvals", "svd", "qr", "eig", "eigvals"])
def test_a_matrix_with_nan_does_as_in_numpy(name):
    f = (OF_SQUARES | OF_OBLONGS)[name]
    for a in (np.eye(4), np.eye(1), np.stack([np.eye(3), np.ones((3, 3))])):
        compiled = linad.jit(f)
        compiled(a)
        a[..., 0, 0] = np.nan
        with np.errstate(all="ignore"):
            try:
                expected = f(a)
            except np.linalg.LinAlgError as error:
                with pytest.raises(np.linalg.LinAlgError, match=str(error)):
                    compiled(a)
            else:
                for got, wanted in zip(parts(compiled(a)), parts(expected), strict=True):
                    np.testing.assert_array_equal(got, wanted)


def test_a_program_stops_where_lapack_does():
    a = np.full((3, 3), np.nan)
    decompositions = OF_SQUARES["eigh"], OF_OBLONGS["svd"], np.linalg.svdvals
    for f in (*decompositions, OF_SQUARES["eig"], np.linalg.eigvals):
        program = CPU.compile(linad.trace(f, np.eye(3))[1])
        with pytest.raises(KernelStoppedError):
            program.run([a])
        program.run([np.eye(3)])


@pytest.mark.usefixtures("kernels")
def test_where_numpys_loops_are_not_known_numpy_is_called(monkeypatch):
    monkeypatch.setattr(spectral_routines, "loop_of", lambda *what: None)
    a = symmetric(3)
    for name in ("eigh", "svd", "qr", "eig"):
        f = (OF_SQUARES | OF_OBLONGS)[name]
        compiled = linad.jit(f)
        for _ in range(2):
            np.testing.assert_array_equal(compiled(a)[0], f(a)[0])
        assert [s.name for s in linad.explain(compiled)(a).fallbacks] == [name]


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("dtype", ["d", "D", "f"])
@pytest.mark.parametrize("rank", [5, 4, 3, 0])
def test_gradients_of_determinants(rank, dtype):
    """Of regular and of singular matrices, and of one with NaN in a stack."""
    adjugate, rtol = Primitive.registry["adjugate"], 1e-9 if dtype in "dD" else 1e-4
    a = normal((5, rank), dtype) @ normal((rank, 5), dtype) if rank else np.full((5, 5), np.nan)
    a = np.stack([a.astype(dtype), normal((5, 5), dtype)])
    compiled = linad.jit(lambda a: adjugate(a))
    for _ in range(2):
        with np.errstate(all="ignore"):
            expected = adjugate(a)
            scale = np.nanmax(np.abs(expected))
            np.testing.assert_allclose(compiled(a), expected, rtol=rtol, atol=rtol * scale)
    assert not linad.explain(compiled)(a).fallbacks


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("dtype", ["d", "D"])
def test_the_reading_of_a_hermitian_matrix(lower, dtype):
    hermitian = Primitive.registry["hermitian"]
    check(lambda a: hermitian(a, lower=lower), normal((2, 4, 4), dtype))
