"""What an option may be, said once where a function is defined, and checked at its door.

@takes(xtol=TOLERANCE.optional, maxiter=COUNT)
def newton(f, x0, *, xtol=None, maxiter=50): ...
"""

import difflib
import functools
import inspect
import math
import numbers
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np

from linad.core.array_type import Array
from linad.core.folding import fold
from linad.core.shapes import NOT_CALLED
from linad.core.showing import shown
from linad.errors import OptionError, TracerError

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Kind:
    """What an option may be.

    Attributes
    ----------
    words : str
        As it ends the sentence "rtol must be ...".
    fits : callable
        Whether a value may stand there.
    told : callable
        What is wrong with one that may not, by its name, as it ends that sentence.
    """

    words: str
    fits: Callable[[Any], bool]
    told: Callable[[str, Any], str] = lambda option, value: ""

    @property
    def optional(self) -> "Kind":
        """The same, or None."""
        return Kind(
            f"{self.words}, or None", lambda value: value is None or self.fits(value), self.told
        )

    def check(self, name: str, option: str, value: Any) -> None:
        """Raise OptionError unless ``value`` may be what ``option`` of the function ``name`` is."""
        try:
            fits = self.fits(value)
        except TracerError:
            raise TracerError(
                f"{name}: {option} is traced, and its derivative would be lost; pass "
                f"linad.stop_gradient({option}) where none is meant"
            ) from None
        if not fits:
            raise OptionError(
                f"{name}: {option} must be {self.words}, got {shown(value)}"
                f"{self.told(option, value)}"
            )


def args_of(args: Any) -> tuple[Any, ...]:
    """SciPy's ``args``: a tuple, or one argument that is not a tuple."""
    return args if isinstance(args, tuple) else (args,)


def args_for(name: str, args: Any) -> tuple[Any, ...]:
    """The same for ``linad.solve.<name>``, which takes no derivative in its place.

    Raises
    ------
    OptionError
        For a function alone.
    """
    if callable(args):
        raise OptionError(
            f"{name}: args must be a tuple of further arguments of f, got {shown(args)}; leave a "
            f"derivative out, linad differentiates f, and hand a function on as args=(g,)"
        )
    return args_of(args)


def is_integer(value: Any) -> bool:
    """Whether it is an integer, and not a bool."""
    return isinstance(value, numbers.Integral) and not isinstance(value, (bool, np.bool_))


def is_number(value: Array) -> bool:
    """Whether it is a real number, 0-d arrays included, and neither a bool nor NaN."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        return False
    return not math.isnan(value)


def count(least: int) -> Kind:
    """An integer that is not smaller."""
    return Kind(f"an integer >= {least}", lambda value: is_integer(value) and value >= least)


def choice(*names: str | None) -> Kind:
    """One of some texts, or None where that is one of them."""
    words = ", ".join(map(repr, names[:-1]))
    return Kind(
        f"{words} or {names[-1]!r}" if words else repr(names[-1]),
        lambda value: (value is None or isinstance(value, str)) and value in names,
    )


def _is_seed(value: Any) -> bool:
    generators = (np.random.Generator, np.random.BitGenerator, np.random.SeedSequence)
    return isinstance(value, generators) or (is_integer(value) and value >= 0)


def _is_dtype(value: Any) -> bool:
    if value is None:
        return False
    try:
        return np.dtype(value).kind in "fc"
    except (TypeError, ValueError):
        return False


def _are_integers(value: Any) -> bool:
    return is_integer(value) or (
        isinstance(value, (tuple, list, range)) and all(map(is_integer, value))
    )


def _are_names(value: Any) -> bool:
    return isinstance(value, str) or (
        isinstance(value, (tuple, list, set, frozenset))
        and all(isinstance(name, str) for name in value)
    )


COUNT = count(0)
POSITIVE_COUNT = count(1)
TOLERANCE = Kind("a finite number >= 0", lambda value: is_number(value) and 0 <= value < math.inf)
POSITIVE = Kind("a number > 0", lambda value: is_number(value) and value > 0)
NUMBER = Kind("a finite number", lambda value: is_number(value) and math.isfinite(value))
FLAG = Kind(
    "True or False",
    lambda value: isinstance(value, (bool, np.bool_)) or (is_integer(value) and value in (0, 1)),
)
_NO_FUNCTION = {
    **dict.fromkeys(("f", "r", "fun"), NOT_CALLED),
    "A": "; that of a matrix M is lambda x: M @ x, and linad.solve_linear(M, b) solves with it",
}
FUNCTION = Kind(
    "a function", callable, lambda option, value: _NO_FUNCTION.get(option, "")
)
TEXT = Kind("a text", lambda value: isinstance(value, str))
SEED = Kind("a numpy.random.Generator or an integer >= 0", _is_seed).optional
DTYPE = Kind("a floating or complex dtype", _is_dtype)
POSITIONS = Kind("an integer or a sequence of integers", _are_integers)
NAMES = Kind("a name or a sequence of names", _are_names)
FORMAT = choice("csr", "csc", "coo", "bsr", "dia", "dok", "lil")
SIGN = Kind("1 or -1", lambda value: is_number(value) and value in (1, -1))


INSTEAD = {
    "args": "bind them, lambda x: f(x, *args)",
    "kwargs": "bind them, lambda x: f(x, **kwargs)",
    "jac": "leave it out, linad differentiates the function",
    "fprime": "leave it out, linad differentiates the function",
    "hess": "leave it out, linad differentiates the function",
    "hessp": "leave it out, linad differentiates the function",
    "options": "each is a keyword of its own, **options",
    "method": "leave it out: fits are by Levenberg-Marquardt, bounds or not, minima by Newton's "
    "method in a trust region; linad.solve.lbfgs, newton_cg and others are functions of their own",
    **dict.fromkeys(("maxfev", "max_nfev"), "maxiter limits the steps"),
    "missing": "nan_policy='omit' leaves out the points of curve_fit that are NaN",
    "nan_policy": "leave out what is missing, seen = np.isfinite(y), or give it weights=0",
    "sigma": "divide the residuals by it",
    "weights": "multiply the residuals by them",
    **dict.fromkeys(("yerr", "xerr"), "divide residuals by their standard deviations"),
    "full_output": "leave it out: the result has all of it",
    "verbose": "disp=True prints a line a step",
    "x_scale": "leave it out: unknowns are scaled by their columns",
}
"""What to do about options that SciPy's functions of the same purpose have."""

_MEANT = [
    (
        "sigma",
        "yerr err error errors dy sigma_y uncertainty uncertainties stddev std",
        "standard deviations of ydata are sigma",
    ),
    ("absolute_sigma", "sigma", f"{INSTEAD['sigma']}; absolute_sigma=True where it is known"),
    ("p0", "xerr", "errors in x are unknowns of their own: linad.solve.fit takes any residuals"),
    (
        "p0",
        "sigma weights yerr err error errors sigma_y absolute_sigma",
        "how well data are known is in the likelihood: let it read that, args=(t, y, sigma)",
    ),
    ("p0", "x0 start guess initial init params", "the start is p0"),
    (
        "fixed",
        "vary fix hold held frozen freeze constant",
        "parameters that stay are fixed: names, or a dict of values",
    ),
    (
        "bounds",
        "lb ub min max lower upper limits bound",
        "bounds are (lower, upper), or by name {'a': (0, None)}",
    ),
    ("axes", "figsize fig figure size", "axes are made with plt.subplots(2, 1, figsize=(8, 6))"),
    (
        "axes",
        "filename fname file filepath path save savefig show dpi",
        "what it returns is axes: axes[0].figure.savefig('fit.png'), plt.show()",
    ),
    (
        "axes",
        "log logx logy loglog xscale yscale xlim ylim",
        "what it returns is axes, which have that: axes[0].set_xscale('log')",
    ),
    (
        "axes",
        "label color colors colour marker markersize ms fmt linestyle ls linewidth lw alpha style",
        (
            "what it returns is axes, whose lines have that: axes[0].lines[-1].set(color='black') "
            "is the model, axes[0].containers[0][0] are the data"
        ),
    ),
]
"""An option of some functions, names that others have for it, and what is said of them there."""


def _unknown(label: str, name: str, parameters: Mapping[str, inspect.Parameter]) -> str:
    """What to say of an option that a function does not have."""
    given = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL
    named = {n: p for n, p in parameters.items() if p.kind not in given}
    near = difflib.get_close_matches(name, named, 1)
    meant = [hint for option, others, hint in _MEANT if option in named and name in others.split()]
    words = meant[0] if meant else INSTEAD.get(name, f"{near[0]}?" if near else "")
    hint = f"; {words}" if words else ""
    names = [n for n, p in named.items() if p.default is not p.empty or p.kind is p.KEYWORD_ONLY]
    return f"{label}: expected options among {', '.join(names)}, got {name!r}{hint}"


def check_names(label: str, given: Iterable[str], *functions: Callable[..., Any]) -> None:
    """Raise OptionError where options that are handed on are none of the functions'."""
    parameters = [pair for f in functions for pair in inspect.signature(f).parameters.items()]
    options = {n: p for n, p in parameters if p.default is not p.empty and n != "args"}
    for name in given:
        if name not in options:
            raise OptionError(_unknown(label, name, options))


def _by_place(parameters: Mapping[str, inspect.Parameter]) -> float:
    """How many arguments a function takes by their places."""
    kinds = [p.kind for p in parameters.values()]
    if inspect.Parameter.VAR_POSITIONAL in kinds:
        return float("inf")
    return sum(kind is not inspect.Parameter.KEYWORD_ONLY for kind in kinds) - (
        inspect.Parameter.VAR_KEYWORD in kinds
    )


def _too_many(label: str, came: int, parameters: Mapping[str, inspect.Parameter]) -> str:
    """What to say where more arguments come by their places than a function takes so."""
    apart = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD
    places = [name for name, p in parameters.items() if p.kind not in apart and name != "self"]
    named = [name for name, p in parameters.items() if p.kind is inspect.Parameter.KEYWORD_ONLY]
    came -= "self" in parameters
    hint = "; linad.solve.curve_fit(f, xdata, ydata, p0) takes data" if label == "fit" else ""
    if not hint and named:
        hint = f"; options are given by name, {named[0]}=..."
    return f"{label}({', '.join(places)}) was given {came} arguments by their places{hint}"


def takes(**kinds: Kind) -> Callable[[Function], Function]:
    """Check the options of a function, or method, whenever it is called.

    Parameters
    ----------
    **kinds : Kind
        Of its parameters, by their names. Options that are left out are not looked at.

    Raises
    ------
    OptionError
        Also for options that the function does not have, unless it hands all of them on.
    """

    def decorate(function: Function) -> Function:
        parameters = inspect.signature(function).parameters
        places = [(k, name) for k, name in enumerate(parameters) if name in kinds]
        places = [
            (k, name)
            for k, name in places
            if parameters[name].kind is not inspect.Parameter.KEYWORD_ONLY
        ]
        label, most = function.__name__, _by_place(parameters)
        takes_any = any([p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()])

        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            for name, value in kwargs.items():
                if name in kinds:
                    kinds[name].check(label, name, value)
                elif name not in parameters and not takes_any:
                    raise OptionError(_unknown(label, name, parameters))
            for k, name in places:
                if k < len(args):
                    kinds[name].check(label, name, args[k])
            if len(args) > most:
                raise TypeError(_too_many(label, len(args), parameters))
            try:
                return function(*args, **kwargs)
            except Exception as error:
                __tracebackhide__ = fold(error)
                raise

        checked.__options__ = kinds  # type: ignore[attr-defined]  # the tests sweep over them
        return cast(Function, checked)

    return decorate
