"""Functions that write into an array they are given: arrays of other dtypes, and no arrays."""

import numpy as np
import pytest

import linad
from linad.arrays.out_argument import output_position
from linad.core.dispatch import FUNCTIONS, UFUNCS
from linad.errors import LinadError, UnsupportedError

X = np.array([[0.3, 0.7, 0.5], [2.9, 1.6, 3.8]])

CALLS = {
    "sum": lambda x, out: np.sum(x, axis=0, out=out),
    "sum as a method": lambda x, out: x.sum(0, out=out),
    "add.reduce": lambda x, out: np.add.reduce(x, axis=0, out=out),
    "add.accumulate": lambda x, out: np.add.accumulate(x[1], out=out),
    "add.reduceat": lambda x, out: np.add.reduceat(x[1], [0, 1, 2], out=out),
    "multiply.reduce": lambda x, out: np.multiply.reduce(x * 3, axis=0, out=out),
    "logical_and.reduce": lambda x, out: np.logical_and.reduce(x, axis=0, out=out),
    "cumsum": lambda x, out: np.cumsum(x[1], out=out),
    "prod": lambda x, out: np.prod(x * 3, axis=0, out=out),
    "mean": lambda x, out: np.mean(x * 3, axis=0, out=out),
    "var": lambda x, out: np.var(x * 3, axis=0, out=out),
    "max": lambda x, out: np.max(x * 3, axis=0, out=out),
    "min": lambda x, out: np.min(x * 3, axis=0, out=out),
    "trace": lambda x, out: np.trace(x[:, :2, None] * np.arange(3), out=out),
    "nansum": lambda x, out: np.nansum(x * 3, axis=0, out=out),
    "nanprod": lambda x, out: np.nanprod(x * 3, axis=0, out=out),
    "nanmax": lambda x, out: np.nanmax(x * 3, axis=0, out=out),
    "nanmin": lambda x, out: np.nanmin(x * 3, axis=0, out=out),
    "median": lambda x, out: np.median(x * 3, axis=0, out=out),
    "any": lambda x, out: np.any(x, axis=0, out=out),
    "argmax": lambda x, out: np.argmax(x, axis=0, out=out),
    "argmin": lambda x, out: np.argmin(x, axis=0, out=out),
    "dot": lambda x, out: np.dot(x[0, :2], x, out=out),
    "matmul": lambda x, out: np.matmul(x[0, :2], x, out=out),
    "clip": lambda x, out: np.clip(x[1], 1, 3, out=out),
    "take": lambda x, out: np.take(x[1], [2, 1, 0], out=out),
    "compress": lambda x, out: np.compress([1, 1, 1], x[1], out=out),
    "choose": lambda x, out: np.choose([0, 1, 0], [x[1], x[0]], out=out),
    "concatenate": lambda x, out: np.concatenate([x[1, :1], x[1, 1:]], out=out),
    **{
        f"{name}, {casting}": lambda x, out, f=f, casting=casting: f(x, out=out, casting=casting)
        for casting in ("no", "safe", "unsafe")
        for name, f in (
            ("concatenate", lambda x, **given: np.concatenate([x[1, :1], x[1, 1:]], **given)),
            ("stack", lambda x, **given: np.stack([x[1, 0], x[1, 1], x[1, 2]], **given)),
            ("einsum", lambda x, **given: np.einsum("ij->j", x, **given)),
        )
    },
    "sin": lambda x, out: np.sin(x[0] * 3, out=out),
    "copyto": lambda x, out: np.copyto(out, x[1]),
}
DTYPES = ["f8", "f4", "i8", "u1", "c16", "?"]


def outcome(f, *args):
    """The result, or the error."""
    try:
        return f(*args)
    except Exception as error:
        return error


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_of_the_output(call, dtype):
    def f(x):
        out = np.zeros_like(x[0]).astype(dtype)
        CALLS[call](x, out)
        return out

    for source in ("f8", "f4", "i8"):
        x = X.astype(source)
        expected = outcome(f, x)
        for form in (linad.jit(f), lambda x: linad.linearize(f, x)[0]):
            found = outcome(form, x)
            if isinstance(found, LinadError):
                continue
            if isinstance(expected, Exception):
                assert isinstance(found, Exception), (source, expected)
                continue
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(found, expected, rtol=1e-6)


OUTPUTS = {
    "C order": lambda x, shape: np.zeros_like(x, shape=shape, order="C"),
    "Fortran order": lambda x, shape: np.zeros_like(x, shape=shape, order="F"),
    "strided": lambda x, shape: np.zeros_like(x, shape=(*shape, 2))[..., 0],
}


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "c16", "?"])
@pytest.mark.parametrize("shape", [(3,), (3, 2), (3, 2, 2), (2, 3, 1, 2)])
@pytest.mark.parametrize("by", ["a number", "a vector"])
def test_orders_that_dot_takes_for_its_output(dtype, shape, by):
    def f(x, order):
        out = OUTPUTS[order](x, shape if by == "a number" else shape[:-1])
        np.dot(x, np.ones(() if by == "a number" else shape[-1], dtype), out=out)
        return out

    x = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    for order in OUTPUTS:
        expected = outcome(f, x, order)
        found = outcome(linad.jit(f, static_argnums=1), x, order)
        if isinstance(expected, Exception):
            assert type(found) is type(expected)
        else:
            assert found.dtype == expected.dtype
            assert np.array_equal(found, expected)


REFUSED = {
    "putmask": lambda a: np.putmask(a, True, 2.0),
    "place": lambda a: np.place(a, True, [2.0]),
    "add.at": lambda a: np.add.at(a, 0, 2.0),
    "negative.at": lambda a: np.negative.at(a, ()),
    "nan_to_num": lambda a: np.nan_to_num(a, copy=False),
    "sum": lambda a: np.sum(np.ones(3), out=a),
    "copyto": lambda a: np.copyto(a, 2.0),
    "fill_diagonal": lambda a: np.fill_diagonal(a, 2.0),
    "shuffle": lambda a: np.random.default_rng(0).shuffle(a),
}


@pytest.mark.parametrize("call", REFUSED)
def test_numbers_are_refused_as_by_numpy(call):
    """A number has no memory to write into."""

    def f(x):
        a = x[0] * 2
        REFUSED[call](a)
        return a

    error = outcome(f, np.ones(3))
    assert isinstance(error, (TypeError, ValueError))
    for form in (linad.jit(f), linad.grad(f)):
        with pytest.raises(type(error)):
            form(np.ones(3))


def test_a_number_is_copied_where_numpy_copies_it():
    """np.put and np.put_along_axis write into the array that they make of it."""

    def f(x):
        a = x[0] * 2
        np.put(a, [0], 5.0)
        return a

    assert f(np.ones(3)) == linad.jit(f)(np.ones(3)) == 2
    np.testing.assert_array_equal(linad.grad(f)(np.ones(3)), [2, 0, 0])


@pytest.mark.parametrize("shape", [(2,), (3, 2), (0,)])
def test_place_wants_a_mask_for_each_entry(shape):
    def f(x):
        a = x * 2
        np.place(a, np.zeros(shape, bool), x)
        return a

    for form in (f, linad.jit(f), lambda x: linad.linearize(f, x)):
        with pytest.raises(ValueError, match="same size"):
            form(np.ones(3))


def test_results_are_repeated_to_fill_the_output():
    def f(x):
        out = np.zeros((2, 3), like=x)
        np.sin(x, out=out)
        np.multiply(out, x[0], out=out)
        return np.sum(out)

    x = np.array([0.3, 0.7, 0.5])
    np.testing.assert_allclose(linad.jit(f)(x), f(x))
    linad.check_derivatives(f, x)


ON_THE_WAY = [np.subtract, np.divide, np.remainder, np.fmod, np.floor_divide]


@pytest.mark.parametrize("ufunc", ON_THE_WAY)
@pytest.mark.parametrize("dtype", [int, np.float32, bool])
def test_reductions_that_out_would_round_on_the_way(ufunc, dtype):
    """How often NumPy rounds depends on its buffers; sums and extrema are rounded once."""
    x = np.array([[5.5, 3.2], [1.4, 2.2], [2.7, 1.9]])

    def into(x, method, **kwargs):
        y = np.zeros_like(x if method == "accumulate" else x[0], dtype)
        getattr(ufunc, method)(x, axis=0, out=y, **kwargs)
        return y

    with pytest.raises(UnsupportedError, match="on the way"):
        linad.jit(into, static_argnums=1)(x, "reduce")
    if ufunc is not np.floor_divide:
        expected = into(x, "accumulate")
        np.testing.assert_array_equal(linad.jit(into, static_argnums=1)(x, "accumulate"), expected)


@pytest.mark.parametrize("ufunc", [np.maximum, np.minimum, np.fmax, np.fmin])
def test_extrema_are_rounded_once(ufunc):
    def into(x):
        return ufunc.reduce(x, axis=0, out=np.zeros_like(x[0], np.float32))

    x = np.array([[5.3, 3.2], [1.4, 2.2], [2.7, 1.9]])
    np.testing.assert_array_equal(linad.jit(into)(x), into(x))


@pytest.mark.parametrize("ufunc", [np.divide, np.logaddexp, np.hypot, np.arctan2])
@pytest.mark.parametrize("method", ["reduce", "accumulate"])
def test_a_dtype_that_no_loop_computes_in(ufunc, method):
    def f(x):
        return getattr(ufunc, method)(x, axis=0, dtype=int)

    x = np.ones((3, 2))
    for g in (f, linad.jit(f), linad.jacobian(f)):
        with pytest.raises(TypeError, match="loop"):
            g(x)


@pytest.mark.parametrize("function", [np.mean, np.var])
def test_a_mean_into_integers_is_refused(function):
    """NumPy rounds the sum on the way: of large entries it is another number then."""

    def into(x):
        y = x.astype(np.uint16)
        function(y, axis=0, out=y[0])
        return y

    with pytest.raises(UnsupportedError, match=f"^{function.__name__}: NumPy rounds the sum"):
        linad.jit(into)(np.full((2, 3), 65535.0))


ON_ITSELF = {
    "copyto": lambda a: np.copyto(a, a),
    "a view": lambda a: np.copyto(a[...], a),
    "nan_to_num": lambda a: np.nan_to_num(a, copy=False),
    "multiply": lambda a: np.multiply(a, 1.0, out=a),
}


@pytest.mark.parametrize("call", ON_ITSELF)
def test_an_array_without_axes_is_written_to_itself(call):
    """NumPy refuses a read-only one; and what is written is there."""

    def f(x):
        ON_ITSELF[call](x)
        return x * 2

    def nan(writeable):
        x = np.array(np.nan)
        x.flags.writeable = writeable
        return x

    jitted = linad.jit(f)
    for writeable in (True, True, False, False):
        expected, found = outcome(f, nan(writeable)), outcome(jitted, nan(writeable))
        assert type(found) is type(expected)
        assert isinstance(expected, ValueError) or np.array_equal(found, expected, equal_nan=True)


def test_out_is_no_first_argument():
    """A call with one argument names none, and is not looked through for it."""
    assert all([output_position(f, form) > 0 for f, form in FUNCTIONS.items()])


REAL = {
    ufunc: types
    for ufunc in UFUNCS
    for types in ufunc.types
    if "d" in types.partition("->")[2] and not {"m", "M"} & set(types)
    if ufunc.signature is None and getattr(np, ufunc.__name__, None) is ufunc
}


@pytest.mark.parametrize("ufunc", REAL, ids=lambda u: u.__name__)
def test_what_a_mask_leaves_of_the_output_keeps_its_derivative(ufunc):
    """Plain operands, a traced array for the result: NumPy computes, and only some are written."""
    mask = np.array([True, False, True])
    given, _, made = REAL[ufunc].partition("->")
    operands = [np.full(3, 1.0 if ufunc is np.arccosh else 0.5).astype(t) for t in given]
    dtypes = [np.dtype(t) for t in made]

    def f(*kept):
        outs = tuple([np.array(k, t, like=k) for k, t in zip(kept, dtypes, strict=True)])
        ufunc(*operands, out=outs, where=mask)
        return [out * 1.0 for out in outs]

    kept = tuple([np.arange(1.0, 4.0)] * ufunc.nout)
    values, slopes = linad.jvp(f, kept, tuple([np.full(3, 2.0)] * ufunc.nout))
    wanted = ufunc(*operands) if ufunc.nout > 1 else (ufunc(*operands),)
    for value, slope, new, dtype in zip(values, slopes, wanted, dtypes, strict=True):
        assert np.array_equal(value, np.where(mask, new, [1, 2, 3]).astype(dtype))
        assert np.array_equal(slope, [0, 2 if dtype.kind == "f" else 0, 0])
