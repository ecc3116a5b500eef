"""numpy.polynomial, traced: coefficients, points and roots may be traced values.

The modules have NumPy's names: ``polynomial``, ``chebyshev``, ``legendre``, ``hermite``,
``hermite_e``, ``laguerre``, ``polyutils``. So have the classes, `Polynomial` and its kind, which
are NumPy subclasses. How they are made is told in `linad.numpy.polynomial.rebinding`.
"""

import numpy as np

from linad.core.mirrored_names import mirrored_names
from linad.numpy.polynomial.chebyshev import Chebyshev as Chebyshev
from linad.numpy.polynomial.hermite import Hermite as Hermite
from linad.numpy.polynomial.hermite_e import HermiteE as HermiteE
from linad.numpy.polynomial.laguerre import Laguerre as Laguerre
from linad.numpy.polynomial.legendre import Legendre as Legendre
from linad.numpy.polynomial.polynomial import Polynomial as Polynomial

__getattr__, __dir__ = mirrored_names(np.polynomial, package=__name__, rooms=("polyutils",))
