"""The parameters of a fit: their names, their start and bounds, which of them are held fixed."""

import re
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

import numpy as np
import optree

from linad.core import tree
from linad.core.array_type import Array
from linad.core.showing import shown
from linad.errors import OptionError, ShapeError
from linad.solve.bounds import numbers_of
from linad.solve.problems import Unknown, as_point


def _heads(unknown: Unknown, given: list[str] | None) -> list[str]:
    """A name for each array of a container."""
    if tree.is_leaf(unknown.structure):
        return ["p"]
    heads = [_readable(path) for path in tree.leaf_paths(unknown.structure)]
    if given:
        heads = [re.sub(r"^p\[(\d+)\]", lambda m: given[int(m[1])], head) for head in heads]
    return heads


def leaf_names(unknown: Unknown, given: list[str] | None) -> list[str]:
    """A name for each number of a container: ``a``, ``a[2]``, ``line.slope``."""
    slots = unknown.slots
    if tree.is_leaf(unknown.structure) and given:
        return given
    heads = _heads(unknown, given)
    names = []
    for head, slot in zip(heads, slots, strict=True):
        names += [
            head + (f"[{', '.join(map(str, index))}]" if index else "")
            for index in np.ndindex(slot.shape)
        ]
    return names


def _readable(path: str) -> str:
    """``['line']['slope']`` as ``line.slope``."""
    words = re.sub(r"\['([^']*)'\]", r".\1", path)
    return words[1:] if words.startswith(".") else f"p{words}"


def ordered(container: Any, like: Any = None) -> Any:
    """Dicts in the order in which they were written, or in that of others with the same keys.

    The leaves of a plain dict stand in the order of its sorted keys.
    """
    if type(container) in (list, tuple):
        likes = like if type(like) in (list, tuple) else [None] * len(container)
        return type(container)([ordered(*pair) for pair in zip(container, likes, strict=False)])
    if type(container) not in (dict, OrderedDict):
        return container
    same = isinstance(like, Mapping) and like.keys() == container.keys()
    keys = like if same else container
    return OrderedDict([(k, ordered(container[k], like[k] if same else None)) for k in keys])


def as_given(made: Any, form: Any) -> Any:
    """Ordered dicts as the plain ones that were given, as far as their leaves keep their order."""
    if type(form) is dict:
        kept = {key: as_given(made[key], part) for key, part in form.items()}
        return kept if tree.has_sorted_keys(form) else OrderedDict(kept)
    if type(form) is OrderedDict:
        return OrderedDict([(key, as_given(made[key], part)) for key, part in form.items()])
    if type(form) in (list, tuple):
        return type(form)(as_given(*pair) for pair in zip(made, form, strict=True))
    return made


class SaidByName(dict[str, Any]):
    """What there is to say of each parameter, by its name; of an array its entries have some."""

    def __missing__(self, name: Any) -> NoReturn:
        entries = [key for key in self if key.startswith((f"{name}[", f"{name}."))]
        if entries:
            raise KeyError(f"{name!r} is several numbers, whose keys are {_listed(entries)}")
        raise KeyError(f"{name!r} is not a parameter; the keys are {_listed(list(self))}")


def _made(names: Any, parts: Any) -> SaidByName:
    return SaidByName(zip(names, parts, strict=True))


def _parts(said: Any) -> Any:
    return list(said.values()), list(said), list(said)


optree.register_pytree_node(SaidByName, _parts, _made, namespace=tree.NAMESPACE)


def _listed(names: list[str]) -> str:
    """Names, as far as a line holds them."""
    return ", ".join(map(repr, names[:12])) + " ..." * (len(names) > 12)


class Parameters:
    """The numbers that a fit may change, and those it may not.

    Parameters
    ----------
    name : str
        The solver, for messages.
    start : container
    given : list of str, optional
        Names of the entries.
    fixed : names, a mapping of names to values, or a container like start of flags

    Attributes
    ----------
    names, heads : list of str
        One a number; one an array of the container.
    start : ndarray (n,)
    free : ndarray (n,) of bool
    form : container
        What was given; numbers stand in its order, and ``container`` makes its dicts ordered.
    """

    def __init__(self, name: str, start: Any, given: list[str] | None, fixed: Any) -> None:
        self.solver = name
        self.form = as_point(start)
        self.unknown = Unknown(ordered(self.form), name)
        self.given = given
        self.names = leaf_names(self.unknown, given)
        self.heads = _heads(self.unknown, given)
        self.start = self.unknown.start.copy()
        self.free = np.ones(self.start.shape, bool)
        self._fix(fixed)

    def _fix(self, fixed: Any) -> None:
        if fixed is None:
            return
        if isinstance(fixed, str):
            fixed = [fixed]
        if not isinstance(fixed, (Mapping, np.ndarray, list, tuple, set, frozenset)):
            raise OptionError(
                f"{self.solver}: fixed must be names, a dict of values, or a flag for each "
                f"parameter, got {shown(fixed)}"
            )
        if isinstance(fixed, Mapping):
            fixed = _dotted(fixed)
        if isinstance(fixed, Mapping) and not _flags(fixed.values()):
            for key, value in fixed.items():
                self._hold(key, value)
        elif isinstance(fixed, Mapping):
            for key, flag in fixed.items():
                self.free[self.positions("fixed", key)] = ~np.ravel(np.asarray(flag, bool))
        elif _flags(fixed):
            flags = np.ravel(np.asarray(fixed, bool))
            if flags.shape != self.free.shape:
                raise OptionError(
                    f"{self.solver}: fixed must hold a flag for each of the {self.free.size} "
                    f"parameters, got {flags.size}"
                )
            self.free = ~flags
        elif len(fixed) == self.free.size > 1 and np.asarray(list(fixed)).dtype.kind in "iu":
            raise OptionError(
                f"{self.solver}: fixed must be flags, names or positions, and {shown(fixed)} "
                f"may be flags or positions; write flags as True and False"
            )
        else:
            for key in fixed:
                self.free[self.positions("fixed", key)] = False
        if not self.free.any():
            raise OptionError(f"{self.solver}: fixed holds all parameters; leave one free")

    def _hold(self, key: Any, value: Any) -> None:
        """Hold the numbers of a named parameter at a value."""
        where = self.positions("fixed", key)
        held = np.ravel(value)
        numbers = held.dtype.kind in "biuf" and np.isfinite(held).all()
        if not numbers or len(held) not in (1, len(where)):
            alone = ""
            if len(where) > 1 and held.dtype == object and len(held) == len(where):
                some = [pair for pair in zip(where, held, strict=True) if pair[1] is not None]
                i, one = some[0] if some else (where[0], self.start[where[0]])
                alone = f"; to hold one of them alone, name it: fixed={{{self.names[i]!r}: {one}}}"
            raise OptionError(
                f"{self.solver}: the value of {key!r} in fixed must be {len(where)} "
                f"number{'s' * (len(where) != 1)}, got {shown(value)}{alone}"
            )
        self.start[where] = held
        self.free[where] = False

    def positions(self, option: str, key: Any, asking: str = "") -> list[int]:
        """Where the numbers of a named parameter stand; an array's name means all of it.

        ``asking`` is the function whose option it is, if that is not the solver.
        """
        if isinstance(key, (int, np.integer)) and -len(self.names) <= key < len(self.names):
            return [int(key)]
        found = [
            i
            for i, name in enumerate(self.names)
            if name == key or (isinstance(key, str) and name.startswith((f"{key}[", f"{key}.")))
        ]
        if not found:
            known = ", ".join(self.names[:12]) + " ..." * (len(self.names) > 12)
            verb = "has" if option == "names" else "names"
            raise OptionError(
                f"{asking or self.solver}: {option} {verb} {key!r}, which is not a parameter; they "
                f"are {known}"
            )
        return found

    def named(self, name: str | int, container: Any) -> Any:
        """What a container has under a name: a number, an array, or a container of such."""
        part = container.get(name) if isinstance(container, Mapping) else None
        if isinstance(part, (Mapping, list, tuple)) and tree.vector(part).size > 1:
            return part
        if not isinstance(name, str):
            name = f"p[{name}]"
        if name not in self.names and name in self.heads:
            return tree.flatten(container)[0][self.heads.index(name)]
        found = tree.vector(container)[self.positions("found[...]", name)]
        return float(found[0]) if len(found) == 1 else found

    def has_label(self, label: Any) -> bool:
        """Whether it is a key of the mapping that the start is."""
        return isinstance(self.form, Mapping) and label in self.form

    def by_name(self, container: Any) -> dict[str, Any]:
        """What a container has, as a model takes it; nothing where there are no names."""
        if isinstance(container, Mapping):
            return {key: part for key, part in container.items() if isinstance(key, str)}
        if self.given is None:
            return {}
        several = isinstance(container, (list, tuple)) or np.ndim(container)
        return dict(zip(self.given, container if several else [container], strict=True))

    def bounds(self, given: Any) -> Any:
        """Bounds as SciPy or a mapping of names gives them, as containers like the start."""
        n = self.start.size
        if isinstance(given, (list, tuple)) and len(given) == 2:
            both = [ordered(side, self.form) for side in given]
            return both if isinstance(given, list) else tuple(both)
        if isinstance(given, Mapping):
            lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
            for key, pair in _dotted(given).items():
                where = self.positions("bounds", key)
                if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                    first = self.names[where[0]]
                    alone = f"; one number in it alone is {first!r}" if len(where) > 1 else ""
                    raise OptionError(
                        f"{self.solver}: bounds of {key!r} must be (lower, upper), got "
                        f"{shown(pair)}{alone}"
                    )
                lower[where] = self._side("lower", key, pair[0], len(where), -np.inf)
                upper[where] = self._side("upper", key, pair[1], len(where), np.inf)
            return self.unknown.container(lower), self.unknown.container(upper)
        return given

    def _side(self, side: str, key: Any, given: Any, count: int, none: float) -> Any:
        """One side of the bounds of a named parameter, as the vector of its numbers."""
        what = f"{self.solver}: the {side} bounds of {key!r}"
        values = numbers_of(what, given, none)
        whole = key in self.heads and key not in self.names
        shape = self.unknown.slots[self.heads.index(key)].shape if whole else (count,)
        if values.shape == (count,):
            return values  # its numbers one after the other
        try:
            return np.broadcast_to(values, shape).ravel()
        except ValueError as error:
            of = f"the shape {shape} of the parameter" if count > 1 else "one number"
            raise ShapeError(
                f"{what} must {'have' if count > 1 else 'be'} {of}"
                f"{', or be one number' * (count > 1)}; got the shape {values.shape}"
            ) from error

    def container(self, vector: Array) -> Any:
        """A vector in the form of the start, its dicts in the order in which they were written."""
        return self.unknown.container(vector)


def _dotted(given: Mapping[Any, Any]) -> dict[Any, Any]:
    """What is given for parameters in dicts within dicts, and within lists of dicts, by their
    names: ``line.slope``, ``peaks[0].width``."""
    found: dict[Any, Any] = {}
    for key, value in given.items():
        parts = {key: value}
        listed = isinstance(value, (list, tuple)) and len(value)
        if listed and all(isinstance(part, Mapping) for part in value):
            parts = {f"{key}[{k}]": part for k, part in enumerate(value)}
        for name, part in parts.items():
            if isinstance(part, Mapping):
                found.update({f"{name}.{k}": inner for k, inner in _dotted(part).items()})
            else:
                found[name] = part
    return found


def _flags(values: Iterable[Any]) -> bool:
    """Whether all of the values are booleans, or arrays of such."""
    found = [np.asarray(v).dtype.kind == "b" for v in values]
    return bool(found) and all(found)


def told(parameters: Parameters) -> str:
    """The start, as far as a line holds it."""
    pairs = list(zip(parameters.names, parameters.start, strict=True))
    first = ", ".join(f"{name} = {value:g}" for name, value in pairs[:6])
    return first + (", ..." if len(pairs) > 6 else "")
