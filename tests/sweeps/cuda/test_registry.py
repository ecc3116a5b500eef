"""Which primitives a GPU computes by kernels of linad's own, and which it leaves to others."""

import linad.scipy.sparse.eigen  # noqa: F401  # whose primitive is there once it is imported
from linad.core.primitive import Primitive
from linad.sweeps.cuda.routines import ROUTINES
from linad.sweeps.cuda.target import CUDA
from linad.sweeps.expansions import EVERYWHERE, ON_GRIDS
from linad.sweeps.loop_reductions import REDUCTIONS
from linad.sweeps.scalar_rows import ROWS
from linad.sweeps.steps import WRITE

NAMES_WITHOUT_KERNEL = """
_ones_like agm airy airye apply_operator apply_stored argpartition argwhere array_equiv bdtr bdtrc
bdtri bei beip ber berp beta betainc betainc_wrt_shapes betaincc betainccinv betaincinv betaln binom
binomial_pmf bitwise_count boxcox boxcox1p carlson chdtr chdtrc chdtri chi_density_wrt_freedom
chi_wrt_freedom chndtr chndtrix cholesky complex_polygamma cosdg coshm cosines cosm cosm1 cotdg
dawsn det diff eig eigen_conditions eigenpairs eigh eigvals einsum ellipe ellipeinc ellipj ellipk
ellipkinc ellipkm1 elliprc elliprd elliprf elliprg elliprj erfi eval_chebyc eval_chebys eval_chebyt
eval_chebyu eval_gegenbauer eval_genlaguerre eval_hermite eval_hermitenorm eval_jacobi eval_laguerre
eval_legendre eval_sh_chebyt eval_sh_chebyu eval_sh_jacobi eval_sh_legendre exp1 expi expm expn
exponent exprel fdtr fdtrc fdtri flatnonzero fourier fractional_matrix_power fresnel full_like
gammainc gammainc_wrt_shape gammaincc gammainccinv gammaincinv gammasgn gcd gdtr gdtrc gdtria gdtrix
hankel1 hankel1e hankel2 hankel2e hyp0f1 hyp1f1 hyp2f1 hyperu i0e i1e interp interp_heights inv
inv_boxcox inv_boxcox1p irfft isin isnat it2i0k0 it2j0y0 it2struve0 itairy iti0k0 itj0y0
itmodstruve0 itstruve0 iv ive ive_wrt_order jv jve k0 k0e k1 k1e kei keip kelvin ker kerp kn kolmogc
kolmogci kolmogi kolmogorov kolmogp kron kv kve kve_wrt_order lambertw lcm ldexp ldl left_rest
log_wright_bessel logaddexp2_accumulate logaddexp2_reduce logaddexp_accumulate logaddexp_reduce
loggamma logical_and_accumulate logical_or_accumulate logical_xor_accumulate logm lpmv lu
mathieu_cem mathieu_modcem1 mathieu_modcem2 mathieu_modsem1 mathieu_modsem2 mathieu_sem matrix_rank
mean modfresnelm modfresnelp modstruve nanargmax nanargmin nbdtr nbdtrc nbdtri ncf_isf ncf_pdf
ncf_sf ncfdtr ncfdtri nct_isf nct_pdf nct_sf nctdtr nctdtrit ncx2_isf ncx2_pdf ncx2_sf ndtri_exp
nonzero nrdtrimn nrdtrisd ones_like owens_t p_norm packbits pbdv pbvv pbwa pdtr pdtrc pdtri poch
poisson_pmf position powm1 pseudo_huber qr qr_rest radian ratio_density_wrt_freedoms
ratio_wrt_freedoms ravel_multi_index rfft rgamma roots schur schur_turn schur_turn_pulled shichi
sici signm sindg sinhm sinm slogdet solve solve_banded solve_sylvester solve_triangular
sparse_product sparse_solve spence sph_legendre_p spherical_in spherical_kn
spherical_yn sqrtm std stdtr stdtrit struve svd t_expectation tandg tanhm tanm tklmbda unpackbits
unravel_index unsorted_positions var voigt_profile wofz wright_bessel wrightomega yn yv yve
zeros_like zeta
"""
"""Primitives without a kernel for a device, whatever their operands. Some have a library there,
`linad.sweeps.cuda.library_routines`; the others raise FallbackError."""


def has_kernel(name):
    primitive = Primitive.registry[name]
    if primitive.view or primitive.expansion is not None:
        return True
    if primitive in EVERYWHERE or primitive in ON_GRIDS:
        return True
    if name in (WRITE, *ROUTINES, *REDUCTIONS):
        return True
    return any([CUDA.has(name, row) for row in ROWS.get(name, ())])


def test_every_primitive_has_a_kernel_or_is_listed():
    found = [name for name in sorted(Primitive.registry) if not has_kernel(name)]
    assert [name for name in found if name != "in1d"] == NAMES_WITHOUT_KERNEL.split()
