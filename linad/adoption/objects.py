"""SciPy objects that were made before a trace, where adopted code calls them.

A spline that a module made when it was imported, or a frozen distribution, is SciPy's own and takes
plain numbers, as Python's `statistics.NormalDist` does. For a traced one it is copied into what its
class has as a traced form, which shares the arrays: one of `linad.scipy` of the same layout or that
has an ``of_plain``, or the twin of its class (`linad.scipy.twins`). Distributions of a package's
own, classes over SciPy's, get a class with the same functions over the twin. What a class over an
interpolator of SciPy's has from there is computed by the functions of the interpolator's traced
form.
"""

import copy
import functools
import statistics
import types
from collections.abc import Callable
from typing import Any

import scipy.sparse
import scipy.sparse.linalg
from scipy.stats import rv_continuous, rv_discrete

from linad.adoption.subclasses import copied_class
from linad.arrays.conversions import held
from linad.arrays.traces import running_trace
from linad.core.callers import defining_package
from linad.scipy.sparse.linalg import ConstantFactors
from linad.scipy.twins import class_twin, instance_twin, twin_of

DISTRIBUTIONS = (rv_continuous, rv_discrete)

_SINGLE = (scipy.sparse.linalg.SuperLU, statistics.NormalDist)
"""Classes that are known one by one."""

_KINDS: dict[type, bool] = {}


def is_object(value: Any) -> bool:
    """Whether a value is an object of SciPy or Python, or a distribution of a package's own."""
    kind = type(value)
    known = _KINDS.get(kind)
    if known is None:
        known = _KINDS[kind] = _is_kind(kind)
    return known


def _is_kind(kind: type) -> bool:
    if issubclass(kind, DISTRIBUTIONS) or kind in _SINGLE:
        return True
    if _interpolator(kind) is not None:
        return True
    sparse = (scipy.sparse.spmatrix, scipy.sparse.sparray)  # which take traced operands
    return _is_scipys(kind) and not issubclass(kind, (type, *sparse))


def _interpolator(kind: type) -> type | None:
    """The class of `scipy.interpolate` that a package's own class is made over."""
    if _is_scipys(kind):
        return None
    return next((b for b in kind.__mro__ if b.__module__.startswith("scipy.interpolate")), None)


def _is_scipys(kind: type) -> bool:
    return defining_package(kind) == "scipy"


def owner_of(f: Any) -> Any:
    """The SciPy object that is called, or whose method is; None for all else."""
    kind = type(f)
    if kind is types.MethodType or kind is types.BuiltinMethodType:
        owner = f.__self__
        if isinstance(owner, type):  # of which a class method makes an object
            return owner if kind is types.MethodType and _interpolator(owner) else None
        return owner if is_object(owner) else None
    return f if is_object(f) else None


def of_object(owner: Any, f: Any, form_of: Callable[[Any], Any]) -> Callable[..., Any]:
    """The object, or its method, for arguments that may be traced."""

    made_by = isinstance(owner, type)
    base = _interpolator(owner if made_by else type(owner))

    def call(*args: Any, **kwargs: Any) -> Any:
        if running_trace() is None:
            return f(*args, **kwargs)
        given = (*args, *kwargs.values())
        if base is not None:
            traced = held((*given, *_attributes(owner)))
            function = _from_scipy(owner, f, None if made_by else form_of(base)) if traced else f
            return function(*args, **kwargs)
        form = form_of(type(owner))
        traced = form is not type(owner) and any(type(a) is form for a in given)
        if not traced and not held(given):
            return f(*args, **kwargs)
        made = form_of(owner)
        if made is owner:
            made = _traced(owner, form)
        return (made if f is owner else _method_of(made, owner, f))(*args, **kwargs)

    return call


def _method_of(made: Any, owner: Any, f: Any) -> Any:
    """The method of the object made: by its name, of a base class where ``super()`` has asked for
    it, or the same function where the owner keeps it under another name.
    """
    name = f.__name__
    if getattr(owner, name, None) == f:
        return getattr(made, name)
    for theirs, ours in zip(type(owner).__mro__, type(made).__mro__, strict=False):
        if vars(theirs).get(name) is f.__func__ and name in vars(ours):
            return vars(ours)[name].__get__(made)
    return types.MethodType(f.__func__, made)


def _attributes(owner: Any) -> list[Any]:
    """What an object holds, in slots as well."""
    slots = [name for cls in type(owner).__mro__ for name in getattr(cls, "__slots__", ())]
    held_there = [getattr(owner, name, None) for name in slots]
    return [*held_there, *getattr(owner, "__dict__", {}).values()]


def _from_scipy(owner: Any, f: Any, form: Any) -> Callable[..., Any]:
    """An object, or its method, by a function of a traced form in the place of SciPy's.

    Without a form it is a class method, which runs as SciPy's own code.
    """
    function = type(owner).__call__ if f is owner else f.__func__
    if not function.__module__.startswith("scipy."):
        return f  # type: ignore[no-any-return]
    ours = twin_of(function) if form is None else getattr(form, function.__name__, None)
    return f if ours is None else functools.partial(ours, owner)


def _traced(owner: Any, form: Any) -> Any:
    """The object as one that takes traced values; the object itself where there is no such thing.

    It is made for each call: the object may be another by the next one.
    """
    kind = type(owner)
    if kind is scipy.sparse.linalg.SuperLU:
        return ConstantFactors(owner)
    of_plain = getattr(form, "of_plain", None)
    if of_plain is not None:
        return of_plain(owner)
    is_class = isinstance(form, type) and not getattr(form, "is_twin", False)
    if is_class and form is not kind and issubclass(form, kind):
        made = copy.copy(owner)
        made.__class__ = form
        return made
    made = instance_twin(owner, _over_twins(kind))
    dist = getattr(owner, "dist", None)
    if isinstance(dist, DISTRIBUTIONS) and not _is_scipys(type(dist)):  # that it has frozen
        made.dist = _traced(dist, None)
    return made


def _over_twins(kind: type) -> type:
    """The twin of a class; of one of a package's own, a copy of it over the twins of its bases."""
    if _is_scipys(kind) or kind is object:
        return class_twin(kind)
    return copied_class(kind, tuple([_over_twins(base) for base in kind.__bases__]))
