"""The parameters of a fit: their names, how a model is called with them, which are held fixed."""

import inspect
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, NoReturn

import numpy as np

from linad.core import tree
from linad.core.shapes import name_of
from linad.core.showing import shown
from linad.errors import ArgumentError, OptionError
from linad.solve.problems import Unknown, as_point

Model = Callable[..., Any]

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
"""Arguments of a model that are parameters, as SciPy has it: those after a star are options."""


class OneByOne:
    """A model that takes its parameters by position; a class, since a lambda is not pickled."""

    def __init__(self, f: Model) -> None:
        self.f = f

    def __call__(self, x: Any, p: Any) -> Any:
        return self.f(x, *p)

    def named(self, p: Any) -> dict[str, Any]:
        """The arguments by the model's names for them."""
        names = _positional(_signature(self.f), len(p)) or [f"p[{k}]" for k in range(len(p))]
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
            (name,) = _positional(_signature(self.f), 1) or ["p"]
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
            raise

    def named(self, p: Any) -> dict[str, Any]:
        return super().named((p,) if np.ndim(p) == 0 else p)

    def _tell_of_containers(self, error: Exception, x: Any, count: int) -> None:
        """Raise what to write if the model takes a parameter for an array or a container."""
        probes = [_Probe() for _ in range(count)]
        with suppress(Exception):  # what it raises has been raised before, and is not lost
            inspect.unwrap(self.f)(x, *probes)
        names = _positional(_signature(self.f), count) or []
        for name, probe in zip(names, probes, strict=False):
            if probe.use:
                came = "no p0 is given" if self.p0 is None else f"p0 is {shown(self.p0)}"
                raise ArgumentError(
                    f"curve_fit: {name_of(self.f)}{_signature(self.f)} takes {name} for an array "
                    f"or a container, {probe.use.format(name)}, and {came}, so that it was called "
                    f"with a number; give p0 as {name} is, an array p0=np.ones(2) or a dict "
                    f"p0={{'a': 1.0, 'b': 1.0}}"
                ) from error


class _Probe(float):
    """A number, 1, that remembers how it was used as what it is not."""

    use = ""

    def __new__(cls) -> "_Probe":
        return super().__new__(cls, 1.0)

    def _refuse(self, use: str) -> NoReturn:
        self.use = self.use or use
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
        if not (name.startswith("__") or hasattr(np.float64, name)):
            self.use = self.use or f"{{}}.{name}"
        return getattr(np.float64(self), name)


def binding(f: Model, p0: Any) -> tuple[Model, Any, list[str] | None]:
    """How ``f(x, ...)`` takes its parameters: a function ``(x, p)``, p0, and names it has for them.

    A dict is given by name where f has parameters of these names; a sequence one by one where f
    takes as many; anything else, and what does not fit so, as one argument.
    """
    signature = _signature(f)
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
            f"by one or as one argument; {_difference(signature, point)}"
        )
    return f, point, None


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
    return [p.name for p in _after_first(_signature(f)) if p.kind in _POSITIONAL]


def refuse_further_names(solver: str, model: Model, p: Any, error: TypeError) -> None:
    """Raise where a start has all the names that a model has, and others, so that it was called
    with the whole as one argument, which it took for a number."""
    if isinstance(model, OneByOne) or not isinstance(p, Mapping):
        return
    names = parameter_names(model)
    more = [str(key) for key in p if key not in names]
    if names and more and all(name in p for name in names):
        raise ArgumentError(
            f"{solver}: {name_of(model)}{_signature(model)} does not take {', '.join(more)}, which "
            f"p0 names beside {', '.join(names)}, so that it was called with all of p0, a dict; "
            f"leave {'it' if len(more) == 1 else 'them'} out of p0"
        ) from error


def first_name(f: Model) -> str:
    """What a function of residuals calls its parameters."""
    signature = _signature(f)
    return next(iter(signature.parameters), "p") if signature else "p"


def refuse_other_signatures(f: Model, args: tuple[Any, ...], name: str) -> None:
    """Raise where a function of all parameters takes them one by one."""
    signature = _signature(f)
    if signature is None or _fits(signature, args, {}):
        return
    names = list(signature.parameters)[: len(signature.parameters) - len(args)]
    unpacked = f", which {', '.join(names)} = p unpacks" if len(names) > 1 else ""
    raise ArgumentError(
        f"{name}: {name_of(f)}{signature} is called with one argument, p, and with those of args, "
        f"of which there are {len(args)}; p holds all parameters{unpacked}"
    )


def _difference(signature: inspect.Signature | None, point: Any) -> str:
    """What a model has for parameters, and what p0 gives."""
    names = [p.name for p in _after_first(signature) if p.kind is not p.VAR_KEYWORD]
    wanted = f"after its first argument it has {', '.join(names) or 'none'}"
    if isinstance(point, Mapping):
        return f"{wanted}, and p0 {', '.join(map(str, point))}"
    if isinstance(point, np.ndarray) and point.ndim > 1:
        return f"{wanted}, and p0 is an array of shape {point.shape}, of {point.size} numbers"
    if np.ndim(point) == 0 and not isinstance(point, (list, tuple)):
        return f"{wanted}, and p0 is one number, {shown(point)}; give one for each, p0=[1, 1]"
    return f"{wanted}, and p0 has {len(point)} number{'s' * (len(point) != 1)}"


def _signature(f: Model) -> inspect.Signature | None:
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
                where = self.positions("fixed", key)
                held = np.ravel(value)
                numbers = held.dtype.kind in "biuf" and np.isfinite(held).all()
                if not numbers or len(held) not in (1, len(where)):
                    raise OptionError(
                        f"{self.solver}: the value of {key!r} in fixed must be {len(where)} "
                        f"number{'s' * (len(where) != 1)}, got {shown(value)}"
                    )
                self.start[where] = held
                self.free[where] = False
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

    def positions(self, option: str, key: Any) -> list[int]:
        """Where the numbers of a named parameter stand; an array's name means all of it."""
        if isinstance(key, (int, np.integer)) and -len(self.names) <= key < len(self.names):
            return [int(key)]
        found = [
            i
            for i, name in enumerate(self.names)
            if name == key or (isinstance(key, str) and name.startswith((f"{key}[", f"{key}.")))
        ]
        if not found:
            raise OptionError(
                f"{self.solver}: {option} names {key!r}, which is not a parameter; they are "
                f"{', '.join(self.names[:12])}{' ...' if len(self.names) > 12 else ''}"
            )
        return found

    def named(self, name: str, container: Any) -> Any:
        """What a container has under a name: a number, an array, or a container of such."""
        part = container.get(name) if isinstance(container, Mapping) else None
        if isinstance(part, (Mapping, list, tuple)) and tree.vector(part).size > 1:
            return part
        if name not in self.names and name in self.heads:
            return tree.flatten(container)[0][self.heads.index(name)]
        found = tree.vector(container)[self.positions("found[...]", name)]
        return float(found[0]) if len(found) == 1 else found

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
                    raise OptionError(
                        f"{self.solver}: bounds of {key!r} must be (lower, upper), got "
                        f"{shown(pair)}"
                    )
                low, high = pair
                lower[where] = -np.inf if low is None else low
                upper[where] = np.inf if high is None else high
            return self.unknown.container(lower), self.unknown.container(upper)
        return given

    def container(self, vector: Any) -> Any:
        """A vector in the form of the start, its dicts in the order in which they were written."""
        return self.unknown.container(vector)


def _dotted(given: Mapping[Any, Any]) -> dict[Any, Any]:
    """What is given for parameters in dicts within dicts, by names with dots."""
    found: dict[Any, Any] = {}
    for key, value in given.items():
        within = _dotted(value) if isinstance(value, Mapping) else None
        found.update({key: value} if within is None else {f"{key}.{k}": within[k] for k in within})
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
