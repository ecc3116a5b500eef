"""numpy.polynomial, traced: coefficients, points and roots may be traced values.

The modules have NumPy's names: ``polynomial``, ``chebyshev``, ``legendre``, ``hermite``,
``hermite_e``, ``laguerre``, ``polyutils``. So have the classes, `Polynomial` and its kind, which
are subclasses of NumPy's. How they are made is told in `linad.numpy.polynomial.rebinding`.
"""

import importlib
from typing import Any

import numpy as np

from linad.core.frames import public_names
from linad.numpy.polynomial.chebyshev import Chebyshev as Chebyshev
from linad.numpy.polynomial.hermite import Hermite as Hermite
from linad.numpy.polynomial.hermite_e import HermiteE as HermiteE
from linad.numpy.polynomial.laguerre import Laguerre as Laguerre
from linad.numpy.polynomial.legendre import Legendre as Legendre
from linad.numpy.polynomial.polynomial import Polynomial as Polynomial


def __getattr__(name: str) -> Any:
    if name == "polyutils":
        return importlib.import_module("linad.numpy.polynomial.polyutils")
    return getattr(np.polynomial, name)


def __dir__() -> list[str]:
    return public_names(np.polynomial)
