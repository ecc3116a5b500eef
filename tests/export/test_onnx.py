"""linad.onnx: models beside the functions they were written from, by ONNX's reference evaluator."""

import re
import subprocess
import sys

import numpy as np
import onnx
import onnx_cases
import pytest
import scipy.special
from onnx_programs import NETWORK, PROGRAMS, gradient, hessian_product, network, tangent

import linad
import linad.scipy.sparse.eigen  # whose primitive is there once it is imported
from linad.core.primitive import Primitive
from linad.core.tape import Equation, Source, Var
from linad.errors import ExportError, GuardError
from linad.export import onnx_graph, onnx_model, onnx_program
from linad.export.onnx_writer import COMPLEX_FORMS, FORMS, Writer

assert onnx_graph.FORM_MODULES

rng = np.random.default_rng(0)

NAMES_WITHOUT_FORM = """
agm airy airye apply_operator argwhere array_equiv bdtr bdtrc bdtri bei beip ber berp
betainc_wrt_shapes betainccinv betaincinv binom binomial_pmf bitwise_count carlson chdtri chndtr
chndtrix cosm dawsn eig eigen_conditions eigenpairs eigvals ellipeinc ellipj ellipkinc elliprc
elliprd elliprf elliprg elliprj erfi eval_chebyc eval_chebys eval_gegenbauer eval_genlaguerre
eval_jacobi eval_sh_chebyt eval_sh_chebyu eval_sh_jacobi eval_sh_legendre expi expn exponent fdtri
flatnonzero fractional_matrix_power fresnel gammainc_wrt_shape gammainccinv gammaincinv gcd gdtria
gdtrix hankel1 hankel1e hankel2 hankel2e hyp0f1 hyp2f1 hyperu isnat it2i0k0 it2j0y0 it2struve0
itairy iti0k0 itj0y0 itmodstruve0 itstruve0 jve kei keip kelvin ker kerp kolmogi kolmogorov lambertw
lcm left_rest left_shift log_wright_bessel loggamma logm lpmv mathieu_cem mathieu_modcem1
mathieu_modcem2 mathieu_modsem1 mathieu_modsem2 mathieu_sem matrix_rank modfresnelm modfresnelp
modstruve nbdtr nbdtrc nbdtri ndtri_exp nextafter nonzero nrdtrimn nrdtrisd owens_t packbits pbdv
pbvv pbwa pdtri poisson_pmf qr_rest raises ravel_multi_index right_shift roots shichi sici sinm
spacing spence spherical_in spherical_jn spherical_kn spherical_yn sqrtm stdtrit struve tanm tklmbda
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


UNIT = np.concatenate([np.linspace(-0.99, 0.99, 23), [1e-9, 1 - 1e-12, 1.0, -1.0]])
ABOVE = np.concatenate([np.geomspace(1e-6, 90.0, 23), [0.0, 200.0]])

SPECIAL = {
    "erfinv": (scipy.special.erfinv, UNIT),
    "erfcinv": (scipy.special.erfcinv, np.append(1 + UNIT, [1e-300, 1e-17, 3.0])),
    "ndtri": (scipy.special.ndtri, np.append(0.5 + UNIT / 2, 1e-300)),
    "ellipk": (scipy.special.ellipk, np.append(UNIT, [-60.0, 1.5])),
    "ellipe": (scipy.special.ellipe, np.append(UNIT, [-60.0, 1.5])),
    "ellipkm1": (scipy.special.ellipkm1, np.append(ABOVE, 1e-300)),
    "exp1": (scipy.special.exp1, ABOVE),
    "gammainc": (lambda x: scipy.special.gammainc(2.5, x), ABOVE),
    "gammaincc": (lambda x: scipy.special.gammaincc(x[:-1], x[-2::-1]), ABOVE),
    "betainc": (lambda x: scipy.special.betainc(7.5, 0.5, x), np.abs(UNIT)),
    "betaincc": (lambda x: scipy.special.betaincc(0.5, 40.0, x), np.abs(UNIT)),
    "distributions": (
        lambda x: [
            scipy.special.chdtr(3, x),
            scipy.special.chdtrc(2.5, x),
            scipy.special.gdtr(0.5, 4.0, x),
            scipy.special.gdtrc(0.5, 4.0, x),
            scipy.special.pdtr(4, x),
            scipy.special.pdtrc(np.minimum(x, 90.0), 2.5),
            scipy.special.fdtr(3.0, 8.0, x),
            scipy.special.fdtrc(3.0, 8.0, x),
            scipy.special.stdtr(2.5, x),
        ],
        np.append(ABOVE, [-0.5, -3.0]),
    ),
    "shapes": (
        lambda x: (
            [
                scipy.special.betainc(a, b, x)
                for a, b in [(0.0, 1.0), (1.0, 0.0), (0.0, 0.0), (-1.0, 1.0)]
            ]
            + [scipy.special.gammainc(0.0, x), scipy.special.gammaincc(-1.0, x)]
        ),
        np.array([0.0, 0.3, 1.0, -0.1, 1.1]),
    ),
    "j0": (scipy.special.j0, np.append(-ABOVE, 1e5)),
    "jv": (lambda x: scipy.special.jv(-3, x), np.append(-ABOVE, 1e5)),
    "y1": (scipy.special.y1, ABOVE[6:]),
    "yv": (lambda x: scipy.special.yv(4, x), 1 + ABOVE),
    "k0": (scipy.special.k0, ABOVE[:-2]),
    "kve": (lambda x: scipy.special.kve(6, x), 1 + ABOVE),
    "polynomials": (
        lambda x: (
            [scipy.special.eval_legendre(n, x) for n in (0, 1, 9)]
            + [scipy.special.eval_hermite(4, x), scipy.special.eval_laguerre(3, x)]
        ),
        UNIT,
    ),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", SPECIAL)
def test_special_functions_to_rounding(name):
    f, points = SPECIAL[name]
    assert linad.onnx(lambda x: f(x))(points).check() < 1e-13


def test_shapes_beyond_the_steps_of_the_loops_are_refused():
    with pytest.raises(ExportError, match="its shapes must be at most 200, got 300"):
        linad.onnx(lambda x: scipy.special.gammainc(300.0, x))(np.ones(2))


def test_running_truths():
    def f(x):
        return [u.accumulate(x > 0) for u in (np.logical_and, np.logical_or, np.logical_xor)]

    assert linad.onnx(f)(np.sin(np.arange(12.0)).reshape(4, 3)).check() == 0


# Names.


def loss(params, x):
    return np.mean((np.tanh(x @ params["W"]) + params["b"][0]) ** 2)


PARAMS = {"W": np.ones((3, 2)), "b": [np.zeros(2)]}


def test_names_of_containers_are_kept():
    exported = linad.onnx(linad.value_and_grad(loss))(PARAMS, np.ones((4, 3)))
    assert list(exported.inputs) == ["params_W", "params_b_0", "x"]
    assert list(exported.outputs) == ["value", "grad_params_W", "grad_params_b_0"]
    assert exported.inputs["params_W"] == ((3, 2), np.float64)
    graph = exported.model.graph
    assert [v.name for v in graph.input] == list(exported.inputs)
    assert [v.name for v in graph.output] == list(exported.outputs)


def test_results_in_containers_are_named_after_their_keys():
    def f(x, *, scale):
        x[0] = 2.0
        return {"sum": np.sum(x) * scale, "count": 3, "text": "no array", "both": (x, -x)}

    exported = linad.onnx(f)(np.ones(2), scale=3.0)
    assert list(exported.inputs) == ["x", "scale"]
    assert list(exported.outputs) == ["both_0", "both_1", "count", "sum", "x_written"]
    assert exported.check(np.full(2, 5.0), scale=2.0) == 0


def test_a_model_is_saved_for_all(tmp_path):
    exported = linad.onnx(loss)(PARAMS, np.ones((4, 3)))
    exported.save(tmp_path / "loss.onnx")
    model = onnx.load(tmp_path / "loss.onnx")
    onnx.checker.check_model(model, full_check=True)
    assert model.ir_version == 10
    assert {o.domain: o.version for o in model.opset_import}[""] == 21


# Decisions.


def test_decisions_are_an_output():
    exported = linad.onnx(linad.grad(lambda x: np.sum(x**2) if x[0] > 0 else -np.sum(x)))(
        np.ones(2)
    )
    assert list(exported.outputs) == ["grad_x", "decisions_hold"]
    exported.check(np.array([3.0, -1.0]))
    with pytest.raises(GuardError, match="decisions_hold is False"):
        exported.check(np.array([-3.0, 1.0]))


SCALE, TABLE = [2.0], np.array([3.0, 4.0])


def test_what_a_function_reads_from_outside_is_part_of_the_model():
    def f(x):
        return np.sum(x * TABLE) * SCALE[0] if TABLE[0] > 0 else np.sum(x)

    exported = linad.onnx(linad.value_and_grad(f))(np.ones(2))
    assert list(exported.inputs) == ["x"]
    exported.check(np.array([0.5, -1.0]))


def test_programs_without_decisions_have_no_such_output():
    assert "decisions_hold" not in linad.onnx(np.sin)(np.ones(2)).outputs


# Axes of any length.


@pytest.mark.parametrize("n", [1, 2, 6, 11, 30])
def test_one_model_for_batches_of_any_length(n):
    exported = linad.onnx(
        linad.value_and_grad(network), axes={"x": {0: "batch"}, "y": {0: "batch"}}
    )(NETWORK, np.ones((5, 3)), np.ones((5, 2)))
    assert exported.inputs["x"].shape == ("batch", 3)
    exported.check(NETWORK, rng.standard_normal((n, 3)), rng.random((n, 2)))


def test_results_and_derivatives_along_the_batch():
    def f(x, c):
        d = x[1:] - x[:-1]
        moments = np.var(x, axis=0) + np.std(x, axis=0, ddof=1)
        return np.cumsum(d, axis=0) * c, moments, x[::-1], x.reshape(-1)

    exported = linad.onnx(f, axes={"x": {0: "n"}})(np.ones((4, 2)), np.ones(2))
    assert [v.shape for v in exported.outputs.values()] == [
        ("1*n-1", 2),
        (2,),
        ("n", 2),
        ("2*n+0",),
    ]
    for n in (2, 5, 9):
        exported.check(rng.standard_normal((n, 2)), np.ones(2))


@pytest.mark.parametrize(
    "f",
    [
        pytest.param(lambda x: sum(x[k] for k in range(len(x))), id="loop"),
        pytest.param(lambda x: x @ np.cos(np.arange(len(x))), id="table"),
        pytest.param(lambda x: np.linalg.solve(np.outer(x, x) + np.eye(len(x)), x), id="matrix"),
    ],
)
def test_what_goes_by_the_length_is_refused(f):
    with pytest.raises(ExportError, match="'n' cannot have any length: .* without axes"):
        linad.onnx(f, axes={"x": {0: "n"}})(rng.standard_normal(4))


def test_axes_are_checked():
    f = linad.onnx(np.sin, axes={"z": {0: "n"}})
    with pytest.raises(ExportError, match="'z' is not one of"):
        f(np.ones(3))
    with pytest.raises(ExportError, match=r"expected an axis of x0? in \[0, 1\), got 1"):
        linad.onnx(lambda x: np.sin(x), axes={"x": {1: "n"}})(np.ones(3))
    with pytest.raises(ExportError, match="expected one name"):
        linad.onnx(lambda x: np.sin(x), axes={"x": {0: "n", 1: "m"}})(np.ones((3, 2)))


# Refusals.


def test_a_primitive_of_the_user_is_refused_by_name_and_line():
    @linad.primitive
    def twice(x):
        return 2 * x

    with pytest.raises(ExportError, match=r"onnx: twice at .*not one of linad's own primitives"):
        linad.onnx(lambda x: twice(x))(np.ones(2))


def test_complex_numbers_are_refused():
    with pytest.raises(ExportError, match="argument z is complex128.*no complex arithmetic"):
        linad.onnx(lambda z: z * z)(np.ones(2) + 1j)
    with pytest.raises(ExportError, match=r"the result y: .*no complex arithmetic"):
        linad.onnx(np.fft.rfft)(np.ones(4))
    with pytest.raises(ExportError, match=r"onnx: tan at .*no complex arithmetic"):
        linad.onnx(lambda x: np.tan(1j * x).imag)(np.ones(4))


@pytest.mark.parametrize("n", [1, 2, 5, 64, 97, 100, 210])
def test_fourier_transforms_of_any_length(n):
    def f(x):
        z = np.fft.rfft(x)
        return z.real, z.imag, np.fft.irfft(z, n), np.fft.irfft(z, n + 3), np.fft.ifft(x).imag

    assert linad.onnx(f)(rng.standard_normal(n)).check() < 1e-14


def test_powers_and_roots_of_complex_numbers():
    def f(x):
        z = x * (1 + 1j) - 0.5j
        found = z**3, z**-2, z**0.5, (0 * z) ** 2.5, np.sqrt(z), np.sqrt(-z), np.sinh(z), np.cos(z)
        return [part for y in found for part in (y.real, y.imag)]

    assert linad.onnx(f)(np.array([0.5, -1.25, 2.0])).check() < 1e-14


@pytest.mark.filterwarnings("ignore:Casting complex")
@pytest.mark.parametrize("dtype", [bool, int, np.int32])
def test_complex_numbers_cast_to_exact_ones(dtype):
    def f(x):
        z = x + 1j * x[::-1]
        return z.astype(dtype) * 1.0, (0 * x + 1j * x).astype(dtype)

    exported = linad.onnx(f)(np.array([0.0, 1.0, 2.0, -3.7, 0.0]))
    assert exported.check() == 0


@pytest.mark.full
def test_import_linad_imports_no_onnx():
    code = "import sys, linad; linad.onnx; assert 'onnx' not in sys.modules"
    subprocess.run([sys.executable, "-P", "-c", code], check=True)


def test_without_onnx_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(onnx_model.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=re.escape("pip install 'linad[onnx]'")):
        linad.onnx(np.sin)
