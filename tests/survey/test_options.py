"""Wrong options of every function of NumPy and SciPy that linad traces: never taken in part.

The names are those of the table, the options those of the signatures. With a traced argument each
gets values of wrong kinds. What comes back must be an error of linad's own, or of the kind that
NumPy raises for plain numbers, or the plain result: no error from inside, and no result
where the plain function has none.
"""

import inspect

import pytest

from linad.errors import InternalError, LinadError
from survey import table as survey
from survey.table import plain_call, traced_call

INSIDE = (AttributeError, LookupError, UnboundLocalError, AssertionError, NotImplementedError)
ORDINARY = (TypeError, ValueError)


def wrong_values():
    return [None, "x", -1, 2.5, [], float("nan"), object()]


def options(function):
    """The names of the options that a function says it has."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a function in C that tells no signature
        return []
    kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    return [p.name for p in parameters if p.kind in kinds and p.default is not p.empty]


def with_option(function, option, value):
    """A function that is called with one more option; TypeError if it is given already."""

    def call(*args, **kwargs):
        return function(*args, **kwargs, **{option: value})

    return call


def outcome(run):
    try:
        return run()
    except Exception as error:  # whatever it is, it is judged
        return error


def judged(plain, traced):
    """What is wrong with the outcome of a traced call, or None."""
    if isinstance(traced, LinadError):
        return "an internal error" if isinstance(traced, InternalError) else None
    if isinstance(traced, Exception):
        if isinstance(traced, INSIDE) and not isinstance(traced, type(plain)):
            return f"{type(traced).__name__} from inside: {traced}"
        return (
            None if isinstance(traced, ORDINARY) or isinstance(plain, Exception) else repr(traced)
        )
    if isinstance(plain, Exception):
        return f"a result, where plainly {plain!r}"
    same = len(plain) == len(traced) and all(map(survey._same, traced, plain))
    return None if same else "another result"


KNOWN = {
    ("numpy.require", "requirements"),  # a name that NumPy does not know, of a copy that is made
    ("numpy.geomspace", "dtype"),  # one without fields
    # SciPy stumbles over axes that count from the end; linad takes them.
    *(
        (f"scipy.ndimage.{name}_filter", "axes")
        for name in ("median", "percentile", "rank", "generic")
    ),
    # With NaN, or none at all, these of SciPy's own have no end.
    ("scipy.optimize.dual_annealing", "initial_temp"),
    ("scipy.optimize.least_squares", "max_nfev"),
    ("scipy.optimize.shgo", "iters"),
}
"""What is not asked."""


def wrong(entry, option):
    for value in wrong_values():
        function = with_option(entry.function, option, value)
        plain = outcome(lambda f=function: plain_call(entry.calls[0], f))
        if isinstance(plain, TypeError) and "multiple values" in str(plain):
            return
        traced = outcome(lambda f=function: traced_call(entry.calls[0], f).values)
        found = judged(plain, traced)
        if found is not None:
            yield f"{entry.name}({option}={value!r}): {found}"


TITLES = [
    *("numpy", "numpy.linalg", "numpy.fft", "Other modules of NumPy", "linad.numpy.polynomial"),
    *("Ufuncs of NumPy", "Methods of ufuncs", "Ufuncs of scipy.special"),
    *("linad.scipy", "linad.scipy by SciPy's own code"),
]


@pytest.fixture(scope="module")
def entries():
    return survey.entries() | survey.twin_entries()


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("title", TITLES)
def test_wrong_options(title, entries):
    asked = [
        (entry, option)
        for entry in entries[title]
        for option in options(entry.function)
        if (entry.name, option) not in KNOWN
    ]
    assert len(asked) > 20
    assert [text for case in asked for text in wrong(*case)] == []
