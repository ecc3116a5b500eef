"""How a distribution of scipy.stats is traced.

Its methods are SciPy's where nothing is traced. Where something is, the arguments are bound to
names and checked, and what the functions are is said by those of a kind:
`linad.scipy.stats.with_density`, `linad.scipy.stats.of_counts` and, of vectors,
`linad.scipy.stats.multivariate`. What is not evaluated has derivative 0, never NaN.
"""

import functools
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import scipy.stats

from linad.arrays.traces import running_trace
from linad.arrays.zero_dim import number
from linad.core.array_type import Array
from linad.errors import UnsupportedError
from linad.rules.shaping import as_array
from linad.scipy.mirror import holds_traced
from linad.scipy.twinforms import traced_method
from linad.scipy.twins import instance_twin


def log_of(p: Array) -> Any:
    """log p; -inf, with derivative 0, where a probability has underflowed to 0."""
    positive = p > 0
    return np.where(positive, np.log(np.where(positive, p, 1.0)), -np.inf)


def log_of_either(p: Array, q: Array) -> Any:
    """log p for p + q = 1, from the smaller of the two."""
    small = p < 0.5
    return np.where(small, log_of(np.where(small, p, 1.0)), np.log1p(-np.where(small, 0.0, q)))


def beyond(function: str, above: Array) -> Any:
    """A probability, or its logarithm, outside of the support: ``above`` it or below."""
    full = above if function in ("cdf", "logcdf") else ~above
    return np.where(full, *((0.0, -np.inf) if function.startswith("log") else (1.0, 0.0)))


def double(x: Array) -> Any:
    """In double precision, as SciPy's distributions calculate."""
    x = as_array(x)
    return x if x.dtype == np.float64 else x.astype(np.float64)


def check_formula(original: Any, name: str) -> None:
    """Refuse moments that SciPy integrates numerically, for want of a formula."""
    if not isinstance(original, (scipy.stats.rv_discrete, scipy.stats.rv_continuous)):
        return  # one of vectors, which has formulas only
    generic = scipy.stats.rv_discrete if hasattr(original, "pmf") else scipy.stats.rv_continuous
    hooks = {"entropy": ("_entropy",), **dict.fromkeys(_MOMENTS, ("_stats", "_munp"))}.get(name)
    if hooks and all(getattr(type(original), h) is getattr(generic, h) for h in hooks):
        raise UnsupportedError(
            f"{original.name}.{name}: SciPy has no formula for it, and it is not traced by linad; "
            f"integrate with linad.scipy.integrate.quad, or add up the probabilities"
        )


_MOMENTS = ("mean", "var", "std", "stats", "moment")


class Distribution:
    """A distribution of scipy.stats whose functions are traced.

    Attributes
    ----------
    shape_names : tuple of str
        Names of the shape parameters.
    variable : str
        Name of what the functions are of.
    functions : tuple of str
        The methods with a traced form.
    moments : tuple of str
        The methods with a traced form that are of the parameters alone.
    frozen_kind : type
        What SciPy makes of it and its parameters.
    """

    frozen_kind: ClassVar[type] = type(scipy.stats.norm())

    shape_names: ClassVar[tuple[str, ...]] = ()
    variable: ClassVar[str] = "x"
    functions: ClassVar[tuple[str, ...]] = ()
    moments: ClassVar[tuple[str, ...]] = ()

    @functools.cached_property
    def formulas(self) -> Any:
        """SciPy's distribution, whose helpers take traced values as well."""
        return instance_twin(self.original)

    def __init__(self, name: str) -> None:
        self.name = name
        self.original = getattr(scipy.stats, name)
        self.__doc__ = self.original.__doc__
        for function in self.functions:
            setattr(self, function, self._method(function))
        for function in self.moments:
            setattr(self, function, self._moment(function))

    def __getattr__(self, name: str) -> Any:
        if name == "original":
            raise AttributeError(name)
        theirs = getattr(self.original, name)
        if not callable(theirs):
            return theirs

        def function(*args: Any, **keywords: Any) -> Any:
            traced = running_trace() is not None and holds_traced((args, keywords))
            if name.startswith("_"):  # what other distributions of SciPy's call
                return (getattr(self.formulas, name) if traced else theirs)(*args, **keywords)
            if name == "stats" and "moments" not in keywords:
                args, keywords = self._with_named_moments(args, keywords)
            if traced and name == "stats" and (parts := self._mean_or_variance(keywords)):
                plain = {k: v for k, v in keywords.items() if k != "moments"}
                found = tuple([getattr(self, part)(*args, **plain) for part in parts])
                return found if len(found) > 1 else found[0]
            if traced:
                check_formula(self.original, name)
            return traced_method(self.original, name)(*args, **keywords)

        function.__name__, function.__doc__ = name, theirs.__doc__
        return function

    def _with_named_moments(
        self, args: tuple[Any, ...], keywords: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of `stats`, with the moments by name where they stand last."""
        count = len(self.parameters())
        if len(args) != count + 1:
            return args, keywords
        return args[:count], {**keywords, "moments": args[count]}

    def _mean_or_variance(self, keywords: dict[str, Any]) -> list[str]:
        """Which of both `stats` is asked for, if for no more, and both have traced forms."""
        asked = keywords.get("moments", "mv")
        known = {"m": "mean", "v": "var"}
        if not set(asked) <= set(known) or not set(known.values()) <= set(self.moments):
            return []
        return [part for letter, part in known.items() if letter in asked]

    def __repr__(self) -> str:
        return f"<linad.scipy.stats.{self.name}>"

    def __call__(self, *args: Any, **keywords: Any) -> "Frozen":
        return Frozen(self, args, keywords)

    def _moment(self, name: str) -> Callable[..., Any]:
        original = getattr(self.original, name)

        def function(*args: Any, **keywords: Any) -> Any:
            if running_trace() is None or not holds_traced((args, keywords)):
                return original(*args, **keywords)
            parameters = self.bind(args, keywords)
            self.check_real(name, parameters)
            return number(self.traced_moment(name, parameters))

        function.__name__, function.__doc__ = name, original.__doc__
        return function

    def _method(self, name: str) -> Callable[..., Any]:
        original = getattr(self.original, name)

        def function(x: Array, *args: Any, **keywords: Any) -> Any:
            if running_trace() is None or not holds_traced((x, args, keywords)):
                return original(x, *args, **keywords)
            parameters = self.bind(args, keywords)
            self.check_real(name, {self.variable: x} | parameters)
            return number(self.traced(name, x, parameters))

        function.__name__, function.__doc__ = name, original.__doc__
        return function

    def parameters(self) -> dict[str, Any]:
        """Names of the parameters, with their defaults."""
        raise NotImplementedError

    def bind(self, args: Any, keywords: dict[str, Any]) -> dict[str, Any]:
        """The parameters by name."""
        defaults = self.parameters()
        given = dict(zip(defaults, args, strict=False))
        unknown = set(keywords) - set(defaults)
        if unknown or len(args) > len(defaults) or set(given) & set(keywords):
            raise TypeError(f"{self.name}: the parameters are {', '.join(defaults)}")
        found = defaults | given | keywords
        missing = [name for name in self.shape_names if found[name] is None]
        if missing:
            raise TypeError(f"{self.name}: {', '.join(missing)} must be given")
        return found

    def traced(self, function: str, x: Any, parameters: dict[str, Any]) -> Any:
        """The function at x, one of x and the parameters being traced."""
        raise NotImplementedError

    def traced_moment(self, function: str, parameters: dict[str, Any]) -> Any:
        """The mean, or another number of the distribution, one of the parameters being traced."""
        raise NotImplementedError

    def check_real(self, function: str, given: dict[str, Any]) -> None:
        """Refuse complex numbers: SciPy takes some, in formulas that are not made for them."""
        for name, value in given.items():
            dtype = None if value is None else as_array(value).dtype
            if dtype is not None and dtype.kind == "c":
                raise UnsupportedError(
                    f"{self.name}.{function}: {name} must be real, not {dtype}; a distribution is "
                    "one of real numbers"
                )

    def refuse(self, function: str, name: str, why: str) -> None:
        raise UnsupportedError(
            f"{self.name}.{function}: the derivative in {name} {why}; pass "
            f"linad.stop_gradient({name}), or a number"
        )


class Frozen:
    """A distribution with its parameters; attributes without traced form are SciPy's."""

    def __init__(self, distribution: Distribution, args: tuple[Any, ...], keywords: Any) -> None:
        self.dist, self.args, self.kwds = distribution, args, keywords

    @property
    def stands_for(self) -> type:
        """The class that SciPy would have made."""
        return self.dist.frozen_kind

    def __getattr__(self, name: str) -> Any:
        if name in ("dist", "args", "kwds"):
            raise AttributeError(name)
        if name in self.dist.functions:
            method = getattr(self.dist, name)
            return lambda x, **more: method(x, *self.args, **self.kwds, **more)
        if name in self.dist.moments:
            method = getattr(self.dist, name)
            return lambda: method(*self.args, **self.kwds)
        traced = running_trace() is not None and holds_traced((self.args, self.kwds))
        original = instance_twin(self.dist.original) if traced else self.dist.original
        return getattr(original(*self.args, **self.kwds), name)

    def __repr__(self) -> str:
        return f"<{self.dist!r} with its parameters>"
