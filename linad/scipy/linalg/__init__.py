"""scipy.linalg, traced.

``overwrite_a`` and its kind are ignored, and the choice of a LAPACK driver too.
"""

import functools
import importlib
from typing import Any

import scipy.linalg

from linad.core.mirrored_names import mirrored_names
from linad.scipy.linalg.prefixes import chosen
from linad.scipy.matrix_equations import (
    polar as polar,
    solve_continuous_are as solve_continuous_are,
    solve_continuous_lyapunov as solve_continuous_lyapunov,
    solve_discrete_are as solve_discrete_are,
    solve_discrete_lyapunov as solve_discrete_lyapunov,
    solve_lyapunov as solve_lyapunov,
    solve_sylvester as solve_sylvester,
)
from linad.scipy.matrix_factors import (
    cho_factor as cho_factor,
    cholesky as cholesky,
    eig as eig,
    eigh as eigh,
    eigvals as eigvals,
    eigvalsh as eigvalsh,
    ldl as ldl,
    lu as lu,
    lu_factor as lu_factor,
    norm as norm,
    qr as qr,
    rq as rq,
    svd as svd,
    svdvals as svdvals,
)
from linad.scipy.matrix_forms import (
    funm as funm,
    hessenberg as hessenberg,
    matrix_balance as matrix_balance,
    rsf2csf as rsf2csf,
    schur as schur,
    signm as signm,
)
from linad.scipy.matrix_functions import (
    coshm as coshm,
    cosm as cosm,
    expm as expm,
    expm_frechet as expm_frechet,
    fractional_matrix_power as fractional_matrix_power,
    logm as logm,
    sinhm as sinhm,
    sinm as sinm,
    sqrtm as sqrtm,
    tanhm as tanhm,
    tanm as tanm,
)
from linad.scipy.matrix_questions import (
    bandwidth as bandwidth,
    ishermitian as ishermitian,
    issymmetric as issymmetric,
)
from linad.scipy.matrix_structures import (
    block_diag as block_diag,
    circulant as circulant,
    convolution_matrix as convolution_matrix,
    fiedler as fiedler,
    hankel as hankel,
    khatri_rao as khatri_rao,
    matmul_toeplitz as matmul_toeplitz,
    toeplitz as toeplitz,
)
from linad.scipy.matrix_systems import (
    cho_solve as cho_solve,
    cho_solve_banded as cho_solve_banded,
    det as det,
    inv as inv,
    lstsq as lstsq,
    lu_solve as lu_solve,
    pinv as pinv,
    pinvh as pinvh,
    solve as solve,
    solve_banded as solve_banded,
    solve_toeplitz as solve_toeplitz,
    solve_triangular as solve_triangular,
    solveh_banded as solveh_banded,
)
from linad.scipy.subspaces import (
    cholesky_banded as cholesky_banded,
    eig_banded as eig_banded,
    eigh_tridiagonal as eigh_tridiagonal,
    eigvals_banded as eigvals_banded,
    eigvalsh_tridiagonal as eigvalsh_tridiagonal,
    null_space as null_space,
    orth as orth,
    orthogonal_procrustes as orthogonal_procrustes,
    subspace_angles as subspace_angles,
)
from linad.scipy.twinforms import twins_among

TWINS = (
    "cdf2rdf",
    "companion",
    "diagsvd",
    "expm_cond",
    "fiedler_companion",
    "leslie",
    "solve_circulant",
)
"""SciPy's own code, run on traced values: see `linad.scipy.twins`."""


__getattr__, __dir__ = mirrored_names(
    scipy.linalg, twins_among(scipy.linalg, TWINS), package=__name__, rooms=("blas", "lapack")
)


@functools.wraps(scipy.linalg.get_blas_funcs)
def get_blas_funcs(names: Any, arrays: Any = (), dtype: Any = None, **ilp64: Any) -> Any:
    blas = importlib.import_module(f"{__name__}.blas")
    original = functools.partial(scipy.linalg.get_blas_funcs, **ilp64)
    return chosen(blas.NAMES, names, arrays, dtype, original)


@functools.wraps(scipy.linalg.get_lapack_funcs)
def get_lapack_funcs(names: Any, arrays: Any = (), dtype: Any = None, **ilp64: Any) -> Any:
    lapack = importlib.import_module(f"{__name__}.lapack")
    original = functools.partial(scipy.linalg.get_lapack_funcs, **ilp64)
    return chosen(lapack.NAMES, names, arrays, dtype, original)
