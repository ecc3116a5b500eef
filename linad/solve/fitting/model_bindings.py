"""How a model takes its parameters: one by one, by name, or all as one argument."""

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from types import FrameType
from typing import Any, NoReturn

import numpy as np

from linad.core.callers import AWARE, package_of
from linad.core.shapes import name_of
from linad.core.showing import shown
from linad.errors import ArgumentError
from linad.solve.fitting.domains import is_of_domain
from linad.solve.problems import as_point

Model = Callable[..., Any]

BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
"""Kinds of parameters that can be given by name."""

MOST = 6
"""Starts that a message writes out."""

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
"""Arguments of a model that are parameters, as SciPy has it: those after a star are options."""


class OneByOne:
    """A model that takes its parameters by position; a class, since a lambda is not pickled."""

    def __init__(self, f: Model) -> None:
        self.f = f

    def __call__(self, x: Any, p: Any) -> Any:
        try:
            return self.f(x, *p)
        except IndexError as error:
            tell_count("curve_fit", signature_of(self.f), len(p), error)
            raise

    def named(self, p: Any) -> dict[str, Any]:
        """The arguments by the model's names for them."""
        names = _positional(signature_of(self.f), len(p)) or [f"p[{k}]" for k in range(len(p))]
        return dict(zip(names, p, strict=True))


class ByName(OneByOne):
    """One that takes them by name."""

    def __call__(self, x: Any, p: Any) -> Any:
        return self.f(x, **p)

    def named(self, p: Any) -> dict[str, Any]:
        return dict(p)


class OfOne(OneByOne):
    """One whose parameter was given as an array of one number, and is one."""

    def __call__(self, x: Any, p: Any) -> Any:
        try:
            return self.f(x, p)
        except Exception as error:
            (name,) = _positional(signature_of(self.f), 1) or ["p"]
            error.add_note(
                f"curve_fit: {name} is an array of shape (1,), as p0 is; p0=[1.0] gives a number"
            )
            raise


class OfNumbers(OneByOne):
    """One that was given a number for each parameter, by nobody's word or by a p0 that is one."""

    def __init__(self, f: Model, p0: Any) -> None:
        super().__init__(f)
        self.p0 = p0

    def __call__(self, x: Any, p: Any) -> Any:
        numbers = (p,) if np.ndim(p) == 0 else tuple(p)
        try:
            return self.f(x, *numbers)
        except Exception as error:
            self._tell_of_containers(error, x, len(numbers))
            if self.p0 is None and is_of_domain(error):
                error.add_note(
                    "curve_fit: no p0 is given, so that each parameter starts with 1, or between "
                    "its bounds; say where to start, p0=[...]"
                )
            raise

    def named(self, p: Any) -> dict[str, Any]:
        return super().named((p,) if np.ndim(p) == 0 else p)

    def _tell_of_containers(self, error: Exception, x: Any, count: int) -> None:
        """Raise what to write if the model takes a parameter for an array or a container."""
        probes = [_Probe() for _ in range(count)]
        with suppress(Exception):  # what it raises has been raised before, and is not lost
            inspect.unwrap(self.f)(x, *probes)
        names = _positional(signature_of(self.f), count) or []
        for name, probe in zip(names, probes, strict=False):
            if probe.use:
                came = "no p0 is given" if self.p0 is None else f"p0 is {shown(self.p0)}"
                raise ArgumentError(
                    f"curve_fit: {name_of(self.f)}{signature_of(self.f)} takes {name} for an array "
                    f"or a container, {probe.use.format(name)}, and {came}, so that it was called "
                    f"with a number; give p0 as {name} is, an array p0=np.ones(2) or a dict "
                    f"p0={{'a': 1.0, 'b': 1.0}}"
                ) from error


class _Probe(float):
    """A number, 1, that remembers how it was used as what it is not.

    What pandas and others ask of any operand, ``a._typ`` or its length, is no use by the model.
    """

    use = ""

    def __new__(cls) -> "_Probe":
        return super().__new__(cls, 1.0)

    def _note(self, use: str, asking: FrameType) -> None:
        if package_of(asking) not in AWARE:
            self.use = self.use or use

    def _refuse(self, use: str) -> NoReturn:
        self._note(use, sys._getframe(2))
        raise TypeError("a number")

    def __getitem__(self, key: Any) -> NoReturn:
        self._refuse(f"{{}}[{shown(key)}]")

    def __iter__(self) -> NoReturn:
        self._refuse("which it unpacks")

    def __len__(self) -> NoReturn:
        self._refuse("len({})")

    def __matmul__(self, other: Any) -> NoReturn:
        self._refuse("{} @ ...")

    def __getattr__(self, name: str) -> Any:
        if not (name.startswith("_") or hasattr(np.float64, name)):
            self._note(f"{{}}.{name}", sys._getframe(1))
        return getattr(np.float64(self), name)


def binding(f: Model, p0: Any) -> tuple[Model, Any, list[str] | None]:
    """How ``f(x, ...)`` takes its parameters: a function ``(x, p)``, p0, and names it has for them.

    A dict is given by name where f has parameters of these names; a sequence one by one where f
    takes as many; anything else, and what does not fit so, as one argument.
    """
    signature = signature_of(f)
    if p0 is None:
        names = _scalars(f, signature)
        return OfNumbers(f, None), np.ones(len(names)), names
    point = as_point(p0)
    is_matrix = isinstance(point, np.ndarray) and point.ndim > 1
    if type(p0) in (list, tuple) and is_matrix and not _fits(signature, (point,), {}):
        point = list(point)  # no matrix: arrays of one length, one for each parameter
    if isinstance(point, Mapping):
        if all(isinstance(k, str) for k in point) and _fits(signature, (), point):
            return ByName(f), dict(point), None
    elif np.ndim(point) == 1 if isinstance(point, np.ndarray) else type(point) in (list, tuple):
        if _fits(signature, point, {}):
            taken = _positional(signature, len(point))
            is_one = isinstance(p0, np.ndarray) and len(point) == 1 and taken
            return (OfOne if is_one else OneByOne)(f), point, taken
    elif np.ndim(point) == 0 and _fits(signature, (point,), {}):
        return OfNumbers(f, p0), point, _positional(signature, 1)
    if not _fits(signature, (point,), {}):
        raise ArgumentError(
            f"curve_fit: {name_of(f)}{signature} does not take the parameters of p0, by name, one "
            f"by one or as one argument; {_difference(signature, point)}{_behind_star(signature)}"
        )
    return f, point, None


def with_fixed(f: Model, p0: Any, fixed: Any) -> Any:
    """A p0 by name, with the values that ``fixed`` has for parameters of a model that it lacks."""
    if not isinstance(p0, Mapping) or not isinstance(fixed, Mapping):
        return p0
    signature = signature_of(f)
    if signature is None or _fits(signature, (p0,), {}) or _fits(signature, (), p0):
        return p0
    names = [p.name for p in _after_first(signature) if p.kind in BY_NAME]
    lacked = {k: v for k, v in fixed.items() if k in names and k not in p0}
    flags = any(isinstance(v, (bool, np.bool_)) for v in lacked.values())
    return p0 if flags or not lacked else {**p0, **lacked}


def _behind_star(signature: inspect.Signature | None) -> str:
    """How parameters that a model takes by keyword alone are given, "" where it has none."""
    parameters = {} if signature is None else signature.parameters
    by_keyword = [n for n, p in parameters.items() if p.kind is p.KEYWORD_ONLY]
    given = ", ".join([f"{name!r}: ..." for name in by_keyword])
    return f"; what stands behind the * is given by name, p0={{{given}}}" if by_keyword else ""


def tell_count(
    solver: str, signature: inspect.Signature | None, count: int, error: IndexError
) -> None:
    """Say how many numbers p0 has, where a function takes any number and reads one more."""
    parameters = {} if signature is None else signature.parameters
    star = next((n for n, p in parameters.items() if p.kind is p.VAR_POSITIONAL), "")
    if star:
        several = f"{count} number{'s' * (count != 1)}"
        error.add_note(f"{solver}: p0 has {several}, and *{star} takes those that are left")


def by_name(model: Model, p: Any) -> dict[str, Any]:
    """The parameters of a model that `binding` made, by what it calls them."""
    if isinstance(model, OneByOne):
        return model.named(p)
    return {next(iter(parameter_names(model)), "p"): p}


def call_by_name(model: Model, f: Model, x: Any, named: dict[str, Any]) -> Any:
    """Call ``f`` in the place of a model's function with such parameters."""
    return f(x, **named) if isinstance(model, ByName) else f(x, *named.values())


def parameter_names(f: Model) -> list[str]:
    """What a model calls its parameters, as far as its signature says."""
    return [p.name for p in _after_first(signature_of(f)) if p.kind in _POSITIONAL]


def refuse_further_names(solver: str, model: Model, p: Any, error: TypeError) -> None:
    """Raise where a start has all the names that a model has, and others, so that it was called
    with the whole as one argument, which it took for a number."""
    if isinstance(model, OneByOne) or not isinstance(p, Mapping):
        return
    names = parameter_names(model)
    more = [str(key) for key in p if key not in names]
    if names and more and all(name in p for name in names):
        raise ArgumentError(
            f"{solver}: {name_of(model)}{signature_of(model)} does not take {', '.join(more)}, "
            f"which p0 names beside {', '.join(names)}, so that it was called with all of p0, a "
            f"dict; leave {'it' if len(more) == 1 else 'them'} out of p0"
        ) from error


def _difference(signature: inspect.Signature | None, point: Any) -> str:
    """What a model has for parameters, and what p0 gives."""
    names = [p.name for p in _after_first(signature) if p.kind is not p.VAR_KEYWORD]
    wanted = f"after its first argument it has {', '.join(names) or 'none'}"
    if isinstance(point, Mapping):
        came = ", ".join(map(str, point))
        return f"{wanted}, and p0 {came}{unlike(_after_first(signature), point)}"
    if isinstance(point, np.ndarray) and point.ndim > 1:
        return f"{wanted}, and p0 is an array of shape {point.shape}, of {point.size} numbers"
    if np.ndim(point) == 0 and not isinstance(point, (list, tuple)):
        each = f"p0={[1] * len(names)}" if len(names) <= MOST else f"p0=[1] * {len(names)}"
        return f"{wanted}, and p0 is one number, {shown(point)}; give one for each, {each}"
    return f"{wanted}, and p0 has {len(point)} number{'s' * (len(point) != 1)}"


def unlike(parameters: Iterable[inspect.Parameter], point: Mapping[Any, Any]) -> str:
    """Which names of a start a function has no parameters for, and which of its are missing."""
    named = [p for p in parameters if p.kind in BY_NAME]
    odd = [key for key in point if key not in [p.name for p in named]]
    missing = [p.name for p in named if p.default is p.empty and p.name not in point]
    words = []
    if odd and any(p.name in point for p in named):
        words.append(f"it has no {', '.join(map(str, odd))}")
    if missing and len(missing) < len(named):
        words.append(f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing")
    return f"; {', and '.join(words)}" if words else ""


def signature_of(f: Model) -> inspect.Signature | None:
    try:
        return inspect.signature(f.pyfunc if isinstance(f, np.vectorize) else f)
    except (TypeError, ValueError):  # a builtin without one
        return None


def _fits(signature: inspect.Signature | None, args: Iterable[Any], kwargs: Any) -> bool:
    if signature is None:
        return True
    try:
        signature.bind(None, *args, **kwargs)
    except TypeError:
        return False
    return True


def _after_first(signature: inspect.Signature | None) -> list[inspect.Parameter]:
    parameters = [] if signature is None else list(signature.parameters.values())
    takes_all = parameters and parameters[0].kind is inspect.Parameter.VAR_POSITIONAL
    return parameters if takes_all else parameters[1:]


def _positional(signature: inspect.Signature | None, count: int) -> list[str] | None:
    parameters = _after_first(signature)
    names = [p.name for p in parameters if p.kind in _POSITIONAL][:count]
    for p in parameters:
        if p.kind is p.VAR_POSITIONAL and names:  # of ``*p`` alone p[0] is the name in any case
            names += [f"{p.name}[{k}]" for k in range(count - len(names))]
    return names if len(names) == count else None


def _scalars(f: Model, signature: inspect.Signature | None) -> list[str]:
    parameters = _after_first(signature)
    names = [p.name for p in parameters if p.kind in _POSITIONAL]
    if not names or any(p.kind is p.VAR_POSITIONAL for p in parameters):
        raise ArgumentError(
            f"curve_fit: {name_of(f)} does not say how many parameters it has; give p0"
        )
    return names
