"""The side of an ndarray that is about bytes: what a traced array answers, and refuses."""

import io

import numpy as np
import pytest

import linad
import linad.numpy
from linad.errors import BytesError, LinadError, OverwrittenError, TracerError, UnsupportedError

X = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def inside(question, x=X):
    """What ``question`` finds about a traced x."""
    found = []
    linad.linearize(lambda x: found.append(question(x)) or x, x)
    return found[0]


def test_layout_is_the_values():
    assert inside(lambda x: (x.strides, x[:, 1:].strides, x.T.strides)) == (
        X.strides,
        X[:, 1:].strides,
        X.T.strides,
    )
    assert inside(lambda x: x.T.flags.f_contiguous)
    assert not inside(lambda x: x.T.flags.c_contiguous)
    assert inside(lambda x: (x.device, x.to_device("cpu") is x)) == ("cpu", True)
    assert inside(lambda x: x.__dlpack_device__()) == X.__dlpack_device__()
    with pytest.raises(ValueError, match="device"):
        inside(lambda x: x.to_device("gpu"))


def test_flags_of_the_value_cannot_be_set():
    def f(x):
        y = 1 * x
        y.flags.writeable = False
        y.setflags(write=True)
        y[0] = 0
        return y

    assert np.array_equal(linad.linearize(f, X)[0], [[0, 0, 0], [4, 5, 6]])
    with pytest.raises(UnsupportedError, match="read-only"):
        inside(lambda x: x.setflags(write=False))


def test_views_know_their_base():
    assert inside(lambda x: x.base) is None
    assert inside(lambda x: x[0].base is x)
    assert inside(lambda x: x.T[1:].base is x)
    assert inside(lambda x: (2 * x).base) is None


def test_view():
    def f(x):
        y = x.view()
        y[0] = 3 * y[1]
        return x.view(np.ndarray).view(x.dtype).view(float)

    y, J = linad.linearize(f, X)
    assert np.array_equal(y, [3 * X[1], X[1]])
    assert np.array_equal(J.pullback(np.ones_like(X)), [[0, 0, 0], [4, 4, 4]])
    with pytest.raises(UnsupportedError, match=r"view: .*z.view\(float\)"):
        inside(lambda x: x.view(np.int64))


def test_the_array_namespace_is_linads():
    assert inside(lambda x: x.__array_namespace__()) is linad.numpy
    assert inside(lambda x: x.__array_namespace__(api_version="2023.12")) is linad.numpy
    with pytest.raises(ValueError, match="2000"):
        inside(lambda x: x.__array_namespace__(api_version="2000.00"))


@pytest.mark.parametrize("name", ["data", "ctypes"])
def test_memory_is_not_lent(name):
    assert not inside(lambda x: hasattr(x, name))
    with pytest.raises(BytesError, match=rf"{name}: .*\(2, 3\), float64.*stop_gradient"):
        inside(lambda x: getattr(x, name))
    assert inside(lambda x: getattr(linad.stop_gradient(x), name)) is not None


REFUSED = {
    "getfield": (np.float32,),
    "setfield": (1.0, np.float32),
    "byteswap": (),
    "item": (0,),
    "tolist": (),
    "tobytes": (),
    "tofile": (io.BytesIO(),),
    "dump": (io.BytesIO(),),
    "dumps": (),
    "__dlpack__": (),
    "__reduce__": (),
}
if hasattr(X, "tostring"):  # until NumPy 2.2
    REFUSED["tostring"] = ()


@pytest.mark.parametrize("name", REFUSED)
def test_bytes_are_not_given_away(name):
    with pytest.raises((TracerError, UnsupportedError), match=r"\(2, 3\), float64"):
        inside(lambda x: getattr(x, name)(*REFUSED[name]))


def test_every_public_attribute_of_ndarray_is_there():
    """Each works or raises one of linad's errors; none is missing."""
    # NumPy 2.2 lists itemset, newbyteorder and ptp, which no array has.
    public = [name for name in dir(X) if not name.startswith("_") and hasattr(X, name)]

    def missing(x):
        found = []
        for name in public:
            try:
                getattr(x, name)
            except AttributeError as error:
                if not isinstance(error, LinadError):
                    found.append(name)
        return found

    assert inside(missing) == []


def test_shifts_and_bits_are_for_integers():
    mask = np.array([1, 2, 3])

    def f(x):
        order = np.argsort(x)
        order <<= mask
        order &= 6
        order |= 1
        order ^= 2
        order >>= 1
        return x * order

    x = np.array([0.5, 0.1, 0.9])
    y, tape = linad.trace(f, x)
    assert np.array_equal(y, f(x))
    assert np.array_equal(tape(x), f(x))
    for op in (lambda x: x << 1, lambda x: 1 >> x, lambda x: x & 1):
        with pytest.raises(TypeError, match="not supported"):
            inside(op)


VIEWS = {
    "rows": lambda x: x[:, :2],
    "entry": lambda x: x[:1, :1].reshape(()),
    "transpose": lambda x: x.T[::2],
    "axis": lambda x: x[None, 1:],
    "diagonal": np.diagonal,
    "repeated": lambda x: np.broadcast_to(x[0], (2, 3)),
}
MODES = {
    "grad": linad.grad,
    "jit": linad.jit,
    "compiled gradient": lambda f: linad.jit(linad.grad(f)),
    "gradient of compiled": lambda f: linad.grad(linad.jit(f)),
    "hessian": linad.hessian,
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", VIEWS)
def test_where_views_lie_after_writes(name, mode):
    """In traces within traces as well, of which the inner ones read copies."""
    view = VIEWS[name]

    def f(x, told):
        t = view(x)
        for write in (None, t, x):
            if write is not None and write.flags.writeable:
                write *= 2.0
            told.append(
                (
                    bool(np.shares_memory(t, x)),
                    bool(np.shares_memory(t, view(x))),
                    bool(np.shares_memory(t.reshape(-1), x)),
                    bool(np.shares_memory(t, x * 1)),
                    t.flags.c_contiguous,
                    t.flags.owndata,
                    t.strides,
                    t.base is x,
                )
            )
        return np.sum(x) + np.sum(t) ** 2

    expected, found = [], []
    f(np.arange(9.0).reshape(3, 3).copy(), expected)
    MODES[mode](lambda x: f(x, found))(np.arange(9.0).reshape(3, 3).copy())
    assert found[:3] == expected


def test_integers_that_were_handed_out_are_not_overwritten_unseen():
    """A recorded program hands out numbers as they are; what is written later is not in them."""

    def kept(x):
        order = np.argsort(x)
        plain = np.asarray(order)
        order[0] = order[1]
        return x[plain]

    def copied(x):
        order = np.argsort(x)
        plain = np.array(order)
        order[0] = order[1]
        return x[plain] + np.repeat(x[order], order + 1)[:3]

    def read(x):
        order = np.argsort(x)
        y = x[order] * np.take(np.arange(3), np.asarray(order)) + np.bincount(order)
        order[0] = order[1]
        return y + x[order]

    x = np.array([2.0, 3.0, 1.0])
    with pytest.raises(UnsupportedError, match="hand over a copy"):
        linad.jit(kept)(x)
    for f in (copied, read):
        np.testing.assert_allclose(linad.jit(f)(x), f(x))


def test_fields_of_the_own_dtype_are_all_of_an_array():
    def written(x):
        y = 1.0 * x
        y[0].setfield(x[1] ** 2, float)
        y.getfield(np.float64)[1, 1] = 3.0 * x[0, 0]
        return y

    def plain(x):
        y = 1.0 * x
        y[0] = x[1] ** 2
        y[1, 1] = 3.0 * x[0, 0]
        return y

    np.testing.assert_allclose(linad.jacobian(written)(X), linad.jacobian(plain)(X))
    assert np.array_equal(written(X), plain(X))
    with pytest.raises(UnsupportedError, match="setfield"):
        inside(lambda x: x.setfield(1.0, x.dtype, 8))


HANDING_OUT = {
    "asarray": np.asarray,
    "ascontiguousarray": np.ascontiguousarray,
    "asfortranarray": np.asfortranarray,
    "require": np.require,
    "require W": lambda a: np.require(a, requirements=["C", "W"]),
    "a masked array": lambda a: np.ma.asarray(a).data,
    "a view": lambda a: np.asarray(a).T[1:],
}


@pytest.mark.parametrize("name", HANDING_OUT)
@pytest.mark.parametrize("held", [False, True], ids=["forgotten", "held"])
def test_integers_that_were_handed_out_are_not_written_into_unseen(name, held):
    """``np.add.at`` writes into what is read only until NumPy 2.4, and ``np.require`` copies it
    for who asks."""
    holding = []

    def f(x, a):
        plain = HANDING_OUT[name](a)
        if held:
            holding.append(plain)
        np.add.at(plain.reshape(-1), [0], 4)
        del plain
        return x * a.sum()

    def read(x, a):
        return x * HANDING_OUT[name](a).sum() + a.sum()

    written_by_at = np.lib.NumpyVersion(np.__version__) < "2.5.0" or name == "require W"
    error, words = (
        (OverwrittenError, "does not see it") if written_by_at else (ValueError, "read-only")
    )
    with pytest.raises(error, match=words):
        linad.jit(f)(1.0, np.array([5, 2, 1]))
    for a in (np.array([5, 2, 1]), np.array([True, False]), np.zeros((0, 2), "u1")):
        assert linad.jit(read)(2.0, a) == read(2.0, a)


def test_a_refused_write_into_integers_that_were_handed_out_says_why():
    def f(x, a):
        np.asarray(a)[0] = 7
        return x * a.sum()

    def kept(x, a):
        plain = np.asarray(a)
        plain[0] = 7
        return x * a.sum()

    for g in (f, kept):
        with pytest.raises(ValueError, match="read-only") as raised:
            linad.jit(g)(1.0, np.array([5, 2, 1]))
        assert "write into a copy, np.array(a)" in raised.value.__notes__[0]
