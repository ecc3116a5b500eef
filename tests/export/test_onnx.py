"""linad.onnx: models beside the functions they were written from, by ONNX's reference evaluator."""

import re
import subprocess
import sys

import numpy as np
import onnx_cases
import pytest
from exported_programs import PROGRAMS, gradient, hessian_product, tangent

import linad
import linad.scipy.sparse.eigen  # whose primitive is there once it is imported
from linad.core.primitive import Primitive
from linad.core.tape import Equation, Source, Var
from linad.errors import ExportError
from linad.export import onnx_graph, onnx_model, onnx_program
from linad.export.onnx_writer import COMPLEX_FORMS, FORMS, Writer

assert onnx_graph.FORM_MODULES


NAMES_WITHOUT_FORM = """
agm airy airye apply_operator apply_stored argwhere array_equiv bdtr bdtrc bdtri bei beip ber berp
betainc_wrt_shapes betainccinv betaincinv binom binomial_pmf bitwise_count carlson chdtri
chi_density_wrt_freedom chi_wrt_freedom chndtr chndtrix complex_polygamma cosm dawsn eig
eigen_conditions eigenpairs eigvals ellipeinc ellipj ellipkinc elliprc elliprd elliprf elliprg
elliprj erfi eval_chebyc eval_chebys eval_gegenbauer eval_genlaguerre eval_jacobi eval_sh_chebyt
eval_sh_chebyu eval_sh_jacobi eval_sh_legendre expi expn exponent fdtri flatnonzero
fractional_matrix_power fresnel gammainc_wrt_shape gammainccinv gammaincinv gcd gdtria gdtrix
hankel1 hankel1e hankel2 hankel2e hyp0f1 hyp2f1 hyperu interp interp_heights isnat it2i0k0 it2j0y0
it2struve0 itairy iti0k0 itj0y0 itmodstruve0 itstruve0 ive_wrt_order jve kei keip kelvin ker kerp
kolmogc kolmogci kolmogi kolmogorov kolmogp kve_wrt_order lambertw lcm ldl left_rest left_shift
log_wright_bessel loggamma logm lpmv mathieu_cem mathieu_modcem1 mathieu_modcem2 mathieu_modsem1
mathieu_modsem2 mathieu_sem matrix_rank modfresnelm modfresnelp modstruve nbdtr nbdtrc nbdtri
ncf_isf ncf_pdf ncf_sf ncfdtr ncfdtri nct_isf nct_pdf nct_sf nctdtr nctdtrit ncx2_isf ncx2_pdf
ncx2_sf ndtri_exp nextafter nonzero nrdtrimn nrdtrisd owens_t packbits pbdv pbvv pbwa pdtri
poisson_pmf qr_rest ratio_density_wrt_freedoms ratio_wrt_freedoms ravel_multi_index right_shift
roots schur schur_turn schur_turn_pulled shichi sici signm sinm spacing spence sph_legendre_p
spherical_in spherical_jn spherical_kn spherical_yn sqrtm stdtrit struve t_expectation tanm tklmbda
truncated_pinv unique_positions unpackbits unravel_index unsorted_positions voigt_profile wofz
wright_bessel wrightomega yve
"""
"""Primitives that raise ExportError, whatever their operands."""

WITHOUT_FORM = NAMES_WITHOUT_FORM.split()


# The registry.


def test_every_primitive_has_a_form_or_is_listed():
    written = set(FORMS) | set(COMPLEX_FORMS)
    assert sorted(set(Primitive.registry) - written - {"in1d"}) == sorted(WITHOUT_FORM)
    assert written <= set(Primitive.registry)


def test_the_others_raise_with_name_and_line():
    source = Source("elsewhere.py", 7)
    x, y = Var(0, (3,), np.dtype(float)), Var(1, (3,), np.dtype(float))
    writer = Writer()
    writer.names[x] = "x"
    for name in WITHOUT_FORM:
        equation = Equation(Primitive.registry[name], (x,), {}, (y,), source)
        with pytest.raises(ExportError, match=rf"onnx: {name} at elsewhere.py:7.* no form in"):
            writer.equations([equation])


SAMPLE = 60
"""The default run takes every 60th case."""


def check_cases(chosen, dtype, monkeypatch):
    """Each case's equations as they are, and its derivative simplified; or a refusal by name."""
    cases = {n: c for n, c in onnx_cases.cases().items() if onnx_cases.is_exported(c)}
    count = 0
    for name in [*cases][chosen]:
        for program in onnx_cases.programs(cases[name], dtype):
            if program.simple:
                monkeypatch.setattr(onnx_program, "simplify", lambda tape: tape)
            exported = program.exported()
            monkeypatch.undo()
            if exported is not None:
                with linad.config(disconnected="ignore"):
                    exported.check()
                count += 1
    return count


def test_a_sample_of_the_cases(monkeypatch):
    assert check_cases(slice(0, None, SAMPLE), None, monkeypatch) > 20


@pytest.mark.full
@pytest.mark.parametrize("dtype", [None, np.float32], ids=["double", "single"])
@pytest.mark.parametrize("part", range(4))
def test_all_cases(part, dtype, monkeypatch):
    assert check_cases(slice(part, None, 4), dtype, monkeypatch) > 300


X = np.array([0.8, -1.1, 1.7, np.nan, 0.25])
INTEGERS = np.array([3, 0, 6])

SMALL = {
    "comparisons": lambda x: [x > 0, x >= 0.8, x < 0, x <= 0.8, x == 0.8, x != 0.8],
    "logic": lambda x: [
        np.logical_and(x, x > 0),
        np.logical_or(x, x > 0),
        np.logical_xor(x, x > 1),
        np.logical_not(x),
        (x > 0) & (x < 1) | ~(x > 1) ^ (x < 0.5),
    ],
    "rounding": lambda x: [
        np.floor(x),
        np.ceil(x),
        np.rint(x),
        np.trunc(x),
        np.round(x, 1),
        np.sign(x),
    ],
    "kinds of numbers": lambda x: [
        np.isnan(x),
        np.isinf(x),
        np.isfinite(x),
        np.isposinf(x),
        np.isneginf(x),
        np.isreal(x),
        np.iscomplex(x),
        np.signbit(x),
        np.isclose(x, 0.8),
        np.isclose(x, X, equal_nan=True),
        np.isclose(x, 0.8, 1e-3, 1e-9),
    ],
    "places": lambda x: [
        np.argmax(x),
        np.argmin(x[:3]),
        np.nanargmax(x),
        np.nanargmin(x),
        np.argsort(x[:3]),
        np.searchsorted(np.array([0.0, 0.5, 1.0]), x[:3]),
        np.digitize(x[:3], [0.0, 0.5, 1.0]),
        np.digitize(x[:3], [1.0, 0.5, 0.0]),
        np.lexsort((x[:3] > 0, x[:3])),
        np.isin(x, [0.8]),
    ],
    "counts": lambda x: [
        np.count_nonzero(x > 0),
        np.any(x > 0),
        np.all(x > 0),
        np.array_equal(x, X),
        np.logical_and.reduce(x > 0),
        np.logical_or.reduce(x > 0),
        np.logical_xor.reduce(x > 0),
    ],
    "copies": lambda x: [
        x.copy(),
        +x,
        np.real(x),
        np.conj(x),
        np.zeros_like(x),
        np.full_like(x, 2),
    ],
}


@pytest.mark.parametrize("name", SMALL)
def test_functions_without_a_derivative(name, monkeypatch):
    def f(x):
        found = SMALL[name](x)
        return [y for y in found if not isinstance(y, (bool, int))]

    monkeypatch.setattr(onnx_program, "simplify", lambda tape: tape)
    assert linad.onnx(f)(X).check() == 0


@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated:DeprecationWarning")  # NumPy 2.5
def test_fix():
    assert linad.onnx(np.fix)(X).check() == 0


def test_whole_parts_and_signs_of_zero():
    def f(x):
        return np.divmod(x, -0.3), x % 0.7, np.fmod(x, 0.7), np.arctan2(x, -x), np.arctan2(x, x)

    points = np.array([0.0, -0.0, 0.7, 1.4, 2.1, -2.1, -0.3, 0.9])
    assert linad.onnx(f)(points).check() < 1e-15


def test_hessians():
    f = linad.hessian(lambda x: np.sum(np.sin(x) * x**2) * x[0])
    linad.onnx(f)(np.cos(np.arange(6.0))).check()


def test_integers():
    def f(i, x):
        return [i // 2, i % 2, i * i, -i, i & 3, i | 3, i ^ 3, ~i, x[: len(i)] * i, i.astype(float)]

    assert linad.onnx(f)(INTEGERS, X[:3]).check() == 0


# Programs.


QUICK = ("writes", "statistics", "attention", "branches", "single", "factors", "hessian", "film")


@pytest.mark.parametrize("derivative", [gradient, tangent, hessian_product])
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.full) for n in PROGRAMS]
)
def test_derivatives_of_programs(name, derivative):
    f, args = derivative(*PROGRAMS[name])
    linad.onnx(f)(*args).check()


def test_running_truths():
    def f(x):
        return [u.accumulate(x > 0) for u in (np.logical_and, np.logical_or, np.logical_xor)]

    assert linad.onnx(f)(np.sin(np.arange(12.0)).reshape(4, 3)).check() == 0


# Names.


# Decisions.


# Axes of any length.


# Refusals.


def test_a_primitive_of_the_user_is_refused_by_name_and_line():
    @linad.primitive
    def twice(x):
        return 2 * x

    with pytest.raises(ExportError, match=r"onnx: twice at .*not one of linad's own primitives"):
        linad.onnx(lambda x: twice(x))(np.ones(2))


@pytest.mark.full
def test_import_linad_imports_no_onnx():
    code = "import sys, linad; linad.onnx; assert 'onnx' not in sys.modules"
    subprocess.run([sys.executable, "-P", "-c", code], check=True)


def test_without_onnx_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(onnx_model.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=re.escape("pip install 'linad[onnx]'")):
        linad.onnx(np.sin)
