"""SciPy with traced forms of what it cannot dispatch: ``from linad.scipy import linalg``.

SciPy turns its arguments into plain arrays, except where it calls NumPy's ufuncs. The modules
here are SciPy's own, but for the functions that have a traced form; these call SciPy for plain
arguments, and return exactly what it returns.
"""

import importlib
import importlib.util
from typing import Any

from linad.core.mirrored_names import public_names

ROOMS = [
    *(
        "cluster",
        "constants",
        "fft",
        "fftpack",
        "integrate",
        "interpolate",
        "linalg",
        "ndimage",
        "optimize",
        "signal",
        "sparse",
    ),
    *("spatial", "special", "stats"),
]
"""The modules of SciPy that have traced forms, imported when they are first asked for."""

INNER_ROOMS = [
    *("cluster.vq", "linalg.blas", "linalg.lapack", "signal.windows", "sparse.csgraph"),
    *("sparse.linalg", "spatial.distance", "spatial.transform", "stats.qmc"),
]
"""Modules inside of those."""


def __getattr__(name: str) -> Any:
    if importlib.util.find_spec(f"{__name__}.{name}") is not None:
        return importlib.import_module(f"{__name__}.{name}")
    import scipy

    return getattr(scipy, name)


def __dir__() -> list[str]:
    import scipy

    return sorted({*ROOMS, *public_names(scipy)})
