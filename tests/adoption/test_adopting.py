"""Code as it is found in packages, adopted: right derivatives, and nothing left behind."""

import builtins
import gc
import importlib
import math
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest
from near_points import differences

import linad
from linad.control.body_trace import BodyTrace
from linad.control.closures import ClosureTrace
from linad.core import adopted
from linad.core.renaming import KNOWN, check_version
from linad.errors import (
    AdoptionWarning,
    ArgumentError,
    DisconnectedWarning,
    LinadError,
    SwallowedError,
    TracerError,
    UnsupportedError,
)
from linad.transforms.record import RecordTrace

pytestmark = pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")

X = np.array([0.3, 0.5, 0.7])


def check(f, x=X):
    expected = differences(f, x)
    y, J = linad.linearize(f, x)
    np.testing.assert_allclose(y, f(x), rtol=1e-14)
    np.testing.assert_allclose(J @ np.eye(x.size), expected.reshape(-1, x.size), atol=1e-7)
    v = np.array([0.2, -1.0, 0.4])
    np.testing.assert_allclose(linad.jvp(f, (x,), (v,))[1], expected @ v, atol=1e-7)


def state(package):
    """Everything that adopting could change."""
    functions = [f for f in vars(package).values() if hasattr(f, "__code__")]
    functions += [package.Model.__call__, package.Model.scaled]
    return [
        *[
            (f.__code__, f.__defaults__, f.__kwdefaults__ and {**f.__kwdefaults__})
            for f in functions
        ],
        {**package.CONSTANTS},
        [*package.STEPS],
        package.PAIR,
        package.square.func,
        vars(package.Model)["transform"],
        vars(package.Model)["kind"].__func__,
        package.from_closure.__closure__[0].cell_contents,
        package.nodes,
        *[package.np, package.zeros, package.math],
    ]


@pytest.mark.usefixtures("unfrozen")
def test_patterns(installed):
    package = installed()
    before = state(package)
    adoption = linad.adopt(package.__name__)
    for f in package.FUNCTIONS:
        check(f)
    adoption.undo()
    after = state(package)
    assert len(before) == len(after)
    for old, new in zip(before, after, strict=True):
        assert old is new or old == new
    with pytest.raises(TracerError):
        linad.jacobian(package.to_floats)(X)


def test_patterns_without_being_named(installed):
    package = installed()
    with linad.adopt(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for f in package.FUNCTIONS:
            np.testing.assert_allclose(linad.jacobian(f)(X), differences(f, X), atol=1e-7)
    said = [str(w.message) for w in caught if w.category is AdoptionWarning]
    assert len(said) == 1
    assert f"{package.__name__}/__init__.py, line" in said[0]
    with pytest.raises(TracerError):
        linad.jacobian(package.items)(X)


@pytest.mark.parametrize("kind", [RecordTrace, BodyTrace, ClosureTrace])
def test_who_calls_what_is_recorded_is_not_met(kind):
    with linad.adopt(), kind() as trace:
        assert trace.touches._started is sys._getframe()


def test_one_function_alone(installed):
    package = installed()
    with linad.adopt(package.written_literal, package.from_argument, package.items):
        check(package.written_literal)
        check(package.from_argument)
        check(package.items)
        with pytest.raises(TracerError):
            linad.jacobian(package.to_floats)(X)


def test_plain_calls_give_what_they_gave(installed):
    package = installed()
    plain = [f(X) for f in package.FUNCTIONS]
    with linad.adopt(package.__name__):
        for f in package.FUNCTIONS:
            linad.jacobian(f)(X)
        again = [f(X) for f in package.FUNCTIONS]
    for a, b in zip(plain, again, strict=True):
        assert type(a) is type(b)
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


def test_second_derivatives_and_compiled(installed):
    package = installed()
    with linad.adopt(package.__name__):
        for f in (package.of_math, package.written_from_import, package.rows_of_lists):
            J = linad.jacobian(f)
            np.testing.assert_allclose(linad.jacobian(J)(X), differences(J, X), atol=1e-6)
        jitted = linad.jit(linad.jacobian(package.written_literal))
        jitted(X)
        again = linad.jacobian(package.written_literal)(X * 1.01)
        np.testing.assert_allclose(jitted(X * 1.01), again, rtol=1e-12)


def test_adoptions_overlap(installed):
    package = installed()
    code = package.to_floats.__code__
    outer = linad.adopt(package.__name__)
    inner = linad.adopt(package.__name__)
    alone = linad.adopt(package.to_floats)
    outer.undo()
    check(package.to_floats)
    inner.undo()
    inner.undo()
    check(package.to_floats)
    alone.undo()
    assert package.to_floats.__code__ is code


def test_modules_that_are_imported_later(installed):
    text = "import numpy as np\n\ndef f(x):\n    y = np.zeros(3)\n    y[0] = x[1]\n    return y\n"
    inside = "def g(x):\n    from {} import later\n    return later.f(x) * x\n"
    package = installed("", later=text, inner=text)
    with linad.adopt(package.__name__):
        inner = __import__(f"{package.__name__}.inner").inner
        check(inner.f)
    user = installed(inside.format(package.__name__))
    with linad.adopt(package.__name__, user.__name__):
        check(user.g)


def test_code_that_a_package_executes(installed):
    """Globals without a name, as ``exec`` makes them, belong to the package of the file."""
    text = "import numpy as np\n\ndef f(x):\n    y = np.asarray(x)\n    y = y * np.ones(3)\n"
    text += "    z = np.zeros(3)\n    z[0] = x[1]\n    return y + z\n"
    loads = (
        "import pathlib\n\nfile = str(pathlib.Path(__file__).parent / 'data.py')\nspace = {}\n"
        "exec(compile(pathlib.Path(file).read_text(), file, 'exec'), space)\nf = space['f']\n"
    )
    package = installed(loads, data=text)
    code = package.f.__code__
    with pytest.raises(TracerError, match=rf"linad.adopt\('{package.__name__}'\)"):
        linad.jacobian(package.f)(X)
    with linad.adopt(package.__name__):
        check(package.f)
    assert package.f.__code__ is code


def test_code_that_a_package_makes(installed):
    """A function made of a text, as sympy.lambdify makes it, belongs to who calls it."""
    package = installed(
        "import numpy as np\n\nspace = {'array': np.array, 'sin': np.sin}\n"
        "exec('def made(s): return array([[sin(s), 1.0], [0.0, s]])', space)\n\n"
        "def f(x):\n    return space['made'](x[0]) @ x[1:]\n"
    )
    made = package.space["made"].__code__
    with linad.adopt(package.__name__):
        check(package.f)
    assert package.space["made"].__code__ is made


def test_caches_that_other_modules_import(installed):
    cached = (
        "import functools\n\nimport numpy as np\n\n@functools.lru_cache\ndef f(s, n):\n"
        "    return s**2 * np.ones(n)\n"
    )
    package = installed(
        "", cached=cached, user="from .cached import f\n\ndef g(x):\n    return f(x[0], 3)\n"
    )
    user = importlib.import_module(f"{package.__name__}.user")
    with linad.adopt(package.__name__):
        check(user.g)
        assert user.f(2.0, 2) is user.f(2.0, 2)


def test_modules_of_its_folder_without_its_name(installed, monkeypatch):
    package = installed(
        "import os\nimport sys\n\nsys.path.insert(0, os.path.dirname(__file__))\n"
        "import lone_stand_in\n\nsys.path.pop(0)\n\n"
        "def f(x):\n    return lone_stand_in.sines(x)\n",
        lone_stand_in="import math\n\nimport numpy as np\n\n"
        "def sines(x):\n    return np.array([math.sin(s) for s in x])\n",
    )
    monkeypatch.delitem(sys.modules, "lone_stand_in")  # no more than after the test
    sys.modules["lone_stand_in"] = lone = package.lone_stand_in
    code = lone.sines.__code__
    with linad.adopt(package.__name__):
        check(package.f)
    assert lone.sines.__code__ is code
    with pytest.raises(TracerError):
        linad.grad(lambda x: package.f(x)[0])(X)


def test_constants_are_written_into_arrays_of_others(installed):
    package = installed(
        "import numpy as np\n\n"
        "class Place:\n    def __init__(self):\n        self._nodes = np.zeros((1, 3))\n\n"
        "    @property\n    def nodes(self):\n        return self._nodes\n\n"
        "    def move(self, to):\n"
        "        self.nodes[0] = np.atleast_1d(to).astype(float)\n"
        "        self.nodes[0] += np.ones(3)\n\n"
        "PLACE = Place()\n\n"
        "def distance(x):\n    PLACE.move(np.eye(3)[0])\n"
        "    return np.linalg.norm(x - PLACE.nodes[0]) * x\n\n"
        "def lost(x):\n    PLACE.move(x)\n    return PLACE.nodes[0] * x\n"
    )
    with linad.adopt(package.__name__):
        check(package.distance)
        with pytest.raises(TracerError, match="writing"):
            linad.jacobian(package.lost)(X)


def test_rounding_to_decimals_is_said(installed):
    package = installed(
        "import numpy as np\n\n"
        "def kept(x):\n    return np.sqrt(2.0 * (1.0 - np.round(x, 10))) + x\n\n"
        "def number(x):\n    return round(x[0], 7) * x\n\n"
        "def whole(x):\n    return np.round(x) + x\n\n"
        "def constant(x):\n    return np.round(np.ones(3) / 3, 2) * x\n"
    )
    with linad.adopt(package.__name__):
        for f, digits in ((package.kept, 10), (package.number, 7)):
            line = rf"{package.__name__}/__init__.py, line \d+ rounds .* to {digits} decimals"
            with pytest.warns(DisconnectedWarning, match=line):
                linad.jacobian(f)(X)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            linad.jacobian(package.whole)(X)
            linad.jacobian(package.constant)(X)
            linad.jacobian(lambda x: np.round(x, 2) + x)(X)


def test_numbers_among_those_of_a_set(installed):
    package = installed(
        "import numpy as np\n\n"
        "def entropy(x):\n    p = x[0]\n    if p in {0.0, 1.0}:\n        return 0.0 * x\n"
        "    if x[1] in {0.1, 2}:\n        return x\n"
        "    return -p * np.log2(p) * x\n"
    )
    code = package.entropy.__code__
    with linad.adopt(package.__name__):
        check(package.entropy)
        jitted = linad.jit(linad.jacobian(package.entropy))
        np.testing.assert_allclose(jitted(X), differences(package.entropy, X), atol=1e-7)
        np.testing.assert_array_equal(jitted(np.array([1.0, 2.0, 3.0])), np.zeros((3, 3)))
        np.testing.assert_array_equal(jitted(np.array([0.2, 0.1, 3.0])), np.eye(3))
        with pytest.raises(TypeError, match="unhashable"):
            package.entropy([[1.0], [2.0]])
    assert package.entropy.__code__ is code


def test_other_threads_see_numpy(installed):
    package = installed()
    wrong, stop = [], threading.Event()

    def plain():
        while not stop.is_set():
            if type(package.from_cache(X)) is not np.ndarray:
                wrong.append("from_cache")
            if (
                type(package.from_default(X)) is not np.ndarray
                or type(package.sine(0.1)) is not float
            ):
                wrong.append("from_default")
            if type(package.Model().base) is not np.ndarray:
                wrong.append("base")

    with linad.adopt(package.__name__):
        threads = [threading.Thread(target=plain) for _ in range(2)]
        for thread in threads:
            thread.start()
        for _ in range(40):
            J = linad.jacobian(package.from_generator)(X)
        stop.set()
        for thread in threads:
            thread.join()
    assert not wrong
    np.testing.assert_allclose(J, differences(package.from_generator, X), atol=1e-7)


def test_arrays_that_have_two_names_are_not_replaced(installed):
    package = installed(
        "import numpy as np\n\n"
        "def alias(x):\n    y = np.array([0.0, 0.0, 0.0])\n    z = y\n    y[0] = x[0]\n"
        "    return z * x\n\n"
        "def view(x):\n    y = np.array([0.0, 0.0, 0.0])\n    v = y[:2]\n    y[0] = x[0]\n"
        "    return v * x[:2]\n\n"
        "KEPT = np.array([1.0, 2.0, 3.0])\n\n"
        "def kept(x):\n    KEPT[0] = x[0]\n    return KEPT * x\n"
    )
    with linad.adopt(package.__name__):
        for f in (package.alias, package.view, package.kept):
            with pytest.raises(TracerError, match="linad.adopt"):
                linad.jacobian(f)(X)


def test_a_name_that_is_only_named_stays(installed):
    package = installed()
    with linad.adopt(package.__name__):
        assert package.np is np
        assert package.zeros is np.zeros
        code = package.named_not_called.__code__
        assert code.co_varnames[:2] == ("x", "kind")
        assert package.named_not_called.__defaults__ == (np.float64,)


def test_refusals_in_installed_code_name_the_remedy(installed):
    package = installed()
    for f in (package.nested_list, package.to_floats, package.items, package.by_scipy):
        with pytest.raises(TracerError) as caught:
            linad.jacobian(f)(X)
        text = str(caught.value)
        assert f"linad.adopt({package.__name__!r}) lets it trace" in text
        assert f"{package.__name__}/__init__.py, line" in text
        assert "drop" not in text
    with pytest.raises(SwallowedError, match="linad.adopt"):
        linad.jacobian(package.swallows)(X)


def own(x):
    y = np.array([0.0, 0.0, 1.0])
    y[1] = x[0] * math.exp(float(x[1]))
    y += x
    return y


def test_the_users_own_module_runs_once():
    runs = []

    def f(x):
        runs.append(1)
        return own(x)

    with linad.adopt(__name__):
        linad.jacobian(f)(X)
        assert len(runs) == 1
        np.testing.assert_allclose(linad.jacobian(own)(X), differences(own, X), atol=1e-7)
    with linad.adopt(), pytest.raises(TracerError):
        linad.jacobian(own)(X)


SCRIPT = """
import linad

adoption = linad.adopt(__name__)  # before anything stands here

import math
from scipy.integrate import quad
from scipy.spatial.distance import cdist
from scipy.spatial.transform import Rotation

def area(x):
    return quad(lambda t: x[0] * t**2, 0.0, 1.0)[0] * x[1]

def rotated(x):
    return Rotation.from_rotvec(x).as_matrix().ravel()

def length(x):
    return math.sqrt(float(x @ x))

def closures(x):
    def inner(v):
        return math.exp(float(v[0]))
    return inner(x)

class Model:
    def __init__(self):
        self.step = lambda x: math.exp(float(x[0]))
    def loss(self, x):
        return self.step(x)

@linad.jit
def compiled(x):
    return math.sin(float(x[0]))

functions = [area, rotated, length, closures, Model().loss, compiled]
functions += [lambda x: cdist(x[None], 2 * x[None]).sum()]
"""


def test_what_a_module_defines_after_it_was_adopted(tmp_path, monkeypatch):
    """A script adopts itself in its first lines; a notebook defines functions again."""
    (tmp_path / "late_script.py").write_text(SCRIPT, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    import late_script

    try:
        for f in late_script.functions:
            check(f)
            check(f)
        exec("def length(x): return float(math.log(x[0]))", vars(late_script))
        np.testing.assert_allclose(linad.grad(late_script.length)(X), [1 / X[0], 0, 0])
    finally:
        late_script.adoption.undo()
        sys.modules.pop("late_script")


SPLINES = """
import linad

adoption = linad.adopt(__name__)

import numpy as np
import scipy.interpolate

def line(x):
    return 2.0 * x

def early(x):
    return curve(x)

def earlier(x):
    return CubicSpline(N, N * x[0])(x)
"""
LATER = """
N = np.arange(10.0)
curve = scipy.interpolate.CubicSpline(N, N**1.1)
monotone = scipy.interpolate.PchipInterpolator(N, N**1.1)
grid = scipy.interpolate.RegularGridInterpolator((N,), N**1.1)
from scipy.interpolate import CubicSpline

def by_spline(x):
    return curve(x)

def by_pchip(x):
    return monotone(x)

def by_grid(x):
    return grid(x[:, None])

functions = [by_spline, by_pchip, by_grid, early, earlier, lambda x: curve(x) * x]
"""


def test_objects_of_scipy_that_a_module_makes_after_its_first_derivative(tmp_path, monkeypatch):
    """A script reads its calibration behind the first fit; a function may name it before."""
    whole = f"{SPLINES}\nlinad.jacobian(line)(np.ones(3))\n{LATER}"
    (tmp_path / "spline_script.py").write_text(whole, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    import spline_script

    try:
        for f in spline_script.functions:
            check(f)
    finally:
        spline_script.adoption.undo()
        sys.modules.pop("spline_script")
    assert spline_script.early(1.0) == spline_script.curve(1.0)


FROZEN = """
import math

REGISTRY = []

class Model:
    scale = staticmethod(math.exp)

    def __call__(self, x):
        return self.scale(float(x[0]))

def registered():
    REGISTRY.append(lambda x: math.sqrt(x[0]) * float(x[1]))

registered()
f = lambda x: REGISTRY[0](x) + Model()(x)
"""


@pytest.mark.rest
@pytest.mark.usefixtures("unfrozen")
def test_objects_that_the_garbage_collector_left_alone(installed):
    """As in a server that calls `gc.freeze` before it forks."""
    package = installed(FROZEN)
    gc.freeze()
    try:
        with linad.adopt(package):
            check(package.f)
    finally:
        gc.unfreeze()
    with pytest.raises(LinadError):
        linad.grad(package.f)(X)


def test_code_that_is_made_anew_in_each_run_ends():
    """Never adopted in time; it is refused as elsewhere, and not for ever run again."""

    def made(x):
        exec("def f(x): return math.sqrt(float(x[0]))", globals())
        return f(x)  # noqa: F821

    with linad.adopt(__name__), pytest.raises(TracerError, match="float"):
        linad.grad(made)(X)


COMPILED = """
import math
import numba
import numpy as np

@numba.njit
def weight(s):
    return s * np.exp(-s)

@numba.njit
def total(x):
    y = np.zeros(3)
    for i in range(len(x)):
        y[i] += weight(x[i]) * x[0]
    return y

def outer(x):
    return total(x) * weight(x[1])

@numba.vectorize
def bent(s, t):
    return s * math.sqrt(t) if s > 0.6 else s - t

@numba.vectorize(["float64(float64)"])
def raised(s):
    return s**1.5

def outer_of_ufuncs(x):
    return bent(x, raised(x[0])) * bent(x[:, None], 1.5).sum()
"""


@pytest.mark.compiles
def test_functions_that_numba_compiles(installed):
    package = installed(COMPILED)
    kind, python = type(package.total), package.total.py_func.__code__
    plain, of_ufuncs = package.outer(X), package.outer_of_ufuncs(X)
    with linad.adopt(package.__name__):
        check(package.outer)
        check(package.total)
        check(package.outer_of_ufuncs)
        assert type(package.bent(0.3, 1)) is np.float64
        np.testing.assert_array_equal(package.outer_of_ufuncs(X), of_ufuncs)
        np.testing.assert_array_equal(package.outer(X), plain)
        # Plain numbers reach the compiled code, inside of a derivative as well.
        seen = linad.jvp(lambda x: x * package.weight(0.3), (X,), (X,))[1]
        np.testing.assert_array_equal(seen, X * package.weight(0.3))
    assert type(package.total) is kind
    assert package.total.py_func.__code__ is python
    with linad.adopt(package.weight):
        check(lambda x: x * package.weight(x[0]))
    assert type(package.weight) is kind
    with linad.adopt(package.bent):
        check(lambda x: package.bent(x, x[0]))
    assert type(package.bent).__name__ == "DUFunc"


BESIDE = """
import math
import numba
import numpy as np
import linad

def decays(x, rate):
    y = np.zeros(len(x))
    for i in range(len(x)):
        y[i] = math.exp(-rate * x[i])
    return y

def decayed(x, rate):
    return decays(x, rate) * float(rate)

fast = numba.njit(decays)
kernel = linad.kernel(decays)
"""


@pytest.mark.compiles
def test_a_function_beside_what_numba_compiled_of_it(installed):
    package = installed(BESIDE)
    first, fast = package.decays.__code__, package.fast(X, 1.5)
    with linad.adopt(package.__name__):
        for f in (package.decays, package.decayed, package.fast, package.kernel):
            check(lambda x, f=f: f(x, x[0]))
            np.testing.assert_allclose(package.decays(X, 1.5), fast)

        def both(x):
            # Of other types than before: Numba compiles what the function was.
            assert package.fast(X.astype(np.float32), 1).dtype == np.float64
            return package.decays(x, 1.5)

        np.testing.assert_allclose(linad.linearize(both, X)[0], fast)
        assert package.decays.__code__ is first
    assert package.decays.__code__ is first
    with pytest.raises(TracerError, match="plain number of a traced value"):
        linad.grad(lambda x: package.decays(x, 1.5).sum())(X)


@pytest.mark.compiles
def test_a_compiled_function_alone_is_met(installed):
    package = installed(COMPILED)
    line = f"{package.__name__}/__init__.py, line"
    with linad.adopt(), pytest.warns(AdoptionWarning, match=line):
        check(lambda x: package.total(x) * x[1])


VECTORIZED = """
import math
import numpy as np

@np.vectorize
def bent(s, t):
    return s * math.sqrt(t) if s > 0.6 else s - t

erf = np.vectorize(math.erf)

def outer(x):
    return bent(x, x[0]) * erf(x) + bent(x[:, None], 1.5).sum()
"""


def test_functions_that_numpy_vectorizes(installed):
    package = installed(VECTORIZED)
    plain = package.outer(X)
    with linad.adopt(package.__name__):
        check(package.outer)
        check(lambda x: package.bent(x, 1.5))
        np.testing.assert_array_equal(package.outer(X), plain)
    assert type(package.bent) is type(package.erf) is np.vectorize
    assert package.erf.pyfunc is math.erf
    with linad.adopt(package.bent):
        check(lambda x: package.bent(x, x[0]))
    assert type(package.bent) is np.vectorize
    with pytest.raises(TracerError, match=r"numpy.vectorize\(\) would take .* linad.numpy as np"):
        linad.jacobian(package.bent)(X, 1.5)


@pytest.mark.rest
def test_nothing_is_changed_unasked():
    code = own.__code__
    linad.jacobian(lambda x: x**2)(X)
    assert own.__code__ is code
    script = (
        "import builtins, numpy as np, linad\n"
        "linad.grad(lambda x: np.sum(x**2))(np.ones(3))\n"
        "assert not [n for n in dir(builtins) if n.startswith('_linad')]\n"
    )
    subprocess.run([sys.executable, "-P", "-c", script], check=True)


@pytest.mark.parametrize(
    "target", ["numpy", "scipy.linalg", "linad", "no_such_module", 3, math.sin]
)
def test_what_cannot_be_adopted(target):
    with pytest.raises(ArgumentError, match="adopt"):
        linad.adopt(target)


def test_unknown_versions_of_python_are_refused():
    check_version(KNOWN[0])
    with pytest.raises(UnsupportedError, match=r"bytecode of Python 3\.99 is not known"):
        check_version((3, 99))


def test_errors_of_the_package_are_its_own(installed):
    package = installed(
        "import math\n\nRUNS = []\n\ndef f(x):\n    RUNS.append(1)\n"
        "    return x * math.log(x[0] - 5)\n"
    )
    with linad.adopt(package.__name__), pytest.raises(ValueError, match=r"domain|positive"):
        linad.jacobian(package.f)(X)
    assert len(package.RUNS) == 1
    assert not [n for n in vars(package) if n.startswith("_linad")]
    assert builtins.isinstance is isinstance


def test_a_package_that_refuses_a_value_by_its_type_is_adopted(installed):
    package = installed("""
def twice(s):
    if not issubclass(type(s), (int, float)):
        raise TypeError("not a number")
    return 2 * s
""")
    with linad.adopt(), pytest.warns(AdoptionWarning, match=package.__name__):
        assert linad.grad(package.twice)(1.5) == 2
    with linad.adopt(), pytest.raises(TypeError, match="not a number"):  # as with plain ones
        linad.grad(lambda s: package.twice("a") * s)(1.5)


def imports_inside(x):
    import math
    from math import sin

    import numpy as np
    import scipy.sparse as sp
    from scipy.sparse import csr_matrix

    A = sp.eye(3).tocsr()
    same = [
        x.dtype == np.float64,
        type(A) is sp.csr_matrix,
        isinstance(A, sp.csr_matrix),
        type(A) in (csr_matrix,),
        isinstance(x, np.ndarray),
        np.sum is ORIGINAL_SUM,
    ]
    y = np.zeros(3)
    y[0], y[1] = math.cos(x[0]), sin(x[1])
    return y * sum(2**i for i, found in enumerate(same) if found) + np.r_[x[0], x[1:]]


ORIGINAL_SUM = np.sum


def test_what_is_imported_inside_a_function_is_itself_where_it_is_only_named():
    x = np.array([0.3, 0.7, 1.1])
    expected = imports_inside(x)
    np.testing.assert_allclose(expected[0], 63 * np.cos(0.3) + 0.3)
    with linad.adopt(imports_inside):
        np.testing.assert_allclose(linad.linearize(imports_inside, x)[0], expected)
        J = linad.jacobian(imports_inside)(x)
    np.testing.assert_allclose(np.diag(J), [1 - 63 * np.sin(0.3), 1 + 63 * np.cos(0.7), 1.0])


RECORDS = """
import numpy as np

FIELDS = [("a", float), ("b", float)]


def written(x):
    r = np.zeros(2, dtype=FIELDS)
    r[0] = (x[0], x[1])
    return r["a"].sum()


def made(x):
    return np.array([(x[0], 1.0)], dtype=FIELDS)["a"].sum()


def taken(x):
    return np.asarray([(x[0], 1.0)], dtype=FIELDS)["a"].sum()
"""


@pytest.mark.parametrize("name", ["written", "made", "taken"])
def test_arrays_with_fields_say_what_to_keep_instead(installed, name):
    package = installed(RECORDS)
    with (
        linad.adopt(package.__name__),
        pytest.raises(UnsupportedError, match=r"keep a dict with an array for each field, \{'a"),
    ):
        linad.grad(getattr(package, name))(np.ones(2))


PARTIALS = """
import functools

import numpy as np
import scipy.sparse as sp

diagonal = functools.partial(sp.diags, format="csr")


def weighted(x):
    constant = np.ones(len(x))
    return diagonal(constant, 0, (3, 3)) @ x + diagonal(np.sqrt(x), 0, (3, 3)) @ constant
"""


def test_partials_that_a_package_names(installed):
    """SciPy itself would take what it is given for something else, and raise a ValueError."""
    package = installed(PARTIALS)
    with linad.adopt(package.__name__):
        check(package.weighted)
        assert type(package.weighted(X)) is np.ndarray


def test_code_whose_adoption_has_ended_says_so(monkeypatch):
    monkeypatch.setattr(adopted, "ENDED_NAMES", set())  # other tests have adopted this module

    def decay(t, a, b):
        out = np.zeros(len(t))
        for i in range(len(t)):
            out[i] = a * np.exp(-b * t[i])
        return out

    t = np.arange(6.0)
    y = decay(t, 2, 0.5) + 0.01 * np.sin(9 * t)
    with pytest.raises(TracerError) as before:
        linad.solve.curve_fit(decay, t, y, [1, 1])
    assert "has ended" not in str(before.value)
    with linad.adopt(decay):
        found = linad.solve.curve_fit(decay, t, y, [1, 1])
    with pytest.raises(TracerError, match="its adoption has ended with a `with` block"):
        found.profile_intervals()
    with linad.adopt(decay):
        assert found.profile_intervals()["a"][0] < 2.0
