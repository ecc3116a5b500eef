"""Which primitives NumPy computes inside compiled programs, and that all others have a kernel."""

import numpy as np
from kernels_in_python import kernels_in_python
from rule_cases import TOPICS

import linad
from linad.core.primitive import Primitive
from linad.core.shapes import is_inexact
from linad.sweeps.compiled import Compiled
from linad.sweeps.cpu.target import CPU
from linad.sweeps.instructions import Fallback

IN_NUMPY = """
airy airye apply_operator bdtr bdtrc bdtri betainc_wrt_shapes binomial_pmf carlson
chi_density_wrt_freedom chi_wrt_freedom complex_polygamma coshm cosm eigenpairs ellipj
eval_chebyc eval_chebys eval_chebyt eval_chebyu eval_gegenbauer eval_genlaguerre eval_hermite
eval_hermitenorm eval_jacobi eval_laguerre eval_legendre eval_sh_chebyt eval_sh_chebyu
eval_sh_jacobi eval_sh_legendre expn fractional_matrix_power fresnel gammainc_wrt_shape hankel1
hankel1e hankel2 hankel2e hyp0f1 interp interp_heights it2i0k0 it2j0y0 itairy iti0k0 itj0y0
ive_wrt_order kelvin kn kolmogc kolmogci kolmogp kve_wrt_order lambertw ldexp ldl
logaddexp2_accumulate logaddexp_accumulate logm mathieu_cem mathieu_modcem1 mathieu_modcem2
mathieu_modsem1 mathieu_modsem2 mathieu_sem modfresnelm modfresnelp nbdtr nbdtrc nbdtri ncf_isf
ncf_pdf ncf_sf ncfdtr ncfdtri nct_isf nct_pdf nct_sf nctdtr nctdtrit ncx2_isf ncx2_pdf ncx2_sf pbdv
pbvv pbwa pdtri poisson_pmf ratio_density_wrt_freedoms ratio_wrt_freedoms roots schur schur_turn
schur_turn_pulled shichi sici signm sinhm sinm solve_sylvester sparse_solve sph_legendre_p
spherical_in spherical_kn spherical_yn sqrtm t_expectation tanhm tanm wofz yn zeta
"""
"""A primitive whose kernel is written leaves this list; none comes without notice."""


def falls_back(case):
    """Whether NumPy computes anything of a case's values, in a program of its own."""
    numbers = [
        i
        for i, a in enumerate(case.args)
        if isinstance(a, np.ndarray | np.generic) and is_inexact(a.dtype)
    ]

    def f(*given):
        args = list(case.args)
        for i, value in zip(numbers, given, strict=True):
            args[i] = value
        return case.function(*args, **case.params)

    point = [case.args[i] for i in numbers]
    with np.errstate(all="ignore"):
        program = Compiled(linad.trace(f, *point)[1], [np.array(a) for a in point], CPU).program
        program.give_back(program.borrow())
    return any(isinstance(i, Fallback) for i in program.lowering.instructions)


def test_primitives_in_numpy():
    found = {}
    with kernels_in_python():
        for case in [c for cases in TOPICS.values() for c in cases]:
            if isinstance(case.function, Primitive) and found.get(case.function.name, True):
                found[case.function.name] = falls_back(case)
    assert len(found) > 300
    falling = {name for name, falls in found.items() if falls}
    assert falling ^ (set(IN_NUMPY.split()) & set(found)) == set()  # older SciPy has fewer
