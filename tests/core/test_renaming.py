"""Which globals a function calls, and which it only names."""

import numpy as np

from linad.core.renaming import renamed


def program(x):
    dtype = np.result_type(int, x)
    y = np.zeros(2, dtype=float)
    return float(x) + int(*[3]), dtype, y.dtype, isinstance(x, float), max(x, 2.5, key=float)


def test_what_is_named_as_an_argument_stays():
    """In 3.13 the sign of a call stands behind what is called, just before the next argument."""
    called = []

    def name_for(use):
        if use.called and not use.attributes:
            called.append(use.name)
        return None

    assert renamed(program.__code__, name_for) is program.__code__
    assert sorted(called) == ["float", "int", "isinstance", "max"]


def test_what_is_called_goes_by_the_other_name():
    code = renamed(
        program.__code__, lambda use: "_other" if use.name == "float" and use.called else None
    )
    new = type(program)(code, {**globals(), "_other": lambda x: 10.0 * x})
    assert new(2.0) == (23.0, *program(2.0)[1:])
