"""Tracebacks show the user's code, and linad's own frames only when they are asked for."""

import subprocess
import sys
import traceback

import numpy as np
import pytest
import scipy.integrate

import linad
from linad.errors import LinadError, TracerError

X = np.array([0.3, 0.5])


def inner(x):
    return float(x[0]) * x


def outer(x):
    return inner(x) + 1.0


DOORS = {
    "jacobian": lambda f: linad.jacobian(f)(X),
    "grad": lambda f: linad.grad(lambda x: np.sum(f(x)))(X),
    "nested": lambda f: linad.jacobian(linad.jacobian(f))(X),
    "linearize": lambda f: linad.linearize(f, X),
    "jvp": lambda f: linad.jvp(f, (X,), (X,)),
    "vjp": lambda f: linad.vjp(f, X),
    "hvp": lambda f: linad.hvp(lambda x: np.sum(f(x)), (X,), (X,)),
    "jit": lambda f: linad.jit(f)(X),
}


def own_frames(error):
    names = [frame.f_globals["__name__"] for frame, _ in traceback.walk_tb(error.__traceback__)]
    return [name for name in names if name.startswith("linad.")]


@pytest.mark.parametrize("door", DOORS)
def test_one_line_is_left_of_linad(door):
    with pytest.raises(TracerError) as caught:
        DOORS[door](outer)
    assert len(own_frames(caught.value)) == 1
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (last.name, last.line) == ("inner", "return float(x[0]) * x")
    assert not hasattr(caught.value, "__notes__")
    hidden = [frame for frame, _ in traceback.walk_tb(caught.value.__traceback__)]
    assert [f.f_locals["__tracebackhide__"] for f in hidden if "linad." in f.f_globals["__name__"]]


def test_errors_of_others_keep_where_they_arose():
    with pytest.raises(ZeroDivisionError) as caught:
        linad.grad(lambda x: x[0] * (1 // 0))(X)
    assert len(own_frames(caught.value)) == 1
    with pytest.raises(TypeError, match="len") as caught:
        linad.linearize(lambda x: len(x[0]) * x, X)
    assert not isinstance(caught.value, LinadError)
    assert len(own_frames(caught.value)) > 1


def test_frames_of_others_between_stay():
    def f(x):
        return scipy.integrate.solve_ivp(lambda t, y: float(x[0]) * y, (0.0, 1.0), [1.0]).y[:, -1]

    with pytest.raises(LinadError) as caught:
        linad.jacobian(f)(X)
    packages = {
        frame.f_globals["__name__"].partition(".")[0]
        for frame, _ in traceback.walk_tb(caught.value.__traceback__)
    }
    assert "scipy" in packages


@pytest.mark.rest
@pytest.mark.parametrize("wanted", ["", "full"])
def test_what_python_prints(wanted):
    script = "import linad, numpy as np\nlinad.grad(lambda x: float(x[0]) * x[1])(np.ones(2))\n"
    environment = {"LINAD_TRACEBACK": wanted, "PYTHONPATH": ":".join(sys.path)}
    run = subprocess.run(
        [sys.executable, "-P", "-c", script],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line for line in run.stderr.splitlines() if line.startswith("  File")]
    assert "TracerError" in run.stderr
    if wanted:
        assert len(lines) > 6
    else:
        assert len(lines) == 3
        assert "LINAD_TRACEBACK=full shows what ran inside" in run.stderr
