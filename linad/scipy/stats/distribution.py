"""How a distribution of scipy.stats is traced.

    z = (x - loc) / scale      pdf(x) = f(z) / scale      cdf(x) = F(z)

A distribution gives log f, F and its kin on its support, in traced functions; this module puts
what SciPy says outside of it: 0, 1, -inf, and NaN for parameters that make no distribution. What
is not evaluated has derivative 0, never NaN. Far out in the tails some logarithms are closer than
SciPy's, which are -inf where the probability underflows, or NaN at infinity.
"""

import functools
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import scipy.stats

from linad.arrays.traces import running_trace
from linad.arrays.zero_dim import number
from linad.core.array_type import Array
from linad.core.primitive import Traced
from linad.errors import UnsupportedError
from linad.rules.shaping import as_array, still
from linad.scipy.mirror import holds_traced
from linad.scipy.plain_results import by_scipy
from linad.scipy.stats.endquantiles import at_ends
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


class Continuous(Distribution):
    """A distribution with a density.

    A subclass says on the standard variable z what `logpdf`, `cdf`, ... are; its methods are
    named ``_logpdf``, ``_cdf``, ``_sf``, ``_logcdf`` and ``_logsf``, and see interior points only.
    """

    functions = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")
    moments = ("mean", "var", "std", "median", "entropy")
    span: ClassVar[tuple[float, float]] = (-np.inf, np.inf)
    inside: ClassVar[float] = 0.0  # a point of the support
    # About loc, where the density may have a kink, a zero or a pole: no place for Newton's method.
    symmetric: bool = False

    def parameters(self) -> dict[str, Any]:
        return dict.fromkeys(self.shape_names) | {"loc": 0.0, "scale": 1.0}

    def _ends(self, *shapes: Any) -> tuple[Any, Any]:
        """Where the support begins and ends; the shapes are plain."""
        return self.span

    def moving_ends(self, *shapes: Any) -> tuple[Any, Any]:
        """Where the support begins and ends; the shapes may be traced."""
        return self._ends(*shapes)

    def _standard_point(self, *shapes: Any) -> Any:
        """A point of the support; the shapes are plain."""
        return self.inside

    def traced_moment(self, function: str, parameters: dict[str, Any]) -> Any:
        if function == "median" and not self.symmetric:
            return self.traced("ppf", 0.5, parameters)
        loc, scale = double(parameters["loc"]), double(parameters["scale"])
        shapes = [double(parameters[name]) for name in self.shape_names]
        valid = (scale > 0) & self._valid(*shapes) & ~np.isnan(still(loc))
        shapes = [np.where(valid, s, 1.0) for s in shapes]
        scale = np.where(valid, scale, 1.0)
        if function == "entropy":
            y = self._entropy(*shapes) + np.log(scale)
        else:
            mean, variance = self._mean_and_variance(*shapes)
            if function in ("mean", "median"):
                y = loc + scale * mean
            else:
                y = scale * scale * variance if function == "var" else scale * np.sqrt(variance)
        return np.where(valid, y, np.nan)

    def _mean_and_variance(self, *shapes: Any) -> tuple[Any, Any]:
        """Of the standard variable: as SciPy's class has them, by moments about 0 or directly."""
        theirs, generic = type(self.original), scipy.stats.rv_continuous
        if theirs._stats is not generic._stats:
            mean, variance = self.formulas._stats(*shapes)[:2]
            if mean is not None and variance is not None:
                return mean, variance
        if theirs._munp is not generic._munp:
            mean = self.formulas._munp(1, *shapes)
            finite = np.isfinite(mean)
            square = np.where(finite, mean, 0.0) ** 2
            return mean, np.where(finite, self.formulas._munp(2, *shapes) - square, mean)
        raise UnsupportedError(
            f"{self.name}: its moments, which SciPy has no formula for, are not traced by linad; "
            f"integrate the density with linad.scipy.integrate.quad"
        )

    def _entropy(self, *shapes: Any) -> Any:
        """Of the standard variable, as SciPy's class has it."""
        if type(self.original)._entropy is scipy.stats.rv_continuous._entropy:
            raise UnsupportedError(
                f"{self.name}.entropy: SciPy has no formula for it, and it is not traced by linad; "
                f"integrate -p log(p) with linad.scipy.integrate.quad"
            )
        return self.formulas._entropy(*shapes)

    def _quantile(self, function: str, q: Array, parameters: dict[str, Any]) -> Any:
        """The x where F(x) = q, or 1 - F(x) = q, which is SciPy's.

        Its derivative is that of Newton's method there, x - (F(x) - q) / f(x): a step has the
        first, the next one all up to the third, see `linad.scipy.implicit_solutions`.
        """
        lower = function == "ppf"
        q = double(q)
        plain = {name: still(double(value)) for name, value in parameters.items()}
        theirs = getattr(self.original, function)
        found = by_scipy(theirs, q, *plain.values(), of=tuple(plain))
        known = np.isfinite(found) & (still(q) > 0) & (still(q) < 1)
        steady = [plain[name] for name in self.shape_names]
        valid = self._valid(*steady)
        point = self._standard_point(*[np.where(valid, s, 1.0) for s in steady])
        x: Any = np.where(known, found, plain["loc"] + plain["scale"] * point)
        for _ in range(2):
            with np.errstate(all="ignore"):  # of what comes out it is told below
                slope = self.traced("pdf", x, parameters)
            if np.any(known & ((still(slope) == 0) | ~np.isfinite(still(slope)))):
                raise UnsupportedError(
                    f"{self.name}.{function}: where the density is 0 or infinite a quantile has no "
                    f"derivative; pass linad.stop_gradient of q and of the parameters"
                )
            gap = self.traced("cdf" if lower else "sf", x, parameters) - np.where(known, q, 0.5)
            x = x - (gap if lower else -gap) / slope
        y = np.where(known, found + (x - still(x)), found)
        at_end = np.isfinite(found) & ((still(q) == 0) | (still(q) == 1))
        if not np.any(at_end):
            return y
        shapes = [double(parameters[name]) for name in self.shape_names]
        loc, scale = double(parameters["loc"]), double(parameters["scale"])
        x = at_ends(self, lower, q, shapes, loc, scale, at_end)
        return np.where(at_end, found + (x - still(x)), y)

    def traced(self, function: str, x: Array, parameters: dict[str, Any]) -> Any:
        if function in ("ppf", "isf"):
            return self._quantile(function, x, parameters)
        density = function in ("pdf", "logpdf")
        x, loc, scale = (double(v) for v in (x, parameters["loc"], parameters["scale"]))
        shapes = [double(parameters[name]) for name in self.shape_names]
        valid = (scale > 0) & self._valid(*shapes)
        shapes = [np.where(valid, s, 1.0) for s in shapes]
        scale = np.where(valid, scale, 1.0)
        plain = (still(x) - still(loc)) / still(scale)
        steady = [still(s) for s in shapes]
        low, high = self._ends(*steady)
        within = (low < plain) & (plain < high)
        if density:
            end = (plain == low) | (plain == high)
            within = within | (end & self._counts_at_end(plain, *steady))
            outside = self._outside_density(end & ~within, plain, *steady)
        # An infinite x, though masked out later, would have the derivative inf times 0.
        z = np.where(
            within, (np.where(within, x, 0.0) - loc) / scale, self._standard_point(*steady)
        )
        if density:
            y = np.where(within, self._logpdf(z, *shapes) - np.log(scale), outside)
            y = np.exp(y) if function == "pdf" else y
        else:
            y = getattr(self, "_" + function)(z, *shapes)
            y = np.where(within, y, self._outside(function, plain >= high))
        return np.where(valid & ~np.isnan(plain), y, np.nan)

    def _outside_density(self, end: Any, z: Array, *shapes: Any) -> Any:
        """The logarithm -inf, and inf at an end of the support where the density has a pole."""
        if not np.any(end):
            return -np.inf
        theirs = by_scipy(self.original.logpdf, np.where(end, z, self.inside), *shapes)
        return np.where(end & (theirs == np.inf), np.inf, -np.inf)

    @staticmethod
    def _outside(function: str, above: Array) -> Any:
        full = above if function in ("cdf", "logcdf") else ~above
        return np.where(full, *((0.0, -np.inf) if function.startswith("log") else (1.0, 0.0)))

    def _valid(self, *shapes: Any) -> Any:
        valid = np.True_
        for shape in shapes:
            valid = valid & (shape > 0)
        return valid

    def _counts_at_end(self, z: Array, *shapes: Any) -> Any:
        """Whether the density at an end of the support is the formula's, and not 0."""
        return np.isfinite(z)

    def _logpdf(self, z: Any, *shapes: Any) -> Any:
        raise NotImplementedError

    def _cdf(self, z: Any, *shapes: Any) -> Any:
        raise NotImplementedError

    def _sf(self, z: Any, *shapes: Any) -> Any:
        raise NotImplementedError

    def _logcdf(self, z: Array, *shapes: Any) -> Any:
        return log_of_either(self._cdf(z, *shapes), self._sf(z, *shapes))

    def _logsf(self, z: Array, *shapes: Any) -> Any:
        return log_of_either(self._sf(z, *shapes), self._cdf(z, *shapes))


class Discrete(Distribution):
    """A distribution of counts: traced in its parameters, not in the count.

    A subclass says what ``_logpmf``, ``_pmf``, ``_cdf`` and ``_sf`` are at counts of the support.
    """

    variable = "k"
    frozen_kind = type(scipy.stats.poisson(1.0))
    functions = ("pmf", "logpmf", "cdf", "logcdf", "sf", "logsf")
    first: ClassVar[int] = 0  # the smallest count

    def parameters(self) -> dict[str, Any]:
        return dict.fromkeys(self.shape_names) | {"loc": 0}

    def traced(self, function: str, x: Array, parameters: dict[str, Any]) -> Any:
        for name, value in ((self.variable, x), ("loc", parameters["loc"])):
            if isinstance(value, Traced):
                self.refuse(function, name, "does not exist: counts are integers")
        k = double(x) - double(parameters["loc"])
        shapes = [double(parameters[name]) for name in self.shape_names]
        valid = self._valid(*shapes)
        shapes = [np.where(valid, s, 1.0) for s in shapes]
        last = self._last(*shapes)
        known = valid & ~np.isnan(k)
        if function.endswith("pmf"):
            within = (k >= self.first) & (k <= last) & (np.floor(k) == k) & np.isfinite(k)
            y = getattr(self, "_" + function)(np.where(within, k, self.first), *shapes)
            outside: Any = -np.inf if function == "logpmf" else 0.0
        else:
            within, above = (k >= self.first) & (k < last), k >= last
            counts = np.floor(np.where(within, k, self.first))
            upper = function in ("sf", "logsf")
            p, q = self._cdf(counts, *shapes), self._sf(counts, *shapes)
            p, q = (q, p) if upper else (p, q)
            y = log_of_either(p, q) if function.startswith("log") else p
            outside = Continuous._outside(function, above)
        return np.where(known, np.where(within, y, outside), np.nan)

    def _valid(self, *shapes: Any) -> Any:
        raise NotImplementedError

    def _last(self, *shapes: Any) -> Any:
        """The largest count."""
        return np.inf

    def _logpmf(self, k: Any, *shapes: Any) -> Any:
        raise NotImplementedError

    def _pmf(self, k: Any, *shapes: Any) -> Any:
        return np.exp(self._logpmf(k, *shapes))

    def _cdf(self, k: Any, *shapes: Any) -> Any:
        raise NotImplementedError

    def _sf(self, k: Any, *shapes: Any) -> Any:
        raise NotImplementedError
