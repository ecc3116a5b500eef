"""Values of SciPy's own functions, to which a formula gives the derivative.

Where a program is recorded they are asked for at each of its runs.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.core.primitive import Primitive
from linad.rules.shaping import still


def by_scipy(
    function: Callable[..., Any], *arrays: Any, of: tuple[str, ...] = (), **options: Any
) -> Any:
    """What a function gives, as a constant.

    Parameters
    ----------
    function : callable
        Of plain arrays.
    *arrays
        Traced or plain.
    of : tuple of str
        Names of the last ones among them, which it takes by name.
    **options
        Its plain options.
    """
    return plain_result(*[still(x) for x in arrays], function=function, of=of, options=options)


def _plain_result(
    *arrays: Any, function: Callable[..., Any], of: tuple[str, ...], options: Any
) -> Any:
    first = len(arrays) - len(of)
    named = dict(zip(of, arrays[first:], strict=True))
    return np.asarray(function(*arrays[:first], **named, **options))


plain_result = Primitive("plain_result", _plain_result, constant=True, register=False)
plain_result.__module__ = __name__
