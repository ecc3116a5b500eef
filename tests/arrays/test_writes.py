"""Writes into traced arrays mean what they mean in NumPy, and are differentiated.

Every program here runs on plain copies, for the value, and traced, for value and derivatives.
"""

import itertools
import operator

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from released import newer_numpy

import linad
from linad.core import tree
from linad.errors import LeakedTracerError, ShapeError, TracerError, UnsupportedError
from linad.testing.derivative_checks import check_derivatives

# NumPy 2.5 advises against setting the shape; what linad does there stays the same.
pytestmark = pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")

rng = np.random.default_rng(0)
X = rng.standard_normal((3, 4))
V = rng.standard_normal(6)
Z = X + 1j * rng.standard_normal((3, 4))
S = np.array(0.7)


def run(f, *args):
    """The results of f on copies, or the error it raises."""
    try:
        y = f(*[np.array(a) for a in args])
    except (ValueError, TypeError, IndexError, AttributeError) as error:
        return error
    return y if isinstance(y, tuple) else (y,)


def check(f, *args, order=2):
    """Values of the traced run are NumPy's, the arguments stay, the derivatives are right."""
    before = [np.array(a) for a in args]
    expected = run(f, *args)
    assert not isinstance(expected, Exception), expected
    with linad.config(disconnected="ignore"):  # some write constants over all of it
        found, _ = linad.linearize(f, *args)
        pushed, _ = linad.jvp(f, args, before)
    recorded, tape = linad.trace(f, *args)
    for result in (found, pushed, recorded, tape(*args)):
        result = result if isinstance(result, tuple) else (result,)
        for a, b in zip(result, expected, strict=True):
            assert a.shape == np.shape(b)
            np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-14)
    with linad.config(disconnected="ignore"):  # some write constants over all of it
        check_derivatives(f, *args, order=order)
    for a, b in zip(args, before, strict=True):
        np.testing.assert_array_equal(a, b)


# Views and copies: y = expression(x), then writes into both.

EXPRESSIONS = {
    # views
    "all": lambda x: x[:],
    "ellipsis": lambda x: x[...],
    "slice": lambda x: x[1:],
    "steps": lambda x: x[::-2, ::3],
    "row": lambda x: x[1],
    "newaxis": lambda x: x[:, None, 1:],
    "view of view": lambda x: x.T[1:][:, ::-1][0],
    "T": lambda x: x.T,
    "mT": lambda x: x.mT,
    "transpose": lambda x: x.transpose(1, 0),
    "swapaxes": lambda x: np.swapaxes(x, 0, 1),
    "moveaxis": lambda x: np.moveaxis(x, 0, 1),
    "rollaxis": lambda x: np.rollaxis(x, 1),
    "matrix_transpose": lambda x: np.matrix_transpose(x),
    "permute_dims": lambda x: np.permute_dims(x, (1, 0)),
    "reshape": lambda x: x.reshape(2, 6),
    "reshape of T": lambda x: x.T.reshape(2, 6),
    "reshape F": lambda x: x.reshape(6, 2, order="F"),
    "reshape A": lambda x: x.reshape(6, 2, order="A"),
    "reshape copy": lambda x: x.reshape(2, 6, copy=True),
    "ravel": lambda x: x.ravel(),
    "ravel of T": lambda x: x.T.ravel(),
    "ravel F": lambda x: x.ravel("F"),
    "ravel of one entry": lambda x: x[:1, :1].ravel(),
    "ravel K": lambda x: x.ravel("K"),
    "flatten": lambda x: x.flatten(),
    "squeeze": lambda x: np.squeeze(x[:, None]),
    "expand_dims": lambda x: np.expand_dims(x, 0),
    "atleast_1d": lambda x: np.atleast_1d(x),
    "atleast_2d": lambda x: np.atleast_2d(x[0]),
    "atleast_3d": lambda x: np.atleast_3d(x),
    "flip": lambda x: np.flip(x),
    "fliplr": lambda x: np.fliplr(x),
    "flipud": lambda x: np.flipud(x),
    "rot90": lambda x: np.rot90(x),
    "rot90 by 0": lambda x: np.rot90(x, 0),
    "split": lambda x: np.split(x, 2, axis=1)[1],
    "array_split": lambda x: np.array_split(x, 2)[0],
    "vsplit": lambda x: np.vsplit(x, 3)[2],
    "hsplit": lambda x: np.hsplit(x, 2)[0],
    "unstack": lambda x: np.unstack(x)[1],
    "iteration": lambda x: next(iter(x)),
    "asarray": lambda x: np.asarray(x, like=x),
    "real of real": lambda x: x.real,
    "conj of real": lambda x: x.conj(),
    "astype no copy": lambda x: x.astype(float, copy=False),
    "diff 0": lambda x: np.diff(x, 0),
    "trim_zeros": lambda x: np.trim_zeros(x[0]),
    "real_if_close": lambda x: np.real_if_close(x),
    "ix_": lambda x: np.ix_(x[0])[0],
    "einsum transpose": lambda x: np.einsum("ij->ji", x),
    "einsum diagonal": lambda x: np.einsum("ijj->ji", x.reshape(3, 2, 2)),
    "nan_to_num no copy": lambda x: np.nan_to_num(x, copy=False),
    "meshgrid no copy": lambda x: np.meshgrid(x[0], sparse=True, copy=False)[0],
    # copies
    "ravel of steps": lambda x: x[0, ::2].ravel(),
    "ravel of a column": lambda x: np.ravel(x[:, 1]),
    "ravel of reversed": lambda x: x[0, ::-1].ravel("K"),
    "astype to another order": lambda x: x[:2, :3].astype(float, order="F", copy=False),
    "asarray in another order": lambda x: np.asarray(x[:2, :3], order="F", like=x),
    "array in another order": lambda x: np.array(x[:2, :3], order="F", copy=None, like=x),
    "asfortranarray": lambda x: np.asfortranarray(x[:2, :3], like=x),
    "ascontiguousarray of a column": lambda x: np.ascontiguousarray(x[:, 1], like=x),
    "require": lambda x: np.require(x[:2, :3], requirements=["F"], like=x),
    "copy": lambda x: x.copy(),
    "np.copy": lambda x: np.copy(x),
    "array": lambda x: np.array(x, like=x),
    "astype": lambda x: x.astype(float),
    "plus": lambda x: +x,
    "positive": lambda x: np.positive(x),
    "abs": lambda x: abs(x),
    "conjugate": lambda x: np.conjugate(x),
    "times 1": lambda x: x * 1,
    "power 1": lambda x: x**1,
    "sum of no axes": lambda x: np.sum(x, axis=()),
    "mean of no axes": lambda x: np.mean(x, axis=()),
    "max of no axes": lambda x: np.max(x, axis=()),
    "min of no axes": lambda x: np.min(x, axis=()),
    "prod of no axes": lambda x: np.prod(x, axis=()),
    "add.reduce of no axes": lambda x: np.add.reduce(x, axis=()),
    "nansum of no axes": lambda x: np.nansum(x, axis=()),
    "list": lambda x: x[[0, 2]],
    "all rows": lambda x: x[np.arange(3)],
    "mask": lambda x: x[x > -9.0],
    "take": lambda x: np.take(x, [0, 1, 2], axis=0),
    "take_along_axis": lambda x: np.take_along_axis(x, np.zeros((3, 1), int), 1),
    "compress": lambda x: np.compress([True, True], x, axis=0),
    "extract": lambda x: np.extract(x > -9.0, x),
    "diag": lambda x: np.diag(x[0]),
    "where": lambda x: np.where(True, x, 0.0),
    "concatenate": lambda x: np.concatenate([x]),
    "stack": lambda x: np.stack([x]),
    "vstack": lambda x: np.vstack([x]),
    "hstack": lambda x: np.hstack([x]),
    "dstack": lambda x: np.dstack([x]),
    "column_stack": lambda x: np.column_stack([x]),
    "block": lambda x: np.block(x),
    "block list": lambda x: np.block([x]),
    "append": lambda x: np.append(x, x[:0], axis=0),
    "insert": lambda x: np.insert(x, 0, 1.0, axis=0),
    "delete": lambda x: np.delete(x, 0, axis=0),
    "delete nothing": lambda x: np.delete(x, [], axis=0),
    "repeat": lambda x: np.repeat(x, 1, axis=0),
    "tile": lambda x: np.tile(x, 1),
    "resize": lambda x: np.resize(x, (3, 4)),
    "roll": lambda x: np.roll(x, 0),
    "roll axis": lambda x: np.roll(x, 1, axis=0),
    "pad": lambda x: np.pad(x, 0),
    "triu": lambda x: np.triu(x),
    "tril": lambda x: np.tril(x, 9),
    "sort": lambda x: np.sort(x),
    "partition": lambda x: np.partition(x, 1),
    "unique": lambda x: np.unique(x),
    "cumsum": lambda x: np.cumsum(x, axis=0),
    "clip": lambda x: np.clip(x, -9.0, 9.0),
    "clip nothing": lambda x: np.clip(x, None, None),
    "nan_to_num": lambda x: np.nan_to_num(x),
    "meshgrid": lambda x: np.meshgrid(x[0], x[1])[0],
    "meshgrid sparse": lambda x: np.meshgrid(x[0], sparse=True)[0],
    "unwrap": lambda x: np.unwrap(x),
    "interp": lambda x: np.interp(x[0], np.arange(9.0) - 4, np.arange(9.0)),
    "matrix_power 1": lambda x: np.linalg.matrix_power(x[:, :3], 1),
    "einsum": lambda x: np.einsum("ij,->ij", x, 1.0),
    "average": lambda x: np.average(x, axis=0),
    "full_like": lambda x: np.full_like(x, x[0, 0]),
    "zeros_like": lambda x: np.zeros_like(x),
    "select": lambda x: np.select([x > -9.0], [x]),
    "choose": lambda x: np.choose(0, [x, x]),
    "convolve": lambda x: np.convolve(x[0], [1.0]),
    "real of complex": lambda x: (x + 0j).real,
    "nonzero scalar": lambda x: x[1, 2:3],
    # views to read only
    "diagonal": lambda x: np.diagonal(x),
    "diagonal method": lambda x: x.diagonal(1),
    "diag of matrix": lambda x: np.diag(x),
    "broadcast_to": lambda x: np.broadcast_to(x, (2, 3, 4)),
    "sliding windows": lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, axis=1),
}
READ_ONLY = {"diagonal", "diagonal method", "diag of matrix", "broadcast_to", "sliding windows"}


def program(expression, first, order):
    """Write into what the expression gives, and into what it was given."""

    def f(x):
        x = x.T.copy().T if order == "F" else x
        if first:
            x[0] = x[0] * x[1]  # from here on x owns its storage
        y = expression(x)
        before = y * y
        x[1] *= np.sin(x[2])
        between = y * 2.0
        if expression not in [EXPRESSIONS[name] for name in READ_ONLY]:
            y[...] = y * y[..., ::-1] + 1.0
            y[..., 0] += x[2, 0]
        x[:, 1] += 1.5
        return x * x, y * 1.0, before, between

    return f


@pytest.mark.sweep(part=0.3)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("first", [False, True], ids=["untouched", "written"])
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_views_and_copies(name, first, order):
    check(program(EXPRESSIONS[name], first, order), X, order=1)


@pytest.mark.parametrize("first", [False, True], ids=["untouched", "written"])
@pytest.mark.parametrize("index", [(1, 2, ...), (..., -1, 0), (0, ..., -1)], ids=str)
def test_an_entry_with_an_ellipsis_is_a_view(index, first):
    def f(x):
        if first:
            x[0] = x[0] * x[1]
        entry, number = x[index], x[tuple(i for i in index if i is not ...)]
        entry *= x[0, 0]
        number *= 2.0  # a number is replaced, not changed
        entry[...] = entry * entry + number
        return x * entry

    check(f, X)
    with pytest.raises(IndexError):
        linad.linearize(lambda x: x[3, 0, ...], X)


@pytest.mark.parametrize("first", [False, True], ids=["untouched", "written"])
@pytest.mark.parametrize("name", sorted(READ_ONLY))
def test_read_only_views_are_read_only(name, first):
    def f(x):
        if first:
            x[0] = 1.0
        EXPRESSIONS[name](x)[0] = 1.0
        return x

    assert isinstance(run(f, X), ValueError)
    with pytest.raises(ValueError, match="read-only"):
        linad.linearize(f, X)


# Writes of every form.


def swap(x):
    """Rows exchanged through a copy."""
    kept = x[0].copy()
    x[0] = x[1]
    x[1] = kept
    return x * x


def pieces(x):
    """Writes through the pieces of a split and through views of views."""
    a, b = np.split(x, 2, axis=1)
    a *= b
    b[1:] += a[:-1]
    x.T[1:3][:, ::-1][0] = x[2, :3]
    x.ravel()[5] = x[0, 0] ** 2
    x.reshape(2, 6)[1, ::2] -= 1.0
    return a * x[:, 2:], b


def masks(x):
    x[x > 0.5] *= 2.0
    x[x < -0.5] = x[0, 0] * x[0, 1]
    m = np.abs(x) < 0.3
    x[m] = np.arange(int(np.count_nonzero(m))) * x[2, 3]
    return np.sin(x)


def lists(x):
    x[[0, 2], [1, 3]] = x[1, :2]
    x[[2, 2], [0, 0]] = x[0, 1:3]  # the last one stays
    x[[-1]] *= x[[0]]
    x[:, [0, 3]] += x[:, [3, 0]]
    x[np.ix_([0, 1], [1, 2])] = x[1:, 2:] ** 2
    x[np.array([0, 1, 2]), 1:3] -= 1.0
    return x * x


def operators(x):
    x += x.T[0, 0]
    x -= 0.1 * x * x
    x *= np.arange(1.0, 5.0)
    x /= 1.0 + x * x
    x **= 2
    x **= 1.5
    x //= 1e-300
    return x


def matrix_product(x):
    m = x[:, :3].copy()
    m @= m
    return m * m


def updates(x):
    x[1] += x[0]
    x[..., 1] -= x[..., 2]
    x[0, 0] *= x[0, 1]
    x[1:, 1:] /= 2.0 + x[1:, 1:] ** 2
    x[::2] **= 2
    x[()] += 1.0
    x[...] = x * x
    x[None, :, None, 0] = x[:, :1]
    return x


def overlaps(x):
    x[1:] = x[:-1] * 2.0
    x[:, 1:] = x[:, :-1]
    x[::-1] += x
    x[:, :3] += x[:, :3].T
    x[:, 1:] *= x[:, :-1]
    return x * x


def test_one_entry_in_common():
    """NumPy 2.5 and older miss this overlap: their a[3, 3] is what a[1, 3] has become."""

    def f(x):
        a = 1.0 * x
        a[:, 3] = a[1]
        return a

    x = np.arange(16.0).reshape(4, 4)
    y, J = linad.linearize(f, x)
    expected = x.copy()
    expected[:, 3] = x[1].copy()
    np.testing.assert_array_equal(y, expected)
    np.testing.assert_array_equal(J.pushforward(x), expected)


def outputs(x):
    y = np.empty_like(x)
    np.multiply(x, x, out=y)
    np.add(y, 1.0, y)
    np.sin(x, out=x, where=x > 0)
    np.sqrt(x, where=x > 0.01, out=y[:, ::1])
    np.subtract(x[0], 1.0, out=y[1])
    s = np.zeros_like(x[:, 0])
    np.sum(x, axis=1, out=s)
    np.mean(x, 1, None, y[:, 1])
    t = np.cumsum(y, axis=1, out=x)
    assert t is x
    y.clip(-0.9, 0.9, out=y)
    np.matmul(x.T, x, out=np.zeros_like(x, shape=(4, 4)))
    np.add.reduce(x, axis=0, out=y[2])
    np.maximum.accumulate(x, axis=0, out=x)
    p = x.dot(x.T, out=np.zeros_like(x, shape=(3, 3)))
    q = np.einsum("ij,kj->ik", x, y, out=np.zeros_like(p))
    np.take(p, [0, 2, 1], 0, q[::-1])
    np.concatenate([x, y], axis=0, out=(r := np.zeros_like(x, shape=(6, 4))))
    np.add(1.0, np.arange(4.0), out=y[0])
    return x, y, s, p, q, r


def several_outputs(x):
    q, r = np.zeros_like(x), np.zeros_like(x)
    result = np.divmod(x, 0.7, out=(q, r))
    assert result[0] is q
    assert result[1] is r
    f, i = np.modf(x * 3.0, out=(r, None))
    return f * r, q + i


def scalars(x):
    s = x[0, 0]
    t = s
    s += 1.0  # a NumPy scalar is replaced, not changed
    x[0, 0] = s * t
    z = np.zeros_like(x[0, 1])
    u = np.zeros_like(x[0:1, 1].reshape(()))
    u += s
    u[()] = u * u
    u[...] += t
    w = u
    w *= 2.0
    return s * t + z, u * 1.0, x


def roles(x):
    """Two arrays that change role in a loop."""
    old, new = x.copy(), np.empty_like(x)
    for _ in range(3):
        new[1:-1] = 0.5 * (old[:-2] + old[2:]) + 0.1 * old[1:-1] ** 2
        new[0] = old[0]
        new[-1] = old[-1]
        old, new = new, old
    return old * 1.0, new


def cycle(x):
    a = x.copy()
    b = a
    a += 1.0  # b too
    a = a + 1.0  # not b
    a *= b
    return a, b


def shapes(x):
    y = x * 2.0
    y.shape = (2, 6)
    y[0] = y[1] ** 2
    return y


def methods(x):
    y = x.copy()
    y.fill(x[0, 0])
    y[1] = x[1] ** 2
    y.sort(axis=0)
    x.partition(2, axis=1)
    x.flat[3:9:2] = y[0, :3]
    x.T.flat[2] = y[1, 1]
    x.T.flat = [1.0, 2.0, 3.0]
    y.flat[...] = x[1]
    y.flat[[0, 5]] *= x.flat[[1, 2]]
    return x, y * np.sum(x.flat) * len(x.flat)


def made_inside(x):
    a = np.zeros(4, like=x)
    b = np.zeros_like(x, shape=(2, 4))
    c = np.full(4, 2.0, like=x)
    d = np.full_like(x, 3.0)
    e = np.ones((3, 4), like=x)
    f = np.empty((2, 2), like=x)
    a[:2] = x[0, :2]
    b[1] = a * x[1]
    c[1:3] *= b[1, :2]
    d[:, 1] = c[:3]
    e -= d
    f[...] = e[:2, :2] @ e[:2, 1:3]
    return a * c, b, d * e, f


def float_targets(x):
    """Integers and other precisions are cast as assignment does."""
    x[0] = 2
    x[1] = np.arange(4)
    x[2, :2] = np.float32(0.5) * x[2, 2:]
    y = x.astype(np.float32)
    y += x
    y[0] = x[1] * x[2]
    return x, y.astype(float) * 0.0 + x


def constants(x):
    """What is overwritten by constants no longer moves with x."""
    x[0] = 1.0
    y = x * x
    x[...] = 2.0
    x[1] = y[1]
    x[2, :] = [1.0, 2.0, 3.0, 4.0]
    return x * y


def empty(x):
    x[:0] = x[:0] * 2.0
    x[[], :] = 1.0
    x[x > 99.0] = x[0, 0]
    y = x[:, :0]
    y += 1.0
    return x


PROGRAMS = [
    swap, pieces, masks, lists, operators, matrix_product, updates, overlaps, outputs,
    scalars, roles, cycle, shapes, methods, made_inside, constants, empty,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS)
def test_program(f):
    check(f, X)


def test_several_outputs():
    check(several_outputs, X, order=1)


def test_casts():
    check(float_targets, X, order=1)


def test_a_fortran_ordered_argument():
    for f in (swap, masks, lists, updates, overlaps, constants, pieces):
        check(lambda x, f=f: f(x.T.copy().T), X, order=1)
        np.testing.assert_array_equal(
            linad.linearize(f, np.asfortranarray(X))[0], f(np.asfortranarray(X))
        )


def test_arguments_with_gaps_in_memory():
    """What a function writes into is a copy with gaps: a reshape of it is a view or a copy as of
    the argument."""
    x = np.repeat(X, 2, axis=1)[:, ::2]
    check(swap, x, order=1)
    expected = pieces(np.repeat(X, 2, axis=1)[:, ::2])
    for found in (linad.linearize(pieces, x)[0], linad.jvp(pieces, (x,), (x,))[0]):
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)


def test_single_precision_stays():
    def f(x):
        y = np.zeros_like(x)
        y[1:] = x[:-1] * x[1:]
        y *= np.float32(2.0)
        y += np.arange(6.0)  # cast down, as NumPy does
        return y

    x = V.astype(np.float32)
    y, J = linad.linearize(f, x)
    assert y.dtype == J.pushforward(x).dtype == J.pullback(x).dtype == np.float32
    assert linad.jvp(f, (x,), (x,))[1].dtype == np.float32


# Complex arrays and their parts.


def parts(z):
    z.real[0] = z.imag[1]
    z.imag *= 2.0
    z.real = z.real**2
    z.imag[:, 1] = z[:, 0].real * z[:, 2].imag
    z.T.real[1, 1:] += 1.0
    z[2].imag[::2] = 0.5
    z[0, 1:].real.reshape(3)[[0, 2]] = z[1].imag[:2]
    y = z.real
    z *= 1j
    w = z.imag
    w[0] += y[1]
    z[1] = y[0]
    return z * z, y, w * 1.0


def part_of_a_part(z):
    r = z.real[1:]
    for k in range(3):
        r[0, k + 1] = r[0, k] * r[1, k] + z[0, k].imag
    return z * np.conj(z)


def test_complex_parts():
    check(parts, Z)
    check(part_of_a_part, Z)
    check(part_of_a_part, np.asfortranarray(Z))


def to_real_parts(z):
    z[...] = z.real
    z[1:] = z[1:].real
    z[0, :2] = z.imag[0, :2]
    z[2] += z[2].real
    return z


@pytest.mark.parametrize("order", "CF")
def test_real_parts_written_over_the_entries_that_they_are_of(order):
    check(to_real_parts, np.array(Z, order=order))


def test_complex_values():
    def f(z):
        z[1:] = z[:-1] * z[1:]
        z[:, 0] = np.abs(z[:, 1])
        z[z.real > 0] *= 1j
        return z

    check(f, Z)
    with pytest.raises(TracerError, match="discard the imaginary part"):
        linad.linearize(lambda x, z: x.__setitem__(0, z), V, Z[0, 0])


def test_real_arrays_have_no_imaginary_part_to_set():
    def f(x):
        x.imag = 1.0
        return x

    with pytest.raises(TypeError, match="imaginary part to set"):
        linad.linearize(f, V)


# Errors are NumPy's, or say what to do.


@pytest.mark.parametrize(
    "write, error",
    [
        (lambda x: x.__setitem__(7, 1.0), IndexError),
        (lambda x: x.__setitem__([0, 9], 1.0), IndexError),
        (lambda x: x.__setitem__((0, 0), 1.0), IndexError),
        (lambda x: x.__setitem__(0.5, 1.0), IndexError),
        (lambda x: x.__setitem__(slice(0, 2), np.ones(3)), ValueError),
        (lambda x: x.__setitem__(0, np.ones(3)), ValueError),
        (lambda x: x.__setitem__(x > 0, np.ones(9)), ValueError),
        (lambda x: operator.setitem(x[0], 0, 1.0), TypeError),
        (lambda x: operator.setitem(x[0], ..., 1.0), TypeError),
        (lambda x: x.__iadd__(np.ones((2, 6))), ValueError),
        (lambda x: x.__imul__(1j), TypeError),
        (lambda x: np.add(x, np.ones((2, 6)), out=x), ValueError),
        (lambda x: np.add(x, 1j, out=x), TypeError),
        (lambda x: np.sum(x, out=x), ValueError),
        (lambda x: np.add(x, 1.0, out=[x]), TypeError),
        (lambda x: np.add(x[0], 1.0, out=x[0]), TypeError),
        (lambda x: setattr(x, "shape", (4,)), ValueError),
    ],
    ids=itertools.count(),
)
def test_errors_are_numpys(write, error):
    def f(x):
        write(x)
        return x

    with pytest.raises(error):
        f(V.copy())
    with pytest.raises(error):
        linad.linearize(f, V)


def test_shapes_that_do_not_fit_are_named():
    with pytest.raises(ShapeError, match=r"value of shape \(3,\) into entries of shape \(2,\)"):
        linad.linearize(lambda x: x.__setitem__(slice(2), x[:3]), V)


def test_a_plain_array_refuses_traced_values():
    plain = np.zeros(6)
    with pytest.raises((ValueError, TypeError)) as caught:
        linad.grad(lambda x: plain.__setitem__(0, x[0]))(V)
    messages = str(caught.value) + str(caught.value.__cause__)
    assert "np.zeros_like(x)" in messages
    with pytest.raises(TracerError, match="np.zeros_like"):
        linad.grad(lambda x: plain.__iadd__(x))(V)
    assert not plain.any()


def test_an_array_with_views_takes_another_shape():
    """Its views keep theirs, and see what is written into it."""

    def seen(x):
        v, w = x[1:], x[2:]
        x.shape = (2, 3)
        x[0] = x[1] ** 2
        v[3] = x[0, 0] * w[3]
        return x * 1, v * 2, w

    def and_back(x):  # as functions that take one vector or many do
        z = x * 1.0
        z.shape = (6, 1)
        r, v = z[:3, :], z[3:, :]
        v[0] = r[1] ** 2
        w = r * 2
        z.shape = (6,)
        z[2] = x[5] * x[4]
        r[1] *= 3
        return w, r, v, z

    def repeated(x):
        z = (x * 2).reshape(2, 3)
        d = np.diagonal(z)
        b = np.broadcast_to(z, (2, 2, 3))
        z.shape = (3, 2)
        z[0, 0] = x[5] ** 2
        return d * 2, b * 1, z

    def view_of_a_view(x):
        z = x[1:5] * 2
        a = z[1:]
        b = a[1:]
        z.shape = (2, 2)
        b[0] = x[1] * x[2]
        a.shape = (3, 1)
        z[1] *= z[0]
        return a, b, z

    for f in (seen, and_back, repeated, view_of_a_view):
        check(f, V)
    for f in (and_back, repeated, view_of_a_view):
        compiled = linad.jit(f)
        for _ in range(3):
            for found, expected in zip(compiled(V), f(V.copy()), strict=True):
                np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_shape_that_needs_a_copy_is_refused():
    def f(x):
        y = x.T
        y.shape = (12,)
        return y

    with pytest.raises(UnsupportedError, match="reshape"):
        linad.linearize(f, X)


def test_writes_after_the_function_has_returned():
    kept = []

    def f(x):
        y = x * 2.0
        y[0] = 1.0
        kept.append(y)
        return y

    linad.linearize(f, V)
    with pytest.raises(LeakedTracerError):
        kept[0][0] = 2.0
    with pytest.raises(LeakedTracerError):
        kept[0] += 2.0


# Arguments: the caller's arrays, and arguments that are one array.


def test_a_function_may_overwrite_its_argument():
    def f(x):
        x[0] = x[1] * x[2]
        x *= x
        return x

    x = V.copy()
    expected = f(x.copy())
    cotangent = np.arange(6.0)
    y, pullback = linad.vjp(f, x)
    results = [y, linad.linearize(f, x)[0], linad.jvp(f, (x,), (x,))[0], linad.trace(f, x)[0]]
    for result in results:
        np.testing.assert_array_equal(result, expected)
    pullback(cotangent)
    linad.grad(lambda x: np.sum(f(x)))(x)
    linad.hessian(lambda x: np.sum(f(x)))(x)
    np.testing.assert_array_equal(x, V)
    np.testing.assert_array_equal(cotangent, np.arange(6.0))


WRITES = {
    "an entry": lambda x: x.__setitem__(0, 5.0),
    "of a view": lambda x: x[1:].__setitem__(0, x[0]),
    "in place": lambda x: x.__imul__(2.0),
    "out": lambda x: np.multiply(x, 2.0, out=x),
    "copyto": lambda x: np.copyto(x, 3.0),
    "sort": lambda x: x.sort(),
}
TAKEN = {
    "grad": linad.grad,
    "linearize": lambda f: lambda x: linad.linearize(f, x),
    "jvp": lambda f: lambda x: linad.jvp(f, (x,), (x,)),
    "hessian": linad.hessian,
    "compiled": lambda f: linad.jit(linad.grad(f)),
    "of compiled": lambda f: linad.grad(linad.jit(f)),
}


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("kind", TAKEN)
def test_read_only_arguments_are_not_written_into(name, kind):
    x = V.copy()
    x.flags.writeable = False

    def f(x):
        WRITES[name](x)
        return np.sum(x * x)

    with pytest.raises(ValueError, match="read-only"):
        f(x)
    with pytest.raises(ValueError, match="read-only"):
        TAKEN[kind](f)(x)
    np.testing.assert_array_equal(x, V)


def test_arguments_that_share_memory():
    """NumPy would write into both; their derivatives cannot be told apart."""

    def f(a, b):
        a[0] = 2.0
        return np.sum(a * b)

    x = V.copy()
    for call in (
        lambda: linad.grad(f, (0, 1))(x, x),
        lambda: linad.grad(f)(x, x),
        lambda: linad.vjp(f, x[:4], x[2:]),
        lambda: linad.jvp(f, (x, x[::-1]), (x, x)),
        lambda: linad.grad(lambda x: linad.grad(f)(x, x)[0])(x),
        lambda: linad.grad(lambda x: linad.grad(f)(x[1:], x[:-1])[0])(x),
    ):
        with pytest.raises(TracerError, match="shares memory with .*copy"):
            call()

    def g(a, b):
        a += b
        return np.sum(a * b)

    def h(a, b):
        np.add(a, b, out=a)
        return np.sum(a * b)

    for updates in (g, h):
        with pytest.raises(TracerError, match="shares memory with .*copy"):
            linad.grad(updates, (0, 1))(x, x)
        found = linad.grad(updates)(x, x.copy())
        np.testing.assert_array_equal(found, x)
    linad.grad(f, (0, 1))(x, x.copy())
    linad.grad(f, (0, 1))(x[::2], x[1::2])  # interleaved, nothing shared
    linad.grad(lambda a, b: np.sum(a * b), (0, 1))(x, x)  # nothing written
    linad.grad(lambda a, b: np.sum((a * 1.0) * b), (0, 1))(x, x)


def test_a_container_of_the_same_array_twice():
    def f(pair):
        pair[0][0] = 1.0
        return np.sum(pair[0] * pair[1])

    with pytest.raises(TracerError, match="shares memory"):
        linad.grad(f)((V, V))


# Derivatives inside derivatives.


def sweep(x):
    for i in range(1, len(x) - 1):
        x[i] = 0.5 * (x[i - 1] + x[i + 1]) + 0.1 * x[i] ** 2
    return np.sum(x**3)


def pure_sweep(x):
    v = [x[i] for i in range(len(x))]
    for i in range(1, len(v) - 1):
        v[i] = 0.5 * (v[i - 1] + v[i + 1]) + 0.1 * v[i] ** 2
    return np.sum(np.stack(v) ** 3)


@pytest.mark.parametrize(
    "transform",
    [
        linad.grad,
        linad.hessian,
        lambda f: linad.grad(lambda x: np.sum(linad.grad(f)(x) ** 2)),
        lambda f: linad.jacobian(linad.grad(f)),
        lambda f: lambda x: linad.hvp(f, (x,), (x,)),
        lambda f: linad.grad(lambda x: linad.jvp(f, (x,), (np.ones(6),))[1]),
        lambda f: lambda x: linad.jvp(lambda y: linad.jvp(f, (y,), (y,))[1], (x,), (x,))[1],
        lambda f: linad.grad(lambda x: linad.jvp(linad.grad(f), (x,), (x,))[1][2]),
        lambda f: lambda x: linad.linearize(linad.grad(f), x)[1].pullback(np.eye(6)),
        lambda f: linad.jacobian(
            lambda x: linad.linearize(linad.grad(f), x)[1].pullback(np.eye(6)[:2])
        ),
        lambda f: linad.jacobian(
            lambda x: linad.linearize(linad.grad(f), x)[1].pushforward(np.outer(np.ones(2), x))
        ),
        lambda f: linad.grad(lambda x: linad.hessian(f)(x)[1, 2]),
    ],
    ids=itertools.count(),
)
def test_nested_derivatives(transform):
    x = np.linspace(1.0, 2.0, 6)
    np.testing.assert_allclose(
        transform(sweep)(x), transform(pure_sweep)(x), rtol=1e-12, atol=1e-12
    )


def test_views_in_nested_derivatives():
    def f(x):
        y = x.reshape(2, 3)
        row = y[1]
        row[0] = x[0] * x[1]
        y.T[1:] *= row[0]
        np.broadcast_to(x, (2, 6))
        b = np.broadcast_to(x[:2], (3, 2))
        x[1] += row[2] ** 2
        d = np.diagonal(y)
        y[0, 0] *= x[5]
        return np.sum(np.sin(b)) + np.sum(d * d * x[:2]) + np.sum(y**3)

    check(f, V)
    check_derivatives(linad.grad(f), V)
    check_derivatives(lambda x: linad.jvp(f, (x,), (x * x,))[1], V)


def test_values_of_an_inner_derivative_do_not_escape_by_a_write():
    def f(x):
        outer = np.zeros_like(x)

        def inner(y):
            outer[0] = y[0]
            return np.sum(y * y)

        return np.sum(linad.grad(inner)(x) + outer)

    with pytest.raises(TracerError, match="inner derivative .* make the array inside"):
        linad.grad(f)(V)


def written(x, z, u):
    y = x * u
    y[0] = z * u[0] ** 2
    return np.sum(y**2 * x)


def scanned(x, z, u):
    return np.sum(linad.scan(lambda c, _: (c + 0.1 * written(x, z, c), None), u, length=2)[0])


@pytest.mark.parametrize("f", [written, pytest.param(scanned, marks=pytest.mark.rest)])
def test_a_value_of_one_derivative_is_written_beside_one_of_another(f, kernels):
    """The array's values are traced by the outer derivative, what is written by the inner one, and
    so it is with their tangents: none of them is made outside of the function that writes."""
    u, v = V[:3], np.cos(V[:3])

    def pushed(x, v):
        return linad.grad(lambda z: linad.jvp(lambda u: f(x, z, u), (u,), (v,))[1])(0.7)

    def pulled(x, v):
        return linad.grad(lambda z: linad.grad(lambda u: f(x, z, u))(u) @ v)(0.7)

    x = V[3:]
    for k in (0, 1):
        expected = linad.jacobian(pulled, argnums=k)(x, v)
        np.testing.assert_allclose(linad.jacobian(pushed, argnums=k)(x, v), expected, rtol=1e-12)
        check_derivatives(lambda a, k=k: pushed(*[(a, v), (x, a)][k]), (x, v)[k])


def test_an_outer_array_written_from_inside():
    """The inner function sees its argument as it was; the outer array changes as it says."""

    def f(x):
        def inner(y):
            x[0] = x[1] * 3.0
            return np.sum(y**3 * x)

        return np.sum(linad.grad(inner)(x) * x)

    def pure(x):
        w = np.concatenate([x[1:2] * 3.0, x[1:]])
        return np.sum(3.0 * x**2 * w * w)

    np.testing.assert_allclose(linad.grad(f)(V), linad.grad(pure)(V), rtol=1e-12)


def test_results_of_an_inner_derivative_may_be_overwritten():
    def f(x):
        y, J = linad.linearize(np.exp, x)
        before = J.pullback(x)
        y[0] = 0.0
        y *= 2.0
        ones = np.ones_like(x)
        g = J.pullback(ones)
        g += x
        return np.sum(before * J.pullback(x) + g * J.pullback(ones) * y)

    check(f, V)


def test_stop_gradient_of_a_written_array_is_a_copy():
    def f(x):
        y = x * x
        y[0] = x[1]
        s = linad.stop_gradient(y)
        y[1] = 0.0
        s[2] = 7.0
        return np.sum(y * s)

    s = V * V
    s[0] = V[1]
    s[2] = 7.0
    expected = 2.0 * V * s
    expected[0] = 0.0
    expected[1] = s[0]
    x = V.copy()
    np.testing.assert_allclose(linad.grad(f)(x), expected)
    np.testing.assert_array_equal(x, V)


# Any program of reads and writes through views.

VIEWS = [
    lambda x: x,
    lambda x: x[1:],
    lambda x: x[:, ::-1],
    lambda x: x.T,
    lambda x: x[::2, 1:],
    lambda x: x.reshape(-1),
    lambda x: x[0],
    lambda x: x[..., 0],
    lambda x: x[None],
    lambda x: x.ravel("F"),
    lambda x: x.swapaxes(0, -1),
    lambda x: x[-1:],
    lambda x: x[:, ::2].ravel(),
    lambda x: x[:, 1].ravel(),
]
INDICES = [..., 0, -1, slice(1, None), slice(None, None, -1), [0, -1], [0, 0], "positive"]


@st.composite
def random_programs(draw):
    steps = []
    for _ in range(draw(st.integers(2, 7))):
        steps.append(
            (
                draw(st.sampled_from(["view", "write", "update", "keep", "mix"])),
                draw(st.integers(0, 9)),
                draw(st.integers(0, 9)),
                draw(st.integers(0, len(VIEWS) - 1)),
                draw(st.integers(0, len(INDICES) - 1)),
                draw(st.sampled_from([0.5, -0.7, 1.3])),
            )
        )
    return steps


def interpret(steps, x):
    """Run the steps on a growing list of handles; the last entries of each are returned."""
    handles = [x, x.copy()]
    kept = []
    for kind, i, j, v, k, c in steps:
        a, b = handles[i % len(handles)], handles[j % len(handles)]
        index = INDICES[k]
        if index == "positive":
            index = a > 0.0
        if not a.ndim or not a.size or not b.size:
            continue
        if kind == "view":
            if a.ndim == 2 or v in (0, 1, 3, 5, 7, 8, 11):
                view = VIEWS[v](a)
                if view.ndim:
                    handles.append(view)
        elif kind == "write":
            a[index] = np.sin(b.ravel()[-1] * c)
        elif kind == "update":
            a[index] *= c + 0.1 * np.sin(b.ravel()[0])
        elif kind == "mix":
            a += c * np.cos(a[::-1] * b.ravel()[-1])
        else:
            kept.append(b * b)
    return (*[h * 1.0 for h in handles], *kept)


@pytest.mark.rest
@settings(deadline=None, max_examples=80, derandomize=True)
@given(random_programs(), st.sampled_from(["C", "F"]))
def test_random_programs(steps, order):
    check(lambda x: interpret(steps, x.T.copy().T if order == "F" else x), X, order=1)


@pytest.mark.rest
@settings(deadline=None, max_examples=10, derandomize=True)
@given(random_programs())
def test_random_programs_to_second_order(steps):
    check(lambda x: interpret(steps, x), X, order=2)


SHUFFLES = {
    "a generator": lambda x: np.random.default_rng(0).shuffle(x),
    "by another name": lambda x: (lambda mix: mix(x))(np.random.default_rng(0).shuffle),
    "the old state": lambda x: np.random.RandomState(0).shuffle(x),
    "mapped": lambda x: list(map(np.random.default_rng(0).shuffle, [x])),
}


@pytest.mark.filterwarnings("ignore:you are shuffling:UserWarning")
@pytest.mark.parametrize("name", SHUFFLES)
def test_rows_that_compiled_code_swaps(name):
    """It takes views of rows for copies: rows would be lost. Numbers it swaps."""

    def f(x):
        y = x * 1.0
        SHUFFLES[name](y)
        return y

    x = np.arange(6.0)
    np.testing.assert_array_equal(linad.jvp(f, (x,), (x,))[1], f(x))
    for transform in (linad.jacobian, linad.jit):
        with pytest.raises(UnsupportedError, match="permutation"):
            transform(f)(x.reshape(3, 2))


def test_rows_that_python_swaps_are_numpy_s():
    def f(x):
        y = x * 1.0
        y[0], y[2] = y[2], y[0]  # both are views
        operator.setitem(y, 1, y[0])
        return y

    check(f, X)


VALUES = {
    "one": np.ones(1),
    "one by one": np.ones((1, 1)),
    "a list": [2.0],
    "a number": np.float64(2.0),
    "no axes": np.array(2.0),
}
PLACES = {
    "int": ((3,), 0),
    "np.int64": ((3,), np.int64(1)),
    "a 0-d array": ((3,), np.array(1)),
    "a tuple": ((3,), (0,)),
    "ints": ((2, 3), (0, np.int64(1))),
    "a row": ((2, 3), 0),
    "dots": ((3,), (0, ...)),
    "a new axis": ((3,), (0, None)),
    "a mask": ((3,), np.array([True, False, True])),
    "a mask, dots": ((3,), (np.array([True, False, True]), ...)),
    "a mask of rows": ((2, 3), np.array([True, False])),
    "a mask of all": ((2, 3), np.ones((2, 3), bool)),
}


@newer_numpy
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", VALUES)
def test_what_numpy_takes_for_one_entry(place, name):
    shape, index = PLACES[place]

    def f(x, v):
        y = x * 1.0
        y[index] = v
        return x + y

    x, value = np.zeros(shape), VALUES[name]
    for transform in (linad.jit, lambda g: lambda x: linad.linearize(g, x)[0]):

        def g(x):
            return f(x, value)

        try:
            expected = g(x)
        except (TypeError, ValueError) as error:
            with pytest.raises(type(error)):
                transform(g)(x)
        else:
            np.testing.assert_array_equal(transform(g)(x), expected)


OVERLAPS = [
    "x.flat[::2] = x",
    "x.flat[1:] = x",
    "x.T.flat[1:] = x",
    "x.flat[[3, 2, 1]] = x[0]",
    "x.flat[5:0:-1] = x",
    "x.flat[2:] = x.ravel()[:2]",
    "x.flat[...] = x[1]",
    "x.flat[1:4] = x.astype('f4')",
    "x.flat[1:] = x * 1",
    "x[0].flat = x[1]",
    "x.real.flat[1:] = x",
]


@pytest.mark.parametrize("statement", OVERLAPS)
def test_entries_are_written_one_by_one_into_what_is_read(statement):
    """NumPy's ``x.flat[key] = y`` reads as it writes, where other assignments copy first."""
    scope = {}
    exec(f"def f(x):\n    x = x * 1.0\n    {statement}\n    return x", scope)
    f = scope["f"]
    for x in (np.arange(1.0, 7).reshape(2, 3), np.arange(6.0).reshape(3, 2).T):
        expected = f(x)
        np.testing.assert_array_equal(linad.linearize(f, x)[0], expected)
        compiled = linad.jit(f)
        for _ in range(3):
            np.testing.assert_array_equal(compiled(x), expected)


def test_all_entries_from_the_same_memory_are_refused():
    def f(x):
        y = x * 1.0
        y.flat = y[::-1]
        return y

    with pytest.raises(UnsupportedError, match=r"x.flat = y.copy\(\)"):
        linad.linearize(f, np.ones((2, 3)))


def test_integers_as_a_plain_array_cannot_be_written():
    """Plain NumPy would write into the traced array as well."""

    def f(i, x):
        plain = np.asarray(i)
        plain[0] = 2
        return x * i

    def copied(i, x):
        plain = np.array(i)
        plain[0] = 2
        return x * plain + i

    i, x = np.array([5, 3]), np.array([1.0, 2.0])
    with pytest.raises(ValueError, match="read-only"):
        linad.jit(f)(i, x)
    compiled = linad.jit(copied)
    for k in (i, i, i[::-1], i):
        np.testing.assert_array_equal(compiled(k, x), copied(k, x))


def test_the_shape_of_an_argument_is_its_callers():
    def f(x):
        x.shape = (3, 2)
        return x * 2.0

    with pytest.raises(UnsupportedError, match=r"^jit: f sets the shape .*x.reshape\(shape\)"):
        linad.jit(f)(np.ones((2, 3)))


def test_the_shape_of_an_argument_is_its_callers_where_an_error_follows():
    def f(x):
        x.shape = (3, 1, 2)
        x[0] = 5.0
        raise KeyError("mine")

    x = np.ones((2, 1, 3))
    with pytest.raises(UnsupportedError, match=r"^jit: f sets the shape"):
        linad.jit(f)(x)
    assert x.shape == (2, 1, 3)
    assert np.all(x == 1)


@newer_numpy
@pytest.mark.parametrize("index", [0, (1,), np.int64(2), -1], ids=str)
def test_one_entry_of_flat_takes_a_number(index):
    """Fuzzed: the first of several values was written, where NumPy raises."""
    values = [
        *([1.0], [1.0, 2.0], [], np.array([1.0, 2.0]), np.array([[1.0]]), np.array([])),
        *(np.array(1.5), 2.5, np.float64(3.5)),
    ]
    for value in values:

        def f(x, v=value):
            x.flat[index] = v
            return x * 2.0

        def g(x, v):
            x.flat[index] = v
            return x * 2.0

        a = np.ones((2, 2))
        expected = run(f, a)
        found = [run(linad.jit(f), a)]
        if isinstance(value, np.ndarray):
            found.append(run(linad.jit(g), a, value))
            found.append(run(lambda a, v=value: linad.linearize(g, a, v)[0], a, value))
        for y in found:
            if isinstance(expected, Exception):
                assert type(y) is type(expected)
            else:
                np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("into", [np.atleast_1d, np.ravel, np.transpose, np.flip])
def test_nothing_is_left_of_what_is_written_over(into):
    """Its slopes count for nothing, be they infinite: in any order, compiled or not."""

    def f(x):
        y = np.hypot(np.array([[0.0, 1.0], [2.0, 0.0]]), x)
        into(y)[:] = x**2
        return np.sum(y)

    for g in (f, linad.jit(f), linad.jit(linad.jit(f))):
        for _ in range(2):
            assert linad.grad(g)(0.0) == 0.0
            assert linad.hvp(g, (0.0,), (1.0,)) == 8.0
            assert linad.jit(linad.grad(linad.grad(g)))(0.0) == 8.0


WHOLE = {
    "number": lambda x: 3,
    "plain integers": lambda x: np.arange(x.size),
    "integers": lambda x: np.argsort(x.real),
    "truth": lambda x: x.real > 0,
    "single": lambda x: (x.real * 2).astype("f4"),
    "an entry": lambda x: x.real[:1],
    "itself": lambda x: x * 2,
}


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("dtype", ["f8", "f4", "c16"])
def test_what_is_written_over_keeps_its_dtype_and_shape(name, dtype):
    """Values are broadcast and cast as they are written, into tangents as well."""

    def f(x):
        y = x * 1
        y.reshape(1, -1)[:, ::-1] = WHOLE[name](x)
        z = x * x
        z.real = z.real * 2
        x[...] = WHOLE[name](x)
        return y + z, x

    def forward(x):
        return linad.jvp(f, (x,), (np.ones_like(x),))

    for x in (np.linspace(-1, 1, 3), np.ones(1), np.ones(0)):
        x = x.astype(dtype)
        for g in (f, forward):
            expected, jitted = g(x.copy()), linad.jit(g)
            for _ in range(2):
                found = jitted(x.copy())
                for a, b in zip(*[tree.flatten(y)[0] for y in (found, expected)], strict=True):
                    np.testing.assert_allclose(a, b, rtol=1e-6)
                    assert a.dtype == b.dtype == dtype
        linad.trace(f, x.copy())[1].check()
        ones = tuple([np.ones_like(v) for v in f(x.copy())])
        backward = [linad.vjp(g, x.copy())[1](ones)[0] for g in (f, linad.jit(f))]
        np.testing.assert_array_equal(*backward)


LISTS = [
    "x[0, :2] = [x[1, 1], 2]",
    "x[:2] = [x[1], 2 * x[0]]",
    "x[:2] = [x[1], np.arange(3)]",
    "x[:, 0] = (x[0, 1], 3.5, x[1, 1] * x[0, 0])",
    "x[:2, :2] = [[x[0, 0] * x[1, 1], 1], [0, x[2, 2]]]",
    "x[...] = [x[0, 0], 1.0, x[1, 1]]",
    "x[[0, 0]] = [x[1], x[2] * 2]",
    "x[x > x[0, 0]] = [x[0, 0]]",
    "x.flat[2:5] = [x[0, 0], 1, 2]",
    "x = np.insert(x, 1, [x[0, 0], 2, x[1, 1]], axis=0)",
]


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("statement", LISTS)
def test_lists_with_traced_values_are_written(statement):
    scope = {"np": np}
    exec(f"def f(x):\n    x = x.copy()\n    {statement}\n    return x", scope)
    f, base = scope["f"], np.arange(9.0).reshape(3, 3)[::-1] + 1
    jitted, v = linad.jit(f), np.cos(base)
    for dtype in ("f8", "f4", "c16", "i4"):
        x = base.astype(dtype)
        if dtype == "c16" and ">" in statement:
            continue
        for _ in range(2):
            found, expected = jitted(x), f(x)
            np.testing.assert_array_equal(found, expected)
            assert found.dtype == expected.dtype
    slope = (f(base + 1e-6 * v) - f(base - 1e-6 * v)) / 2e-6
    for g in (f, jitted):
        np.testing.assert_allclose(linad.jvp(g, (base,), (v,))[1], slope, rtol=1e-6, atol=1e-7)
        pulled = linad.vjp(g, base)[1](np.ones_like(slope))[0]
        np.testing.assert_allclose(np.sum(pulled * v), np.sum(slope), rtol=1e-6)


@pytest.mark.parametrize("value", ["[s]", "[s, 2.0]", "[s, [2.0]]", "[s, 2j]"])
def test_lists_that_do_not_fit_are_refused(value):
    def f(x):
        x = x * 1.0
        x[0] = eval(value, {"s": x[1]})
        return x

    for g in (lambda x: linad.linearize(f, x), linad.jit(f)):
        with pytest.raises((ValueError, TypeError)):
            g(np.ones(3))


def test_the_shape_of_a_view_may_be_set():
    """It stays a view of the array, of which further writes are seen."""

    def f(x):
        t = x[None]
        t.shape = (4,)
        x[1] = 5.0
        t[0] = 3 * x[2]
        t.shape = (2, 2)
        t[1] += t[0]
        return t * 1, x * 2

    x, v = np.arange(1.0, 5), np.array([0.5, -1.0, 2.0, 0.25])
    slope = [(a - b) / 2e-6 for a, b in zip(f(x + 1e-6 * v), f(x - 1e-6 * v), strict=True)]
    for g in (f, linad.jit(f)):
        for _ in range(2):
            y, dy = linad.jvp(g, (x.copy(),), (v,))
            for found, expected in zip([*y, *dy], [*f(x.copy()), *slope], strict=True):
                np.testing.assert_allclose(found, expected, rtol=1e-7)


@pytest.mark.parametrize("index", [0, slice(0, 1)])
def test_a_compiled_function_keeps_what_a_write_of_a_constant_replaces(index):
    def f(p):
        p[index] = 2.0
        last = p[-1]
        p[-1] = 3.0
        p[0] = last
        return p

    x, dx = np.arange(1.0, 5), np.array([10.0, 20.0, 30.0, 40.0])
    for function in (f, linad.jit(f)):
        np.testing.assert_array_equal(linad.jvp(function, (x.copy(),), (dx,))[1], [40, 20, 30, 0])
        np.testing.assert_array_equal(linad.vjp(function, x.copy())[1](dx)[0], [0, 20, 30, 10])


@newer_numpy
def test_what_numpy_refuses_of_arrays_is_refused():
    def first(x):
        return x[int(x[:1] > 0)]

    def resized(x):
        x.resize(x.shape)
        return x

    def broadcast(x):
        np.broadcast_to(x, x.shape)[0] = 5.0
        return x

    wide = np.ones(6)[::2]
    for f, error in ((first, TypeError), (resized, ValueError), (broadcast, ValueError)):
        for g in (f, linad.jit(f), linad.jit(linad.grad(lambda x, f=f: np.sum(f(x))))):
            with pytest.raises(error):
                g(wide)


def test_an_array_that_nothing_is_squeezed_out_of_is_itself():
    def f(x):
        y = np.broadcast_to(x, x.shape)
        assert x.squeeze() is x
        assert y is not x
        return x * 2

    for g in (f, linad.jit(f), linad.jacobian(f)):
        g(np.ones(3))
