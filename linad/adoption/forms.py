"""Value -> the form of it that traces, where NumPy's protocols do not hand a call over.

`linad.numpy` and `linad.scipy` are the lists: what they define in place of NumPy's and SciPy's own
is a form. What they take over is given lists of traced numbers as arrays.
"""

import cmath
import functools
import hashlib
import importlib
import math
import statistics
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy

import linad.adoption.array_interfaces
import linad.numpy
import linad.scipy
from linad.adoption.array_bytes import DIGESTS, frombuffer, tobytes, update_of, updates_a_digest
from linad.adoption.assertions import assertions
from linad.adoption.averages import STATISTICS
from linad.adoption.compiled_functions import is_compiled, of_constants
from linad.adoption.fast_reductions import reductions
from linad.adoption.form_table import FORMS, form_of, has_form, register
from linad.adoption.masked import masked_arrays
from linad.adoption.module_forms import FormOfArrayFunction, FormOfModule
from linad.adoption.normal_dist import NormalDist
from linad.adoption.numpy_matrix import MATRICES
from linad.adoption.object_arrays import gathered, method_of
from linad.adoption.objects import of_object, owner_of
from linad.adoption.promotion import LABELLED
from linad.adoption.results import holds_array
from linad.adoption.subclasses import (
    array_maker,
    by_class,
    new_array,
    remade,
    view_as,
)
from linad.adoption.text_expressions import expressions
from linad.arrays.conversions import BUILTINS, CMATH, MATH, held, number
from linad.arrays.leaving import as_plain_array
from linad.arrays.number_texts import text_of
from linad.arrays.tracer import Tracer
from linad.arrays.traces import running_trace
from linad.core.adopted import METHODS as TRACED_METHODS
from linad.core.array_type import Array
from linad.numpy.list_arguments import TakingLists, takes_arrays
from linad.numpy.strides import as_strided
from linad.rules.creation import asarray

INDEXED = {id(np.r_), id(np.c_)}
"""Originals that make arrays by an index: they are replaced where they are named."""

ASKING: set[int] = set()
"""Originals that ask what a value is, and answer of a traced one without a refusal.

All others dispatch or are refused, so that data may hold them as they are: ``TABLE["s"] is np.sum``
is true or false as without a trace, and what is called is looked up. Nobody compares these; where
data holds one, it holds the form while a trace runs.
"""


def _calling(original: Callable[..., Any]) -> Callable[..., Any]:
    """``map``, ``sorted`` and their kind, which call what they are given first, or as a key."""

    @functools.wraps(original)
    def calling(*args: Any, **kwargs: Any) -> Any:
        if args:
            args = form_of(args[0]), *args[1:]
        if "key" in kwargs:
            kwargs["key"] = form_of(kwargs["key"])
        return original(*args, **kwargs)

    return calling


def _calling_any(function: Callable[..., Any]) -> Callable[..., Any]:
    """``quad``, ``solve_ivp`` and their kind, which call any of what they are given."""

    @functools.wraps(function, updated=())
    def calling(*args: Any, **kwargs: Any) -> Any:
        named = {name: _to_call(v) for name, v in kwargs.items()}
        return function(*map(_to_call, args), **named)

    return calling


def _to_call(value: Any) -> Any:
    """The form of a function, or of several; a type says what kind numbers are."""
    if type(value) in (list, tuple):
        return type(value)(map(_to_call, value))
    return value if isinstance(value, type) else form_of(value)


CALLING = ("apply_along_axis", "apply_over_axes", "fromfunction", "piecewise", "vectorize")
"""Functions of NumPy that call the functions that they are given."""

CALLING_ROOMS = ("scipy.integrate", "scipy.optimize")
"""Rooms of SciPy whose functions do."""


def _poly1d(c_or_r: Any, r: bool = False, variable: Any = None) -> Any:
    return np.poly1d(gathered(c_or_r), r, variable)


def _text(original: Callable[..., str]) -> Callable[..., str]:
    """A NumPy function that writes a number, as ``format`` does."""

    @functools.wraps(original)
    def form(x: Array, *args: Any, **kwargs: Any) -> str:
        if type(x) is not Tracer:
            return original(x, *args, **kwargs)
        return text_of(x, lambda value: original(value, *args, **kwargs))

    return form


def _register_numpy() -> None:
    forms: dict[str, Any] = {"poly1d": _poly1d, "frombuffer": frombuffer, **MATRICES}
    for name in ("format_float_positional", "format_float_scientific"):
        forms[name] = _text(getattr(np, name))
    for name in dir(np):
        theirs = getattr(np, name)
        ours = getattr(linad.numpy, name)
        if name in forms or name.startswith("_") or isinstance(theirs, types.ModuleType):
            continue
        if isinstance(ours, TakingLists):
            forms[name] = FormOfArrayFunction(theirs)
        elif ours is not theirs:
            forms[name] = ours
    forms.update({name: _calling_any(forms.get(name, getattr(np, name))) for name in CALLING})
    for name in ("linalg", "fft"):
        room = getattr(np, name)
        of_room = {n: FormOfArrayFunction(f) for n, f in vars(room).items() if takes_arrays(f)}
        forms[name] = _register_module(room, of_room)
    for name in (
        "array",
        "asarray",
        "asanyarray",
        "ascontiguousarray",
        "asfortranarray",
        "require",
    ):
        forms[name] = array_maker(forms[name], name == "asanyarray")
    for name in ("zeros_like", "ones_like", "empty_like", "full_like"):
        forms[name] = array_maker(forms[name], True)
    forms["polynomial"] = _register_module(np.polynomial, _of_polynomials())
    forms["ma"] = _register_module(np.ma, {name: _of_masked(name) for name in np.ma.__all__})
    tricks = _register_module(np.lib.stride_tricks, {"as_strided": as_strided})
    forms["lib"] = _register_module(np.lib, {"stride_tricks": tricks})
    rare = {"testing": lambda: _register_module(np.testing, assertions())}
    _register_module(np, forms).later.update(rare)
    ASKING.update((id(np.isscalar), id(np.ma.isMaskedArray)))


def _of_masked(name: str) -> Any:
    """What `numpy.ma` has by a name, while a trace runs that of its copy over traced arrays."""
    original = getattr(np.ma, name)
    if not callable(original) or name in ("MaskError", "MAError", "masked", "masked_singleton"):
        return original

    @functools.wraps(original, updated=())
    def form(*args: Any, **kwargs: Any) -> Any:
        if running_trace() is None:
            return original(*args, **kwargs)
        return getattr(masked_arrays(), name)(*args, **kwargs)

    return form


def _of_polynomials() -> dict[str, Any]:
    """The classes of polynomials, and the modules of their functions."""
    ours, theirs = linad.numpy.polynomial, np.polynomial
    forms: dict[str, Any] = {}
    for name in theirs.__all__:
        room = getattr(theirs, name)
        if not isinstance(room, types.ModuleType):
            forms[name] = getattr(ours, name)
            continue
        of_room = {n: getattr(getattr(ours, name), n) for n in room.__all__}
        changed = {n: f for n, f in of_room.items() if f is not getattr(room, n)}
        forms[name] = _register_module(room, changed)
    return {name: form for name, form in forms.items() if form is not getattr(theirs, name)}


def _register_module(original: types.ModuleType, forms: dict[str, Any]) -> FormOfModule:
    for name, form in forms.items():
        theirs = getattr(original, name)
        if not isinstance(theirs, types.ModuleType):
            register(theirs, form)
        for n, member in vars(theirs).items() if isinstance(theirs, type) else ():
            if isinstance(member, staticmethod) and hasattr(form, n):
                register(member.__func__, getattr(form, n))
    made = FormOfModule(original, forms)
    register(original, made)
    return made


_SCIPY: dict[str, FormOfModule] = {}
"""The rooms of SciPy that have forms, as far as they are imported."""

_OTHERS: dict[str, FormOfModule] = {}
"""Other modules that have forms, as far as they are imported."""


def refresh() -> bool:
    """Register the forms of those modules of SciPy and others that are imported by now.

    Says whether there were new ones.
    """
    known = len(_SCIPY), len(_OTHERS)
    if "scipy" not in _SCIPY:
        _SCIPY["scipy"] = _register_module(scipy, {})
    if "numpy.testing" in sys.modules:
        _OTHERS["numpy.testing"] = form_of(np).testing
    if "bottleneck" in sys.modules and "bottleneck" not in _OTHERS:
        fast = sys.modules["bottleneck"]
        _OTHERS["bottleneck"] = _register_module(fast, reductions(fast))
    if "numexpr" in sys.modules and "numexpr" not in _OTHERS:
        numexpr = sys.modules["numexpr"]
        _OTHERS["numexpr"] = _register_module(numexpr, expressions(numexpr))
    if "pandas" in sys.modules and "pandas" not in _OTHERS:
        labelled = importlib.import_module("linad.adoption.labelled")
        operands = importlib.import_module("linad.adoption.labelled_operands")
        pandas = sys.modules["pandas"]
        _OTHERS["pandas"] = _register_module(pandas, labelled.FORMS)
        LIFTED.update(dict.fromkeys((pandas.Series, pandas.DataFrame), operands.lifted))
        writes = importlib.import_module("linad.adoption.labelled_writes")
        LABELLED.update(dict.fromkeys((pandas.Series, pandas.DataFrame), writes.hold_traced))
    for name in _rooms():
        if name in _SCIPY or name not in sys.modules:
            continue
        theirs, ours = sys.modules[name], importlib.import_module(f"linad.{name}")
        forms = {
            n: getattr(ours, n)
            for n in dir(theirs)
            if not n.startswith("_") and not isinstance(getattr(theirs, n), types.ModuleType)
        }
        forms = {n: f for n, f in forms.items() if f is not getattr(theirs, n)}
        if name in CALLING_ROOMS:
            forms = {n: f if isinstance(f, type) else _calling_any(f) for n, f in forms.items()}
        _SCIPY[name] = made = _register_module(theirs, forms)
        if name == "scipy.sparse":
            ASKING.update([id(getattr(theirs, n)) for n in forms if n.startswith("is")])
        parent, _, child = name.rpartition(".")
        if parent in _SCIPY:
            setattr(_SCIPY[parent], child, made)
    return known != (len(_SCIPY), len(_OTHERS))


def _rooms() -> list[str]:
    return [f"scipy.{room}" for room in (*linad.scipy.ROOMS, *linad.scipy.INNER_ROOMS)]


# Methods of plain arrays that are given traced values.


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda owner, *args, **kwargs: function(owner, *args, **kwargs)


def _search(owner: Array, v: Array, *args: Any, **kwargs: Any) -> Any:
    return np.searchsorted(owner, v, *args, **kwargs)


METHODS: dict[str, Callable[..., Any]] = {
    "dot": _method(np.dot),
    "searchsorted": _search,
}
"""Methods of a plain array that NumPy does not hand over, as functions of the array."""


_OF_CLASSES = (types.MethodDescriptorType, types.WrapperDescriptorType)


def picked(f: Any) -> Any:
    """What to call in place of a value that adopted code calls."""
    found = FORMS.get(id(f))
    if found is not None:
        return found[1]
    kind = type(f)
    if kind is functools.partial:
        form = picked(f.func)
        return f if form is f.func else functools.partial(form, *f.args, **f.keywords)
    if f is np.ndarray.__new__:
        return new_array(f)
    if kind in _OF_CLASSES and f.__objclass__ is np.ndarray:
        return by_class(f)
    if kind is types.BuiltinMethodType and type(f.__self__) is np.ndarray:
        if f.__self__.dtype.kind == "O":
            return method_of(f)
        method = METHODS.get(f.__name__)
        if method is not None:
            return _of_plain_array(method, f)
    if kind is types.BuiltinMethodType and f.__name__ in METHODS and _is_of_subclass(f):
        return _of_plain_subclass(f)
    if updates_a_digest(f):
        return update_of(f)
    if kind is types.WrapperDescriptorType and f.__objclass__ in (float, complex):
        return _of_number(f)
    if kind is types.MethodType and type(f.__self__) is Tracer and f.__func__ is as_plain_array:
        return functools.partial(asarray, f.__self__)
    if kind is types.MethodType and type(f.__self__) in LIFTED:
        return f if f.__name__ in READING_CALLERS else _of_labelled(f)
    if kind in _BOUND and has_form(f.__self__):
        return getattr(form_of(f.__self__), f.__name__)  # a class by a name of the function's own
    if is_compiled(f):
        return of_constants(f)
    owner = owner_of(f)
    return f if owner is None else of_object(owner, f, form_of)


_BOUND = (types.MethodType, types.BuiltinMethodType)

LIFTED: dict[type, Callable[[Any], Any]] = {}
"""The classes of pandas, and what makes an object of them take traced values."""


READING_CALLERS = ("eval", "query")
"""Methods of pandas that look for names in the frame of who calls them."""


def _of_labelled(f: Any) -> Callable[..., Any]:
    """A method of a plain Series or DataFrame, for arguments that may be traced."""

    def call(*args: Any, **kwargs: Any) -> Any:
        holds = sys.modules["linad.adoption.labelled"].holds_traced_values
        if not any(map(holds, (*args, *kwargs.values()))):
            return f(*args, **kwargs)
        return getattr(LIFTED[type(f.__self__)](f.__self__), f.__name__)(*args, **kwargs)

    return call


def matmul(a: Any, b: Any) -> Any:
    """``a @ b``: a Series or DataFrame of pandas would make a plain array of the other."""
    return _of_labelled(a.__matmul__)(b) if type(a) in LIFTED else a @ b


def _of_number(f: Any) -> Callable[..., Any]:
    """``float.__mul__`` and its kind, as functions: a traced number's own operator."""

    def call(*args: Any) -> Any:
        if not held(args):
            return f(*args)
        first = args[0] if type(args[0]) is Tracer else asarray(args[0])
        return getattr(first, f.__name__)(*args[1:])

    return call


def _of_plain_array(method: Callable[..., Any], f: Any) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        if held((*args, *kwargs.values())):
            args = tuple([gathered(a) for a in args])
            return method(f.__self__, *args, **kwargs)
        return f(*args, **kwargs)

    return call


def _is_of_subclass(f: Any) -> bool:
    return isinstance(f.__self__, np.ndarray) and type(f.__self__) is not np.ndarray


def _of_plain_subclass(f: Any) -> Callable[..., Any]:
    """A method of a plain array of another class, made again where an argument is traced."""

    def call(*args: Any, **kwargs: Any) -> Any:
        given = (*args, *kwargs.values())
        if not held(given) and not any(map(holds_array, given)):
            return f(*args, **kwargs)
        return getattr(remade(f.__self__), f.__name__)(*args, **kwargs)

    return call


# Methods of traced arrays that are refused elsewhere.


def item(x: Array, *index: Any) -> Any:
    """As `numpy.ndarray.item`; the number stays traced."""
    if not index:
        if x.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return number(x)
    if len(index) == 1 and not isinstance(index[0], tuple):
        return x.reshape(-1)[index[0]]
    return x[index[0] if len(index) == 1 else index]


def tolist(x: Array) -> Any:
    """As `numpy.ndarray.tolist`; the numbers stay traced."""
    return [tolist(row) if type(row) is Tracer else row for row in x] if x.ndim else x


def _build() -> None:
    for original, form in BUILTINS.items():
        register(original, form)
    ASKING.update((id(isinstance), id(hasattr), id(getattr)))
    for calling in (map, filter, sorted, min, max, functools.reduce, functools.partial):
        register(calling, _calling(calling))
    for module, forms in ((math, MATH), (cmath, CMATH)):
        _register_module(module, forms)
    _register_module(hashlib, DIGESTS)
    _register_module(statistics, {**STATISTICS, "NormalDist": NormalDist})
    _register_numpy()
    TRACED_METHODS.update(item=item, tobytes=tobytes, tolist=tolist, view=view_as)


_build()
