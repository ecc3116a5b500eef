"""What is read off Python: whose code runs, what its line is doing, and what things are called."""

import math

import numpy as np
import pytest
import scipy.linalg.blas
import scipy.linalg.lapack
import scipy.optimize
import scipy.special
import scipy.stats

from linad.core.frames import (
    asked,
    called_at,
    called_function,
    enters_with,
    is_of_fortran,
    names_in,
    place,
    public_name,
    shown_file,
    using_frame,
)


class Asking:
    """Asks what is done with it, from a module of linad's."""

    def __init__(self):
        scope = {"__name__": "linad.asking", "asked": asked, "called": called_function}
        exec(
            "def ask(self, *args):\n    self.found = asked()\n    return 1.0\n"
            "def put(self, key, value):\n    self.found = called()\n",
            scope,
        )
        self.ask = scope["ask"]
        kind = {"__float__": scope["ask"], "__getitem__": scope["ask"], "__mod__": scope["ask"]}
        kind |= {"__rmod__": scope["ask"], "__setitem__": scope["put"]}
        self.x = type("Asked", (), kind)()

    @property
    def found(self):
        return self.x.found


def test_what_a_line_does():
    a = Asking()
    math.sin(a.x)
    assert (a.found.kind, a.found.name, a.found.function) == ("call", "math.sin", math.sin)
    np.float64(a.x)
    assert a.found.name == "numpy.float64"
    a.x[1]
    assert a.found.kind == "index"
    "%f" % a.x  # noqa: UP031
    assert a.found.kind == "text"
    rng = np.random.default_rng(0)
    rng.normal(a.x)
    assert a.found.name == "numpy.random.Generator.normal"
    assert a.found.owner is rng


def test_functions_of_tables_and_by_name():
    a, which = Asking(), "b"
    tables = {"a": math.sin, "b": np.float64}, [np.float64, math.cos]
    getattr(math, "sin")(a.x)  # noqa: B009
    assert (a.found.name, a.found.function) == ("math.sin", math.sin)
    tables[0]["a"](a.x)
    assert a.found.name == "math.sin"
    table, functions = tables
    table[which[:0] + "a"](a.x)
    assert a.found.name == ""  # a key that is computed
    table[which](a.x)
    assert a.found.name == "numpy.float64"
    table["a"](a.x)
    assert a.found.name == "math.sin"
    functions[1](a.x)
    assert a.found.name == "math.cos"
    list(map(math.tan, [a.x]))
    assert a.found.name in ("", "list")  # math.tan leaves no frame


def test_the_innermost_frame_of_the_user():
    assert using_frame().f_code.co_name == "test_the_innermost_frame_of_the_user"
    file, _, line = place().rpartition(":")
    assert file == __file__
    assert int(line) > 50
    assert shown_file("/tmp/ipykernel_123/456.py") == "cell"
    assert shown_file("model.py") == "model.py"


def test_what_is_entered_by_with():
    class Entered:
        def __init__(self):
            self.entered = enters_with(using_frame().f_back)

        def __enter__(self):
            return self

        def __exit__(self, *error):
            pass

    with Entered() as made:
        pass
    assert made.entered
    assert not Entered().entered


@pytest.mark.parametrize(
    "thing, name",
    [
        (np.sin, "numpy.sin"),
        (scipy.special.gammaln, "scipy.special.gammaln"),
        (scipy.optimize.brentq, "scipy.optimize.brentq"),
        (scipy.stats.norm, "scipy.stats.norm"),
        (math.floor, "math.floor"),
        (len, "len"),
        (pytest.raises, ""),
        (lambda x: x, ""),
        (None, ""),
    ],
)
def test_public_names(thing, name):
    assert public_name(thing) == name


def test_names_in_code():
    def f(x):
        return math.sin(x) + (lambda y: np.cos(y))(x)

    assert {"math", "sin", "np", "cos"} <= set(names_in(f.__code__))


def test_routines_of_fortran_have_the_names_of_their_modules():
    lapack, blas = scipy.linalg.lapack, scipy.linalg.blas
    assert public_name(lapack.dgesv) == "scipy.linalg.lapack.dgesv"
    assert public_name(blas.zdotc) == "scipy.linalg.blas.zdotc"
    assert public_name(scipy.linalg.get_lapack_funcs("potrf")) == "scipy.linalg.lapack.dpotrf"
    assert is_of_fortran(blas.ddot)
    assert not is_of_fortran(np.dot)


def test_what_a_line_that_failed_had_called():
    with pytest.raises(TypeError) as caught:
        math.sin("x")
    assert called_at(caught.tb) == "math.sin"
    with pytest.raises(KeyError) as caught:
        {}["x"]
    assert called_at(caught.tb) == ""
