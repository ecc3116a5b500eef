"""Rows of elementwise primitives against NumPy: values, dtypes, NaN, infinities and zeros."""

import math

import numpy as np
import pytest
from compiled_runs import check_compiled, fallbacks, in_numpy, in_one_program

from linad.core.primitive import Primitive
from linad.core.settings import config
from linad.core.tape import Var
from linad.sweeps.cpu.target import CPU
from linad.sweeps.kernel_dtypes import name_of_dtype
from linad.sweeps.scalar_rows import ROWS
from linad.sweeps.special_names import ARITY

WITH_PARAMETERS = {"masked", "astype", "astype_exact", "copy", "spread"}
FLOATS = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 5e-324, 1e-310, 1e308, 0.5, -2.5, 3.0, 0.3]
PARTS = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, 2.0, -2.5]
INTEGERS = [0, 1, -1, 2, -3, 7, 63, 31, 64, -64]


def arity(name):
    return 1 + max(k for k in range(4) if f"{{{k}}}" in ROWS[name][0].text)


def operands(dtype, count):
    """Every combination of special values, and random ones."""
    rng = np.random.default_rng(0)
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        values, more = np.array([False, True]), rng.random((count, 50)) > 0.5
    elif dtype.kind == "i":
        limits = np.iinfo(dtype)
        values = np.array([*INTEGERS, limits.max, limits.min])
        more = rng.integers(-20, 20, (count, 50))
    elif dtype.kind == "f":
        values = np.array(FLOATS)
        more = rng.normal(size=(count, 100)) * np.exp(3 * rng.normal(size=(count, 100)))
    else:
        values = np.array([complex(a, b) for a in PARTS for b in PARTS])
        more = rng.normal(size=(count, 100)) + 1j * rng.normal(size=(count, 100))
    if count > 2 or (count > 1 and dtype.kind == "c"):
        grid = values[rng.integers(len(values), size=(count, 500))]
    else:
        grid = np.reshape(np.meshgrid(*[values] * count), (count, -1))
    with np.errstate(all="ignore"):
        return list(np.concatenate([grid, more], axis=1).astype(dtype))


def names_for(arrays):
    """Primitives with a row for such operands, and those of which NumPy has more than that."""
    variables = [Var(k, a.shape, a.dtype) for k, a in enumerate(arrays)]
    compiled, left = [], set()
    for name in ROWS:
        if name in WITH_PARAMETERS or name in ARITY or arity(name) != len(arrays):
            continue
        y = in_numpy(name, arrays, {})
        if y is None or name_of_dtype(y[0].dtype) is None:
            continue
        if CPU.row_of(name, y[0].dtype, variables) is not None:
            compiled.append(name)
        else:
            left.add(name)
    return compiled, left


def apart(found, expected):
    """Where two arrays differ by more than rounding: 4 units in the last place."""
    if expected.dtype.kind not in "fc":
        return found != expected
    eps = np.finfo(expected.dtype).eps

    def differ(a, b, size):
        with np.errstate(all="ignore"):
            close = np.abs(a - b) <= 4 * np.maximum(eps * size, np.spacing(np.zeros((), a.dtype)))
        equal = (a == b) & (np.signbit(a) == np.signbit(b))
        return ~(equal | (np.isnan(a) & np.isnan(b)) | (close & (a != b)))

    if expected.dtype.kind == "f":
        return differ(found, expected, np.abs(expected))
    size = np.abs(expected)
    # The sign of a zero part is lost where the other part was rounded.
    return differ(found.real + 0, expected.real + 0, 2 * size) | differ(
        found.imag + 0, expected.imag + 0, 2 * size
    )


# What no row computes: NumPy does.
LEFT = {
    "f": set(),
    "c": {"rint", "erf", "erfc", "sinc", "maximum", "minimum", "fmax", "fmin", "less"}
    | {"less_equal", "greater", "greater_equal", "xlogy", "xlog1py", "clip"}
    | {"side", "tip", "root", "cube_of_tip"},
    "i": {"reciprocal", "signbit", "power", "tip"},
    "b": {"reciprocal", "signbit", "power", "tip", "floor_divide", "remainder", "fmod"}
    | {"left_shift", "right_shift", "sign", "square", "clip", "spacing", "nextafter"},
}


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize(
    "dtype",
    [
        *(np.float64, np.complex128, np.int64, np.bool_),
        *[pytest.param(t, marks=pytest.mark.full) for t in (np.float32, np.complex64, np.int32)],
    ],
)
def test_rows_agree_with_numpy(dtype, count):
    arrays = operands(dtype, count)
    names, left = names_for(arrays)
    assert left <= LEFT[np.dtype(dtype).kind]
    expected, found, program = in_one_program(names, arrays)
    assert not fallbacks(program)
    for name, y, got in zip(names, expected, found, strict=True):
        assert got.dtype == y.dtype, name
        if name == "erfc":  # SciPy's is 160 units off; the C library's is not
            y = np.array([math.erfc(x) for x in arrays[0].tolist()], y.dtype)
        bad = apart(got, y)
        if name == "arccosh" and y.dtype.kind == "c":
            # C's answer at 0 + i NaN was amended; older NumPy gives the former one.
            bad &= ~((arrays[0].real == 0) & np.isnan(arrays[0].imag))
        if bad.any():
            k = int(np.flatnonzero(bad)[0])
            at = [a[k] for a in arrays]
            pytest.fail(f"{name}{tuple(at)}: {got[k]!r} came, NumPy gives {y[k]!r}")


def test_every_primitive_of_the_table_exists():
    assert ROWS.keys() <= Primitive.registry.keys()


MATH = {
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "cbrt": np.cbrt,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "arcsin": np.arcsin,
    "arccos": np.arccos,
    "arctan": np.arctan,
    "arcsinh": np.arcsinh,
    "arccosh": np.arccosh,
    "arctanh": np.arctanh,
}


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 60, reason="needs a wider type to compare with")
@pytest.mark.parametrize("vector", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_elementary_functions_are_within_four_units(dtype, vector):
    rng = np.random.default_rng(1)
    x = np.concatenate(
        [rng.normal(size=2000) * 5, rng.uniform(-1, 1, 2000), np.exp(rng.uniform(-80, 80, 2000))]
    ).astype(dtype)
    with config(vector_math=vector):
        _, found, program = in_one_program(list(MATH), [x])
    assert not fallbacks(program)
    for (name, function), got in zip(MATH.items(), found, strict=True):
        with np.errstate(all="ignore"):
            exact = function(x.astype(np.longdouble))
            rounded = exact.astype(dtype)
            units = np.abs(got - exact) / np.spacing(np.abs(rounded))
        fine = np.isnan(exact) & np.isnan(got) | (got == rounded) | (units <= 4)
        assert fine.all(), f"{name}: {units[~fine].max()} units at {x[~fine][:3]}"


def test_rows_with_parameters():
    x = np.array([[1.5, -2.0, np.nan], [np.inf, 0.0, 7.9]])
    mask = np.array([[True, False, True], [False, True, True]])
    masked, spread = Primitive.registry["masked"], Primitive.registry["spread"]
    check_compiled(lambda x: masked(x, mask=mask), x)
    check_compiled(lambda x: spread(x, shape=(4, 2, 3)), x)
    check_compiled(lambda x: np.copy(x), x)
    for dtype in (np.float32, np.complex128, np.bool_):
        check_compiled(lambda x, dtype=dtype: np.astype(x, dtype), x)
    finite = np.where(np.isfinite(x), x, 0)
    for dtype in (np.int64, np.int32):
        check_compiled(lambda x, dtype=dtype: np.astype(x, dtype), finite)


VIEWS = {
    "steps": lambda x: x[::-1, ::2],
    "transposed": lambda x: x.T,
    "column": lambda x: x[:, 1:2],
    "row": lambda x: x[1],
    "broadcast": lambda x: np.broadcast_to(x[2], (3, 6)),
    "three axes": lambda x: x.reshape(2, 2, 6)[:, ::-1].transpose(2, 0, 1),
}


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("dtype", [np.float64, np.complex64])
def test_strided_operands(view, dtype):
    x = (np.arange(24.0).reshape(4, 6) + 1).astype(dtype)
    check_compiled(lambda x: np.exp(-view(x)) * view(x) + 1 / view(x), x, rtol=1e-6)


def test_dtypes_meet_as_in_numpy():
    x = np.linspace(-3, 3, 7)

    def f(x):
        i, b, s = np.astype(np.rint(x), np.int64), x > 0, np.astype(x, np.float32)
        z = x + 1j * x[::-1]
        return [
            i + b, i * s, i / i[::-1], b & (i > 0), s * z, i // 2, i % 3, i * i, i < s, b + b,
            np.where(b, i, s), np.maximum(i, b), np.sqrt(i * i), b * x, z == x, -i, ~b, ~i, i << 2,
            np.logical_and(z, i), np.sign(z), np.abs(z), np.abs(i), i - 2.5, s + 1, s * 2.0,
        ]  # fmt: skip

    check_compiled(f, x, rtol=1e-6)
