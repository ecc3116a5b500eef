"""How functions of parameters and further arguments take them: as one, by name, one by one."""

import inspect
from collections.abc import Iterable, Mapping
from typing import Any, cast

import numpy as np

from linad.core.options import args_of
from linad.core.shapes import name_of
from linad.errors import ArgumentError
from linad.solve.fitting.model_bindings import BY_NAME, Model, signature_of, tell_count, unlike
from linad.solve.problems import as_point

_GIVEN = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Whole:
    """How a function of parameters and further arguments takes them: ``f(p, *args)``."""

    names: list[str] | None = None

    def named(self, f: Model, p: Any) -> dict[str, Any]:
        """Parameters by what the function calls them."""
        return {_first_name(f): p}

    def call(self, f: Model, named: dict[str, Any], args: tuple[Any, ...]) -> Any:
        """Call it with such, and with further arguments."""
        return f(*named.values(), *args)


class Spread(Whole):
    """``f(a, b, *args)`` of a sequence."""

    def __init__(self, names: list[str], solver: str) -> None:
        self.names, self.solver = names, solver

    def named(self, f: Model, p: Any) -> dict[str, Any]:
        return dict(zip(cast(list[str], self.names), p, strict=True))

    def call(self, f: Model, named: dict[str, Any], args: tuple[Any, ...]) -> Any:
        try:
            return f(*named.values(), *args)
        except IndexError as error:
            tell_count(self.solver, signature_of(f), len(named), error)
            raise


class Keyed(Whole):
    """``f(a, t, b)`` of a dict with a and b; further arguments in the places that are left."""

    def __init__(self, left: list[str]) -> None:
        self.left = left

    def named(self, f: Model, p: Any) -> dict[str, Any]:
        return dict(p)

    def call(self, f: Model, named: dict[str, Any], args: tuple[Any, ...]) -> Any:
        return f(**named, **dict(zip(self.left, args, strict=True)))


def taking(f: Model, start: Any, args: Any, solver: str) -> tuple[Whole, tuple[Any, ...]]:
    """How ``f`` takes the parameters: those of a mapping by name, if it has their names, else as
    one argument if it can, else one by one; and its further arguments: a list is one of them, or
    holds as many as it takes.

    Raises
    ------
    ArgumentError
        If it does so in no way.
    """
    signature = signature_of(f)
    if signature is None:
        return Whole(), args_of(args)
    point = as_point(start)
    ways = [(args,), tuple(args)] if isinstance(args, list) else [args_of(args)]
    by_name_first = isinstance(point, Mapping)
    alone = not ways[-1] and _takes_any_number(signature)
    for attempt in (_of_each, _as_one) if by_name_first or alone else (_as_one, _of_each):
        for further in ways:
            way = attempt(signature, point, further, solver)
            if way is not None:
                return way, further
    args = ways[-1]
    if isinstance(point, (Mapping, list, tuple)):
        keys = f" of {', '.join(map(str, point))}" if isinstance(point, Mapping) else ""
        came = f"a {type(point).__name__}{keys}"
    else:
        came = f"{np.size(point)} numbers" if np.ndim(point) else "one number"
    after = f", and those of args, of which there are {len(args)}, after them" if args else ""
    odd = unlike(signature.parameters.values(), point) if by_name_first else ""
    raise ArgumentError(
        f"{solver}: {name_of(f)}{signature} does not take the parameters of the start, {came}; let "
        f"it take one argument for all of them, p, or each of them, by name or one by one{after}"
        f"{_forgotten(signature, point, args)}{odd}"
    )


_ALL = ("p", "params", "parameters", "par", "pars", "theta", "beta", "guess")
"""What an argument for all parameters is called."""


def _forgotten(signature: inspect.Signature, point: Any, args: tuple[Any, ...]) -> str:
    """That the arguments behind the parameters are given in ``args``, where there are none."""
    required = _required(signature)
    if not required or args:
        return ""
    if isinstance(point, Mapping) and any(name in required for name in point):
        if not all(name in required for name in point):
            return ""
        left = [name for name in required if name not in point]
    else:
        several = isinstance(point, (list, tuple)) or np.ndim(point) == 1
        one = not several or required[0] in _ALL
        left = required[1 if one else len(point) :]
    if not left:
        return ""
    return f"; if {', '.join(left)} {'are' if len(left) > 1 else 'is'} data, {_as_args(left)}"


def as_all_and_args(f: Model) -> str:
    """How a function is called whose first argument is all parameters."""
    signature = signature_of(f)
    names = [] if signature is None else _required(signature)
    return f"if {names[0]} is all of them, {_as_args(names[1:])}" if names[1:] else ""


def _required(signature: inspect.Signature) -> list[str]:
    """The arguments that are given in places, without defaults."""
    parameters = signature.parameters.values()
    return [p.name for p in parameters if p.default is p.empty and p.kind in _GIVEN]


def _as_args(names: list[str]) -> str:
    return f"give args=({', '.join(names)}{',' * (len(names) == 1)})"


def _first_name(f: Model) -> str:
    """What a function of residuals calls its parameters."""
    signature = signature_of(f)
    return next(iter(signature.parameters), "p") if signature else "p"


def _binds(signature: inspect.Signature, args: Any, names: Iterable[Any] = ()) -> bool:
    try:
        signature.bind(*args, **{str(name): None for name in names})
    except TypeError:
        return False
    return True


def _takes_any_number(signature: inspect.Signature) -> bool:
    """Whether it is ``f(*v)``, of numbers; what takes any keywords as well hands them on."""
    kinds = [p.kind for p in signature.parameters.values()]
    return kinds == [inspect.Parameter.VAR_POSITIONAL]


def _as_one(
    signature: inspect.Signature, point: Any, args: tuple[Any, ...], solver: str
) -> Whole | None:
    """That parameters are taken as one argument; None where they are not."""
    return Whole() if _binds(signature, (None, *args)) else None


def _of_each(
    signature: inspect.Signature, point: Any, args: tuple[Any, ...], solver: str
) -> Whole | None:
    """How parameters are taken by name or one by one; None where they are not."""
    names = [p.name for p in signature.parameters.values() if p.kind in BY_NAME]
    if isinstance(point, Mapping):
        left = [name for name in names if name not in point][: len(args)]
        if len(left) == len(args) and _binds(signature, (), [*point, *left]):
            return Keyed(left)
        return None
    several = type(point) in (list, tuple) or np.ndim(point) == 1
    star = [p.name for p in signature.parameters.values() if p.kind is p.VAR_POSITIONAL]
    if star and several:
        names += [f"{star[0]}[{k}]" for k in range(len(point) - len(names))]
    if several and len(names) >= len(point) and _binds(signature, (*point, *args)):
        return Spread(names[: len(point)], solver)
    return None
