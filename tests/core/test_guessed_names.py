"""Names of other libraries, and misspelt ones, are answered with linad's."""

import pytest

import linad
from linad.core import guessed_names


@pytest.mark.parametrize(
    "name, meant",
    [
        ("hess", "did you mean linad.hessian?"),
        ("gradient", "did you mean linad.grad?"),
        ("jacobain", "did you mean linad.jacobian?"),
        ("curvefit", "did you mean linad.solve.curve_fit?"),
        ("fit", "did you mean linad.solve.fit?"),
        ("vmap", "linad.map"),
        ("ODR", "linad.solve.fit"),
        ("odeint", "linad.scipy.integrate has SciPy's odeint"),
        ("sparse", "linad.scipy.sparse"),
        ("sin", "write np.sin"),
        ("array", "linad.numpy.array"),
    ],
)
def test_what_linad_has_not(name, meant):
    with pytest.raises(AttributeError) as raised:
        getattr(linad, name)
    assert str(raised.value).startswith(f"module 'linad' has no attribute {name!r}; ")
    assert meant in str(raised.value)


@pytest.mark.parametrize(
    "name, meant",
    [
        ("curvefit", "did you mean linad.solve.curve_fit?"),
        ("bootstrap", "resampled data"),
        ("leastsq", "linad.solve.fit"),
        ("lsq_linear", "linad.scipy.optimize has SciPy's lsq_linear"),
        ("newton_kyrlov", "did you mean linad.solve.newton_krylov?"),
    ],
)
def test_what_the_solvers_have_not(name, meant):
    with pytest.raises(AttributeError, match="'linad.solve' has no attribute") as raised:
        getattr(linad.solve, name)
    assert meant in str(raised.value)


@pytest.mark.parametrize("module", [linad, linad.solve])
def test_what_nobody_means_is_told_to_python(module):
    with pytest.raises(AttributeError, match="has no attribute 'qwertz'$") as raised:
        module.qwertz  # noqa: B018
    assert (raised.value.name, raised.value.obj) == ("qwertz", module)


@pytest.mark.parametrize("table", [guessed_names.OF_LINAD, guessed_names.OF_SOLVERS])
def test_what_hints_name_is_there(table):
    """Every ``linad.x.y`` in them."""
    for hint in table.values():
        for word in hint.replace("(", " ").replace(",", " ").replace(";", " ").split():
            thing = linad
            if word.startswith("linad."):
                for part in word.removesuffix("'s").split(".")[1:]:
                    thing = getattr(thing, part)
