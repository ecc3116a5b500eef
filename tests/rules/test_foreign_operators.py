"""SciPy's operators, and sparse matrices, as primitives."""

import numpy as np
import pytest
import scipy.sparse
from compiled_runs import fallbacks, poisoned
from numpy.testing import assert_allclose
from scipy.sparse.linalg import aslinearoperator

from linad.core.tape import Equation, Tape, Var
from linad.operators.foreign import apply_operator
from linad.operators.stored_matrices import apply_stored, parts_of, storage_of
from linad.testing.rule_checks import Case

rng = np.random.default_rng(0)
REAL = aslinearoperator(rng.standard_normal((3, 2)).astype(np.float32))
COMPLEX = aslinearoperator(rng.standard_normal((3, 2)) + 1j * rng.standard_normal((3, 2)))

CASES = [
    Case(apply_operator, rng.standard_normal(2), op=REAL, adjoint=False),
    Case(apply_operator, rng.standard_normal((4, 3)), op=REAL, adjoint=True),
    Case(
        apply_operator,
        rng.standard_normal(2) + 1j,
        op=COMPLEX,
        adjoint=False,
        check={"float32": False},
    ),
]


def stored(format, dtype=float):
    """A sparse matrix (6, 4); two entries stand at one place where that can be."""
    dense = rng.standard_normal((6, 4)) * (rng.random((6, 4)) < 0.5)
    if dtype is complex:
        dense = dense + 1j * dense.T.reshape(6, 4)
    if format == "blocks of one":
        return scipy.sparse.bsr_array(dense, blocksize=(1, 1)).astype(dtype)
    A = scipy.sparse.bsr_array(dense, blocksize=(3, 2)) if format == "bsr" else dense
    A = getattr(scipy.sparse, f"{format}_array")(A).astype(dtype)
    if format in ("csr", "csc"):
        A.indices[A.indptr[1]] = A.indices[A.indptr[1] + 1]
    return A


FORMATS = ["csr", "csc", "coo", "bsr", "dia"]
FACTOR = {False: 4, True: 6}

for A in map(stored, FORMATS):
    for transposed, n in FACTOR.items():
        for shape in ((n,), (3, n)):
            CASES.append(
                Case(
                    *(apply_stored, rng.standard_normal(shape), *parts_of(A)),
                    check={"wrt": (0,), "complex_": True, "float32": False},
                    storage=storage_of(A),
                    transposed=transposed,
                )
            )


def program_of(arrays, options):
    """The product alone, compiled."""
    inputs = [Var(k, a.shape, a.dtype) for k, a in enumerate(arrays)]
    y = apply_stored(*arrays, **options)
    out = Var(len(inputs), y.shape, y.dtype)
    equation = Equation(apply_stored, tuple(inputs), options, (out,))
    return poisoned(Tape("test", inputs, [equation], [out], None, None))


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("dtypes", ["ff", "fd", "dF", "DD", "ld", "?d"])
@pytest.mark.parametrize("format", [*FORMATS, "blocks of one"])
def test_kernels_of_sparse_products(format, dtypes, transposed):
    A = stored(format, complex if dtypes[0] == "D" else float).astype(dtypes[0])
    x = rng.standard_normal((2, FACTOR[transposed])).astype(dtypes[1])
    options = {"storage": storage_of(A), "transposed": transposed}
    expected = apply_stored(x, *parts_of(A), **options)
    assert_allclose(expected, x @ (A if transposed else A.T), rtol=1e-6)
    program = program_of([x, *parts_of(A)], options)
    assert fallbacks(program) == []
    (found,) = program.run([x, *parts_of(A)])
    assert found.dtype == expected.dtype
    assert_allclose(found, expected, rtol=1e-6 if found.itemsize < 16 else 1e-14)


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr"])
@pytest.mark.parametrize("index", [-1, 2**30])
def test_an_index_outside_stops_the_sweep(format, index):
    """SciPy would read, or write, memory of somebody else's."""
    A = stored(format)
    for transposed, n in FACTOR.items():
        options = {"storage": storage_of(A), "transposed": transposed}
        given = [np.ones(n), *map(np.copy, parts_of(A))]
        program = program_of(given, options)
        for part in given[2:]:
            kept = part.copy()
            part[1] = index
            with pytest.raises(ArithmeticError):
                program.run(given)
            part[...] = kept
