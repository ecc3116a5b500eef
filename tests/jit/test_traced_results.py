"""What counts as traced of a traced value is."""

import itertools

import numpy as np
import scipy.special

from linad.core.primitive import Traced
from linad.jit import traced_results
from linad.transforms.record import RecordTrace


def recorded(f, *arrays):
    """What a function gives of traced values; None where it raises."""
    trace = RecordTrace()
    try:
        with trace:
            return f(*[trace.input(a) for a in arrays])
    except Exception:  # whatever it refuses
        return None


def test_what_counts_as_traced_is():
    """The proof that an array meets traced values alone holds for what these really give."""
    ufuncs = {u for m in (np, scipy.special) for u in vars(m).values() if isinstance(u, np.ufunc)}
    calls = [(u, u.nin) for u in ufuncs if traced_results.gives_one(u)]
    calls += [(f, n) for f in traced_results.GIVING for n in (1, 2, 3)]
    calls += [(lambda x, k=k: getattr(x, k)(), 1) for k in traced_results.METHODS - {"dot"}]
    calls += [(lambda x, k=k: getattr(x, k), 1) for k in traced_results.OF_ARRAYS]
    calls += [(lambda x, k=k: x[k], 1) for k in (0, slice(0), ..., [], None)]
    wrong = set()
    with np.errstate(all="ignore"):
        for shape, dtype in itertools.product([(), (3,), (0,), (2, 2)], ["f8", "c16", "i8", "b1"]):
            x = np.ones(shape, dtype)
            for f, n in calls:
                found = recorded(f, *[x] * n)
                parts = found if isinstance(found, tuple) else (found,)
                if not all(part is None or isinstance(part, Traced) for part in parts):
                    wrong.add(getattr(f, "__name__", f))
    assert not wrong
