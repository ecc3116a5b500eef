"""What a traced value answers where it would leave the trace, and its derivative be lost.

Each refusal names what asked, by the user's own line, and a way that runs as it is printed.
"""

import importlib
import itertools
import sys
from collections.abc import Iterable
from operator import attrgetter
from types import ModuleType, TracebackType
from typing import Any, NoReturn

import numpy as np

from linad.core import callers
from linad.core.adopted import is_adopted, was_adopted
from linad.core.array_type import Array
from linad.core.callers import AWARE, ENGINES, refused_frame
from linad.core.dispatch import NAMESPACE, UFUNCS
from linad.core.frames import (
    Asked,
    asked,
    frames_above,
    is_of_fortran,
    library_of,
    public_module,
    public_name,
)
from linad.core.installed import is_installed, line_of, package_of_file
from linad.core.primitive import Traced
from linad.errors import BytesError, TracerError, UselessValueError, place

WRITE = (
    "write into a traced array: linad.numpy.zeros(n) instead of np.zeros(n), np.zeros_like(x) of a "
    "traced x, np.array(values, like=x) or linad.numpy.copy(values) instead of a plain copy; or "
    "np.stack([...])"
)
WHOLE = (
    "an array of integers would keep the whole part alone: make it one of floats, as "
    f"np.zeros_like(t, dtype=float) is; and in code that is not adopted, {WRITE}"
)
LIST = (
    "drop np.array() of a single array, use np.stack([...]) for a list and np.block([[...]]) for "
    "lists of lists, or import linad.numpy as np, whose array() traces"
)
STACKED = "np.stack([...]) for a list, "
BLOCKS = "np.block([[...], [...]]) for lists within a list"
NO_LISTS = f"use {STACKED}{BLOCKS}: it takes traced arrays, but no lists of traced numbers"
WRAP = "wrap it with @linad.primitive and give its Jacobian"
ADOPT = "or linad.adopt(__name__) lets code of this module trace as it is"
AGAIN = (
    " (its adoption has ended with a `with` block: what runs it again, as plot() of a fit, belongs "
    "into the block, or adopt it without `with`)"
)
COUNT = "an integer has no derivative: use int(x.astype(int)) where it is a constant"
DEGREE = (
    "a degree, an order or a count must be an integer, which has no derivative: pass an int, or "
    "int(x.astype(int)) where it is a constant"
)
STATIC = (
    "; under linad.jit a number that the program may depend on can be a static argument: "
    "linad.jit(f, static_argnums=0)"
)
JITTED = (
    "; under linad.jit all arguments are traced, data among them: what makes plain arrays of data, "
    "as np.asarray(t), belongs before the call"
)
DRAW = "draw with plain parameters and transform what is drawn: mean + s * rng.standard_normal(n)"
_ROOT = "linad.solve.root(g, x0, theta) returns the root, differentiable in theta"
_MINIMUM = "linad.solve.minimum(f, x0, theta) returns the minimum, differentiable in theta"
_FIT = "linad.solve.least_squares(r, x0, theta) returns the fit, differentiable in theta"
_QUAD = (
    "linad.scipy.integrate.fixed_quad, whose function may hold traced values, or sum with the "
    "nodes and weights of np.polynomial.legendre.leggauss"
)

_BY_REMEDY = {
    _ROOT: "brentq brenth bisect ridder toms748 newton root_scalar root fsolve newton_krylov",
    _MINIMUM: "minimize minimize_scalar fmin fmin_bfgs fmin_cg fmin_l_bfgs_b fmin_ncg brent golden "
    "fminbound basinhopping differential_evolution dual_annealing",
    _FIT: "least_squares leastsq curve_fit nnls lsq_linear",
    "linad.solve.fixed_point(g, x0, theta) is differentiable in theta": "fixed_point",
    _QUAD: "quad quad_vec dblquad tplquad nquad romberg quadrature",
    "write x * A, which traces, for the product with a sparse array A entry by entry": "multiply",
}
SCIPY = {name: remedy for remedy, names in _BY_REMEDY.items() for name in names.split()}
"""What to do instead of a function of SciPy, by its name, where no traced form has that name."""

OF_PLAIN = {"aslinearoperator": "a traced matrix A has its products as A @ x and A.T @ y"}
"""What to do instead of a function whose traced form takes plain values there."""

MATH = {
    "pow": "np.power",
    **{f"a{f}": f"np.arc{f}" for f in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "atan2": "np.arctan2",
    "fsum": "np.sum",
    "sumprod": "np.dot",
    "dist": "np.linalg.norm(p - q)",
    "fmod": "np.fmod",
    "gamma": "scipy.special.gamma",
    "lgamma": "scipy.special.gammaln",
    "erf": "scipy.special.erf",
    "erfc": "scipy.special.erfc",
}
"""NumPy's names, and SciPy's, for what `math` has by another name."""

MADE = ("BSpline", "BivariateSpline", "LSQUnivariateSpline", "OdeSolution")
"""Classes of objects that are mostly made by functions, or by classes of other names."""

TABLES = 'give it their columns, as x["name"], or their numbers, x.to_numpy() of each table'
"""What to do with a ufunc of two tables."""

DRAWING = ("matplotlib", "mpl_toolkits", "seaborn", "plotly", "bokeh", "PIL", "imageio")
"""Packages to which a derivative is of no use."""

MATHS = ("math", "cmath")
"""Modules whose functions take numbers alone."""


def label(x: Array) -> str:
    """How messages call a traced array."""
    return f"(shape {x.shape}, {x.dtype})"


def refuse(x: Any, how: str, remedy: str, by_caller: bool, kind: str) -> NoReturn:
    """Raise: a traced value would leave the trace.

    Parameters
    ----------
    x : Tracer
    how, remedy : str
        What takes the value out and what to do instead, where the caller's line does not say.
    by_caller : bool
        Whether it was asked for by some function, whose name then stands in the message.
    kind : str
        What the mark on the trace says was refused; "" for bytes, which leave none.
    """
    x._trace.check_alive()
    what = asked() if by_caller else Asked("")
    if what.kind == "index":
        refuse_index(x)
    if by_caller:
        how, remedy = _by_caller(what, how, remedy, kind)
    theirs = _in_installed_code(kind, how, remedy)
    if not theirs and "linad.adopt(__name__)" not in remedy and _has_form(what, remedy):
        remedy += f"; {ADOPT}"
        frame = refused_frame()
        remedy += AGAIN if frame is not None and was_adopted(frame) else ""
    if theirs:
        raise TracerError(f"{theirs} (a value {label(x)})", kind=kind, trace=x._trace)
    if x._trace.records:
        remedy += JITTED if x.ndim else STATIC
    words = (
        f"{how} would take a traced value {label(x)} out of the trace and lose its derivative; "
        f"{remedy}"
    )
    if not kind:
        raise BytesError(words)
    if kind == "ctypes":
        raise UselessValueError(words)
    raise TracerError(words, kind=kind, trace=x._trace)


def numpys_error(x: Array, error: Exception) -> Exception:
    """NumPy's error about an array where one number is needed, with the function that asked.

    ``math.exp(v)`` raises it for a plain v as well. A line does not show that v has axes, and
    ``np.exp`` takes both.
    """
    what, at = asked(), place()
    of_numbers = what.name == "float" or what.name.rpartition(".")[0] in MATHS
    if what.kind != "call" or not at or not of_numbers:
        return error
    words = f"{what.name}() got an array {label(x)}: {error}; {_instead(what)} (at {at})"
    return type(error)(words)


_COMPUTING = ("matplotlib.mlab",)
"""Modules of packages that draw, which compute."""

_DOES = {
    "array": "makes a plain array of a traced value",
    "float": "makes a plain number of a traced value",
    "int": "makes an integer of a traced value",
    "complex": "makes a plain number of a traced value",
    "item": "calls item() of a traced value",
    "tolist": "calls tolist() of a traced value",
    "view": "makes a subclass of ndarray of a traced value",
}


def _in_installed_code(kind: str, how: str, remedy: str) -> str:
    """What an installed package does to a traced value, and the way out; "" for one's own code."""
    frame = refused_frame()
    if frame is None or not kind:
        return ""
    package, file = callers.package_of(frame), frame.f_code.co_filename
    if package in AWARE or package in sys.stdlib_module_names or not is_installed(file):
        return ""
    how = how.rstrip(",")
    where = line_of(file, frame.f_lineno)
    if package in DRAWING and frame.f_globals.get("__name__") not in _COMPUTING:
        return f"{package} draws plain numbers, not traced ones; give it linad.stop_gradient(x)"
    does = f"{where} {_DOES.get(kind, f'takes a traced value out of the trace, by {how}')}"
    if is_adopted(frame):
        return (
            f"{does}, by {how}, which loses its derivative although linad.adopt({package!r}) was "
            f"called; {remedy}; or wrap the function that you call with @linad.primitive and give "
            f"its Jacobian"
        )
    ended = AGAIN if was_adopted(frame) else ""
    return f"{does}, which loses its derivative; linad.adopt({package!r}) lets it trace{ended}"


def _has_form(what: Asked, remedy: str) -> bool:
    """Whether the user's line would trace if its module were adopted."""
    module = what.name.partition(".")[0]
    rooms = ("numpy", "scipy", "math", "cmath", "float", "int", "complex")
    known = module in rooms or bool(_made_by_scipy(what))
    forms = what.kind == "write" or known
    frame = refused_frame()
    # linad's forms need integers too, and ufuncs of SciPy's arrays.
    gains = forms and remedy not in (DEGREE, NO_LISTS, TABLES) and WRAP not in remedy
    return gains and frame is not None and not is_adopted(frame)


def refuse_index(x: Array) -> NoReturn:
    """Raise: a traced value that is not an integer is used as a count or as an index."""
    what = asked()
    how = f"{what.name}()" if what.kind == "call" and what.name else "an index or a count"
    raise UselessValueError(
        f"{how} would use a traced value {label(x)} as an integer; {COUNT}, "
        f"or x.astype(int) as an index"
    )


def _by_caller(what: Asked, how: str, remedy: str, kind: str) -> tuple[str, str]:
    """What took the value out, and what to do instead, in the words of the user's line."""
    if what.name.startswith("pandas."):
        return how, remedy  # the function that asked is not one that users know
    if what.kind == "write" or what.name.endswith(".__setitem__"):
        if kind == "int":  # what NumPy asks for, for an array of integers
            return "writing it into an array of integers", WHOLE
        return "writing it into a plain NumPy array", WRITE
    if what.kind == "text":
        return "formatting by %", 'use an f-string: f"{x:.3f}"'
    if what.kind == "join":
        by = {"numpy.r_": "np.concatenate([a, b])", "numpy.c_": "np.column_stack([a, b])"}[
            what.name
        ]
        return f"{what.name}[...]", f"use {by}, or linad.{what.name}, which traces"
    if what.kind != "call" or not what.name:
        return how, remedy
    if kind := _made_by_scipy(what):
        name = kind.rpartition(".")[2]
        return f"{what.name}(), of SciPy's {name},", _of_object(kind)
    if _joins_tables(what.name):
        return f"{what.name}(), of tables of pandas,", TABLES
    found = _instead(what)
    if not found:
        found = DEGREE if remedy == COUNT else _of_lists(what.name)
    return f"{what.name}()", found or remedy


def _joins_tables(name: str) -> bool:
    """Whether a ufunc has come here by pandas, which makes arrays of two tables or more."""
    module, _, name = name.rpartition(".")
    if not (module.startswith("numpy") and isinstance(getattr(np, name, None), np.ufunc)):
        return False
    inner = itertools.takewhile(library_of, frames_above(sys._getframe(1)))
    return any(library_of(frame) == "pandas" for frame in inner)


def _instead(what: Asked) -> str:
    """What to call instead of a function that takes plain numbers only; "" if nothing is known."""
    module, _, name = what.name.rpartition(".")
    if what.name == "float":
        return "leave float() out: NumPy functions take the value as it is"
    if what.name == "int":
        return COUNT
    if module in MATHS:
        return _of_math(name)
    if _draws(what.function, what.name):
        return DRAW
    if module == "numpy.ma" or module.startswith("numpy.ma."):
        return (
            "masked arrays are traced in adopted code, where they are made while a derivative is "
            "taken; else keep the mask apart, and use x[~mask], or np.where(mask, 0.0, x)"
        )
    if module.partition(".")[0] in ("ctypes", "numba") or (
        is_of_fortran(what.function) and not module.startswith("scipy")
    ):
        return f"compiled code is not traced; {WRAP}"
    if module.startswith("scipy"):
        return _of_scipy(module, name, what.owner)
    if module.startswith("numpy") or module == "np":
        return _of_numpy(name)
    if name == "fill":
        return WRITE
    return ""


def _made_by_scipy(what: Asked) -> str:
    """The class of the SciPy object that is called, or whose method is; "" for all else.

    Distributions have names of their own, and sparse arrays products that trace.
    """
    for made in (what.function, what.owner):
        if isinstance(made, (type, ModuleType)) or not callable(made):
            continue
        name = public_name(type(made))
        room, _, cls = name.rpartition(".")
        interpolates = room == "scipy.interpolate"
        known = room.startswith("scipy.") and (cls in MADE or has_traced_form(room, cls))
        if interpolates or known:
            return name
    return ""


def _of_object(kind: str) -> str:
    """What to do with an object that SciPy has made of plain numbers."""
    room, _, name = kind.rpartition(".")
    if name == "OdeSolution":
        return "linad.scipy.interpolate.CubicSpline(s.t, s.y, axis=1) of the solution s traces"
    if name in MADE:
        return f"make it by what has made it, from linad.{room}: that takes traced points"
    if has_traced_form(room, name):
        return f"make it by linad.{kind} of the same data, which takes traced points"
    return f"linad.{room} has no traced form of it; {WRAP}"


def _of_math(name: str) -> str:
    other = MATH.get(name) or (f"np.{name}" if hasattr(np, name) else "")
    return f"use {other}" if other else f"use NumPy functions, or {WRAP}"


def _draws(function: Any, name: str) -> bool:
    """Whether it is a method of a generator of random numbers, or has the name of one alone."""
    if function is None:
        return hasattr(np.random.Generator, name)
    owner = getattr(function, "__objclass__", None)
    return name.startswith("numpy.random") or (
        owner is not None and owner.__module__.startswith("numpy.random")
    )


def _of_lists(name: str) -> str:
    """What to call instead of a NumPy function that was given a list."""
    try:
        form = attrgetter(name.removeprefix("numpy."))(NAMESPACE[0])
    except (AttributeError, IndexError):
        return ""
    if not name.startswith("numpy.") or not hasattr(form, "takes_lists"):
        return ""
    return f"use linad.{name}, which takes lists of traced numbers, or {STACKED}{BLOCKS}"


def _of_numpy(name: str) -> str:
    if name == "vectorize":
        return (
            "import linad.numpy as np, whose vectorize traces, or call NumPy functions on whole "
            "arrays"
        )
    if name in ("ndenumerate", "nditer"):
        return "use np.ndindex: for i in np.ndindex(x.shape) x[i] is an entry"
    if not NAMESPACE or name not in vars(NAMESPACE[0]):
        return ""
    if name == "array":
        return LIST
    drop = f"drop np.{name}, or " if name.startswith("as") else ""
    joins = "" if name == "stack" else STACKED
    return f"{drop}use linad.numpy.{name}, which traces, or {joins}{BLOCKS}"


def _mirror(module: str) -> Any:
    """The room that mirrors one of SciPy's, by name, since it stands above; None without one."""
    try:
        return importlib.import_module(f"linad.{module}")
    except ModuleNotFoundError:
        return None


def _of_scipy(module: str, name: str, owner: Any) -> str:
    """A traced form of the same name; a solver; or the user's own primitive."""
    if module.startswith("scipy.stats.") and _mirror(module) is None:  # a distribution's method
        known = getattr(getattr(owner, "dist", owner), "name", module.rpartition(".")[2])
        stats = importlib.import_module("linad.scipy.stats")
        if known in {*stats.__all__, *stats.HOOKED, *stats.WHOLE, *stats.TWINS}:
            return f"use linad.scipy.stats.{known}, which traces"
        return f"linad.scipy.stats has no traced form of {known}; {WRAP}"
    theirs = getattr(sys.modules.get(module), name, None)
    if isinstance(theirs, np.ufunc) and theirs in UFUNCS:
        return NO_LISTS
    if has_traced_form(module, name):
        other = SCIPY.get(name)
        return f"use linad.{module}.{name}, which traces" + (f", or {other}" if other else "")
    room, _, cls = module.rpartition(".")  # a method of a class
    of_class = isinstance(getattr(sys.modules.get(room), cls, None), type)
    if of_class and has_traced_form(room, cls) and hasattr(getattr(_mirror(room), cls), name):
        return f"use linad.{module}, which traces"
    return SCIPY.get(name) or f"linad.scipy.{module[6:]} has no traced form of it; {WRAP}"


def has_traced_form(module: str, name: str) -> bool:
    """Whether linad's mirror of a module of SciPy has a form of a function."""
    mirror = _mirror(module)
    if mirror is None:
        return False
    theirs = getattr(importlib.import_module(module), name, None)
    return getattr(mirror, name, theirs) is not theirs


def given_to_scipy(traceback: TracebackType | None) -> str:
    """What to add to an error of SciPy's own, raised while a value was traced; "" for others.

    SciPy's code may take a traced array for a list, say, and complain of what it finds in it.
    Named is the function that the user called with a traced value, if it has a traced form.
    """
    users = True
    while traceback is not None:
        frame = traceback.tb_frame
        package = callers.package_of(frame)
        if package == "scipy" and users and _holds_traced(frame.f_locals.values()):
            name = frame.f_code.co_name
            module = public_module(frame.f_globals["__name__"], name)
            if has_traced_form(module, name):
                instead = OF_PLAIN.get(name, f"use linad.{module}.{name}, which traces")
                return (
                    f"linad: {module}.{name}() was called with a traced value, which SciPy does "
                    f"not know; {instead}"
                )
        elif package != "scipy":  # SciPy's wrappers of its own functions come before these
            users = package not in ENGINES
        traceback = traceback.tb_next
    return ""


def _holds_traced(values: Iterable[Any]) -> bool:
    """Whether one of the values is traced, or a list, tuple or dict with one that is."""
    for value in values:
        inside = value.values() if type(value) is dict else value
        several = type(value) in (list, tuple, dict)
        if isinstance(value, Traced) or (several and any(isinstance(v, Traced) for v in inside)):
            return True
    return False


def instead_of_ufunc(remedy: str, ufunc: Any = None) -> str:
    """What to do where a ufunc is not traced, or has no slope in the argument that is.

    Ufuncs of SciPy's own serve functions of other names, some of which have traced forms: those
    are named. ``remedy`` is for all else.
    """
    if callers.defining_package(type(ufunc)) == "numba":  # by numba.vectorize
        package = package_of_file(ufunc._dispatcher.py_func.__code__.co_filename)
        return (
            f"linad.adopt({repr(package) if package else '__name__'}), of the module where it "
            f"stands, runs the Python that numba.vectorize compiled; or {remedy}"
        )
    what = asked()
    module, _, called = what.name.rpartition(".")
    if not module.startswith("scipy.") or not has_traced_form(module, called):
        return remedy
    frame = refused_frame()
    own = frame is None or not is_installed(frame.f_code.co_filename)
    package = "__name__" if own or frame is None else repr(callers.package_of(frame))
    return (
        f"use linad.{what.name}, which traces; or linad.adopt({package}) lets the code that calls "
        f"it trace as it is"
    )
