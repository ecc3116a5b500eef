"""Cases for the rules of scipy.special."""

import numpy as np

from linad.core.primitive import Primitive
from linad.testing.rule_checks import Case


def special_case(name, *args, **check):
    """A case for the primitive of a ufunc.

    Python numbers among ``args`` are parameters without derivative. Single precision is
    checked where SciPy's ufunc has it for these arguments.
    """
    primitive = Primitive.registry[name]
    wrt = [i for i, a in enumerate(args) if isinstance(a, (np.ndarray, np.generic))]
    single = [
        a.astype(np.complex64 if a.dtype.kind == "c" else np.float32) if i in wrt else a
        for i, a in enumerate(args)
    ]
    if "float32" not in check:
        results = primitive.impl(*single)
        result = results[0] if isinstance(results, tuple) else results
        check["float32"] = result.dtype in (np.float32, np.complex64)
    return Case(primitive, *args, check={"wrt": wrt, **check})
