"""Functions written against the array API standard, by the namespace that a traced value gives."""

import sys
import types

import numpy as np
import pytest

import linad
import linad.numpy as lnp

# A version that the arrays of every supported NumPy answer to. What `numpy.__array_api_version__`
# announces is not always one: NumPy 2.5 announces 2025.12, and its arrays refuse it.
VERSION = "2023.12"

# The functions of the standard in its version 2024.12.
STANDARD = """
e inf nan newaxis pi arange asarray empty empty_like eye from_dlpack full full_like linspace
meshgrid ones ones_like tril triu zeros zeros_like astype broadcast_arrays broadcast_to can_cast
finfo iinfo isdtype result_type abs acos acosh add asin asinh atan atan2 atanh bitwise_and
bitwise_left_shift bitwise_invert bitwise_or bitwise_right_shift bitwise_xor ceil clip conj copysign
cos cosh divide equal exp expm1 floor floor_divide greater greater_equal hypot imag isfinite isinf
isnan less less_equal log log1p log2 log10 logaddexp logical_and logical_not logical_or logical_xor
maximum minimum multiply negative nextafter not_equal positive pow real reciprocal remainder round
sign signbit sin sinh square sqrt subtract tan tanh trunc take take_along_axis matmul
matrix_transpose tensordot vecdot concat expand_dims flip moveaxis permute_dims repeat reshape roll
squeeze stack tile unstack argmax argmin count_nonzero nonzero searchsorted where unique_all
unique_counts unique_inverse unique_values argsort sort cumulative_prod cumulative_sum max mean min
prod std sum var all any diff bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32
float64 complex64 complex128
"""
LINALG = """
cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank
matrix_transpose outer pinv qr slogdet solve svd svdvals tensordot trace vecdot vector_norm
"""
FFT = """
fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fftfreq rfftfreq fftshift ifftshift
"""

A = np.array([[1.0, 2.5, -0.5], [0.3, -1.2, 4.0]])
S = A.T @ A + np.eye(3)

PROGRAMS = {
    "astype": lambda xp, x: xp.astype(x, xp.float32),
    "asarray": lambda xp, x: xp.asarray(x, copy=True) * x,
    "atan2": lambda xp, x: xp.atan2(x, x + 7.0),
    "clip": lambda xp, x: xp.clip(x, min=0.5, max=3.0),
    "concat": lambda xp, x: xp.concat([x, x**2], axis=1),
    "cumulative": lambda xp, x: xp.cumulative_sum(x, axis=1, include_initial=True),
    "cumulative_prod": lambda xp, x: xp.cumulative_prod(x, axis=0),
    "device": lambda xp, x: xp.asarray(x, device=x.device) + x.to_device("cpu"),
    "fft": lambda xp, x: xp.abs(xp.fft.rfft(x)),
    "isdtype": lambda xp, x: x * xp.isdtype(x.dtype, "real floating"),
    "matrix_norm": lambda xp, x: xp.linalg.matrix_norm(x),
    "matrix_transpose": lambda xp, x: xp.matrix_transpose(x) @ x + x.mT @ x,
    "moveaxis": lambda xp, x: xp.moveaxis(x, 0, 1) ** 2,
    "permute_dims": lambda xp, x: xp.permute_dims(x, (1, 0)) ** 2,
    "pow": lambda xp, x: xp.pow(x, 2.0),
    "qr": lambda xp, x: xp.linalg.qr(x.mT).R,
    "sort": lambda xp, x: xp.sort(x, axis=0) * xp.sort(x, stable=False),
    "std": lambda xp, x: xp.std(x, axis=1, correction=1, keepdims=True),
    "svd": lambda xp, x: xp.linalg.svdvals(x) * xp.linalg.svd(x, full_matrices=False).S,
    "take_along_axis": lambda xp, x: xp.take_along_axis(x, xp.argsort(x, axis=1), axis=1) * x,
    "unique": lambda xp, x: xp.unique_values(x) ** 2 + xp.unique_all(x).values,
    "unstack": lambda xp, x: xp.unstack(x)[0] ** 2,
    "vecdot": lambda xp, x: xp.vecdot(x, x) + xp.linalg.vector_norm(x),
    "where": lambda xp, x: xp.where(x > 2, x**2, xp.zeros_like(x)),
}


def test_the_standard_is_there():
    missing = [
        f"{module.__name__}.{name}"
        for module, names in [(lnp, STANDARD), (lnp.linalg, LINALG), (lnp.fft, FFT)]
        for name in names.split()
        if not hasattr(module, name)
    ]
    assert missing == []


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    def f(x):
        xp = x.__array_namespace__(api_version=VERSION)
        return xp.sum(PROGRAMS[name](xp, x))

    if name != "astype":  # differences of single precision tell nothing
        linad.check_derivatives(f, A)
    np.testing.assert_allclose(linad.jit(linad.grad(f))(A), linad.grad(f)(A), rtol=1e-6, atol=1e-12)


def version_answered(array, version):
    try:
        return array.__array_namespace__(api_version=version) is not None
    except ValueError as error:
        return str(error)


# The version that NumPy announces is VERSION for some and another for others.
@pytest.mark.parametrize("version", [None, *sorted({VERSION, np.__array_api_version__, "1999.12"})])
def test_a_traced_array_answers_to_the_versions_of_an_array(version):
    answers = []
    linad.grad(lambda x: answers.append(version_answered(x, version)) or np.sum(x))(A)
    assert answers == [version_answered(A, version)]


@pytest.mark.parametrize("name", ["cholesky", "det", "eigvalsh", "inv", "pinv"])
def test_square_matrices(name):
    def f(x):
        xp = x.__array_namespace__()
        return xp.sum(getattr(xp.linalg, name)((x + x.mT) / 2) ** 3)

    linad.check_derivatives(f, S)


class TestDescending:
    TIES = np.array([2.0, 1.0, 2.0, 3.0, 1.0])

    def test_equal_entries_keep_their_order(self):
        assert lnp.argsort(self.TIES, descending=True).tolist() == [3, 0, 2, 1, 4]
        assert lnp.argsort(self.TIES, descending=True, stable=False)[0] == 3
        assert lnp.sort([1, 3, 2], descending=True).tolist() == [3, 2, 1]

    @pytest.mark.parametrize("axis", [0, 1, -1, None])
    def test_axes(self, axis):
        expected = -np.sort(-A, axis=axis)
        np.testing.assert_array_equal(lnp.sort(A, axis, descending=True), expected)
        J = linad.jacobian(lambda x: lnp.sort(x, axis=axis, descending=True))(A)
        np.testing.assert_array_equal(np.tensordot(J, A, 2), expected)


def helpers(package):
    """A module that asks for namespaces as array_api_compat does, inside of a package."""
    module = types.ModuleType(f"{package}.common._helpers")
    source = """
def array_namespace(*xs, api_version=None, use_compat=None):
    found = []
    for x in xs:
        found.append(x.__array_namespace__(api_version=api_version))
    return found
"""
    exec(source, module.__dict__)
    return module.array_namespace


def test_beside_plain_arrays_there_is_one_namespace(monkeypatch):
    package = "someone._external.array_api_compat"
    theirs = types.ModuleType(f"{package}.numpy")
    for name in ("someone", "someone._external", package):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, theirs.__name__, theirs)
    ask, found = helpers(package), []

    def f(x, *others, **options):
        found.append(ask(x, *others, **options)[0])
        return np.sum(x)

    linad.grad(f)(A)
    linad.grad(f)(A, A)
    linad.grad(f)(A, A, use_compat=False)
    linad.grad(f, argnums=(0, 1))(A, A)
    assert found == [lnp, theirs, np, lnp]
