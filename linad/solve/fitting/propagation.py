"""What is known of a function of fitted parameters.

    covariance of g(x)      J Σ J^T         J the exact Jacobian of g at x, Σ that of x

This is exact where g is linear over the errors of x, and what is meant by "propagation of errors".
Σ is never formed: where the data leave a direction open in which g changes, g has infinite errors.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from linad.api.derivatives import linearize
from linad.api.ravels import ravel
from linad.core import tree
from linad.core.shapes import name_of
from linad.errors import ArgumentError
from linad.solve.fitting.asked_of_parameters import MISREAD, refuse_misread
from linad.solve.fitting.fit_options import LEVEL
from linad.solve.fitting.reports import MOST, rounded
from linad.solve.problems import quiet
from linad.solve.saturated import without_saturated

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_OF_ALL = frozenset(["p", "par", "params", "parameters", "popt", "theta", "beta", "x", "v", "q"])
"""What an argument for all parameters is called."""

_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Propagated:
    """A function of fitted parameters, with its standard errors; it unpacks to these two.

    Attributes
    ----------
    value, errors : number, array or container
        What the function returns at the parameters found, and its standard errors; infinite where
        the data do not determine the value. Of a complex number, that of its real part and that
        of its imaginary part as one.
    """

    def __init__(self, value: Any, J: Any, known: Any) -> None:
        self.value, self._J, self._known = value, J, known

    @classmethod
    def of(cls, g: Callable[[Any], Any], known: Any) -> "Propagated":
        """A function of the container of parameters, where these are found."""
        with quiet():
            value, J = linearize(g, known.found)
            matrix = _without_saturated(J.todense(), value, g, known.found)
        if not np.isfinite(matrix).all():  # NumPy may say why
            J = linearize(g, known.found)[1]
            J.todense()
        no_value = np.isnan(ravel(value)[0])
        if no_value.any():  # it has no error either, though its derivative may be 0
            matrix = np.where(no_value[:, None], np.nan * matrix, matrix)
        return cls(value, matrix, known)

    def __iter__(self) -> Any:
        return iter((self.value, self.errors))

    @cached_property
    def errors(self) -> Any:
        """Standard errors, in the form of the value."""
        J = self._J
        errors = self._known._spread(J.real)
        if np.iscomplexobj(J):
            errors = errors + 1j * self._known._spread(J.imag)
        leaves, structure = tree.flatten(self.value)
        ends = np.cumsum([np.size(leaf) for leaf in leaves])[:-1]
        parts = [
            (e if np.iscomplexobj(v) else e.real).reshape(np.shape(v))[()]
            for e, v in zip(np.split(errors, ends), leaves, strict=True)
        ]
        return tree.unflatten(structure, parts)

    @cached_property
    def covariance(self) -> Any:
        """That of all numbers of the value, in the order of ``linad.ravel(value)``; of complex
        ones first the real parts, then the imaginary ones. One number has a variance."""
        J = self._J
        if np.iscomplexobj(J):
            J = np.concatenate([J.real, J.imag])
        found = self._known._covariance_of(J)
        return found[0, 0] if tree.is_leaf(tree.flatten(self.value)[1]) and len(J) == 1 else found

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """The interval in which the value lies with a probability: (lower, upper), in its form.

        Parameters
        ----------
        level : float
            The probability.
        """
        LEVEL.check("interval", "level", level)
        t = self._known._quantile(level)
        return ends(self.value, self.errors, t)

    def __repr__(self) -> str:
        leaves, structure = tree.flatten(self.value)
        errors = tree.flatten(self.errors)[0]
        lines = []
        for path, value, error in zip(tree.leaf_paths(structure), leaves, errors, strict=True):
            for index in np.ndindex(np.shape(value)):
                place = path + (f"[{', '.join(map(str, index))}]" if index else "")
                lines.append(f"{place}{': ' if place else ''}{_with_error(value, error, index)}")
                if len(lines) > MOST:
                    return "\n".join([*lines[:MOST], "..."])
        return "\n".join(lines)


def _without_saturated(matrix: Any, value: Any, g: Callable[[Any], Any], found: Any) -> Any:
    """A Jacobian with 0 where it is 0 times infinity, and g does not move with a parameter."""
    if np.isfinite(matrix).all() or np.iscomplexobj(matrix):
        return matrix
    x, unravel = ravel(found)
    return without_saturated(matrix, x, ravel(value)[0], lambda x: ravel(g(unravel(x)))[0])


def _with_error(value: Any, error: Any, index: tuple[int, ...]) -> str:
    """A number and its error, to as many digits as have a meaning."""
    v, e = np.asarray(value)[index], np.asarray(error)[index]
    if not np.iscomplexobj(v):
        return " ± ".join(rounded(float(v), float(e)))
    real, imaginary = [_with_error(a, b, ()) for a, b in ((v.real, e.real), (v.imag, e.imag))]
    return f"({real}) + ({imaginary})j"


def ends(value: Any, errors: Any, t: float) -> tuple[Any, Any]:
    """value ± t errors, leaf by leaf."""
    values, structure = tree.flatten(value)
    sizes = [
        t * e.real + 1j * (t * e.imag) if np.iscomplexobj(e) else t * e
        for e in tree.flatten(errors)[0]
    ]
    pairs = list(zip(values, sizes, strict=True))
    lower, upper = [v - s for v, s in pairs], [v + s for v, s in pairs]
    return tree.unflatten(structure, lower), tree.unflatten(structure, upper)


class _ReadArray(np.ndarray[Any, Any]):
    """An array that remembers whether one of its entries was read."""

    read = False

    def __getitem__(self, index: Any) -> Any:
        self.read = True
        return np.asarray(self)[index]

    def __iter__(self) -> Any:
        self.read = True
        return iter(np.asarray(self))

    def __len__(self) -> int:
        self.read = True
        return super().__len__()


class OfParameters:
    """What takes parameters by their names, or all of them as one argument, as a function of their
    container."""

    def __init__(self, g: Callable[..., Any], parameters: Any) -> None:
        self.g, self.parameters = g, parameters
        self.__name__ = name_of(g)  # for messages
        self.keys: list[str] = []
        self.way = self._way(parameters.by_name(parameters.container(parameters.start)))

    def _way(self, names: Mapping[str, Any]) -> str:
        try:
            signature = list(inspect.signature(self.g).parameters.values())
        except (TypeError, ValueError):  # a builtin without one
            return "whole"
        taken = [p for p in signature if p.kind in _NAMED and p.name in names]
        needed = [p for p in signature if p.default is p.empty and p.kind in (*_BY_PLACE, *_NAMED)]
        self.keys = [p.name for p in taken]
        if taken and all(p in taken for p in needed):
            return "named"
        takes_all = any(p.kind is p.VAR_POSITIONAL for p in signature)
        if not names and (takes_all or len(needed) > 1):
            count = self.parameters.start.size
            if takes_all or len(needed) == count:
                return "one by one"
            raise ArgumentError(
                f"propagate: {name_of(self.g)} takes {len(needed)} arguments, and there are "
                f"{count} parameters; let it take one argument, for all of them"
            )
        by_place = [p for p in signature if p.kind in _BY_PLACE]
        if by_place and all(p is by_place[0] for p in needed):
            self._refuse_misnamed(by_place[0].name, names)
            return "whole"
        others = ", ".join(p.name for p in needed if p.name not in names) or "nothing"
        raise ArgumentError(
            f"propagate: {name_of(self.g)} takes {others}, and parameters are "
            f"{', '.join(names) or 'without names'}; let it take those of them that it needs, "
            f"by name, or one argument for all of them, which is like found.x"
        )

    def _misspelt(self, name: str, names: Mapping[str, Any]) -> str:
        """Which parameter has the name of an argument in other letters; "" if none has."""
        meant = [known for known in names if known.lower() == name.lower() != "p"]
        return f"Did you mean {meant[0]}? " if meant else ""

    def _refuse_misnamed(self, name: str, names: Mapping[str, Any]) -> None:
        """Raise where one argument is called as one parameter might be, and computed with as with
        one: an array of all of them, no entry of which is read, would pass for it."""
        start = self.parameters.start
        if name in _OF_ALL or len(names) < 2 or len(names) != start.size:
            return
        if isinstance(self.parameters.form, Mapping):
            return  # a dict passes for no number
        entries = np.array(start).view(_ReadArray)
        try:
            with quiet():
                inspect.unwrap(self.g)(entries)
        except Exception:  # with an array of all it says so itself
            return
        if not entries.read:
            raise ArgumentError(
                f"propagate: {name_of(self.g)} takes {name}, which is no parameter; they are "
                f"{', '.join(names)}. {self._misspelt(name, names)}Let it take those "
                f"that it needs, by name; one argument for all of them is called p, of which p[0] "
                f"is {next(iter(names))}"
            )

    def __call__(self, p: Any) -> Any:
        if self.way == "named":
            named = self.parameters.by_name(p)
            return self.g(**{key: named[key] for key in self.keys})
        if self.way == "one by one":
            return self.g(*p)
        try:
            return self.g(p)
        except MISREAD as error:
            (name,), names = self.named(p), self.parameters.by_name(p)
            if said := self._misspelt(name, names):
                raise ArgumentError(
                    f"propagate: {name_of(self.g)} takes {name}, which is no parameter, so that it "
                    f"was called with all of them. {said.rstrip()}"
                ) from error
            refuse_misread("propagate", self, p, error)
            raise

    @property
    def f(self) -> Callable[..., Any]:
        """The function, as `refuse_misread` asks for it."""
        return self.g

    def named(self, p: Any) -> dict[str, Any]:
        """All parameters, by what the function calls them."""
        return {next(iter(inspect.signature(inspect.unwrap(self.g)).parameters), "p"): p}

    def call(self, f: Callable[..., Any], named: dict[str, Any]) -> Any:
        """Run a function of all parameters."""
        return f(*named.values())
