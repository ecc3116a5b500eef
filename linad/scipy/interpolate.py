"""scipy.interpolate, traced: interpolation on grids, in tables, and by splines.

The classes are SciPy's; made of plain data they are called with traced points, and made of traced
data they are a traced object with the same calls.
"""

import scipy.interpolate

from linad.core.mirrored_names import mirrored_names
from linad.scipy.bernstein import BPoly as BPoly, lagrange as lagrange
from linad.scipy.bsplines import BSpline as BSpline
from linad.scipy.cloughtocher import (
    CloughTocher2DInterpolator as CloughTocher2DInterpolator,
    griddata as griddata,
)
from linad.scipy.fitpack import (
    InterpolatedUnivariateSpline as InterpolatedUnivariateSpline,
    LSQUnivariateSpline as LSQUnivariateSpline,
    UnivariateSpline as UnivariateSpline,
    make_splrep as make_splrep,
    spalde as spalde,
    splev as splev,
    splint as splint,
    splprep as splprep,
    splrep as splrep,
    sproot as sproot,
)
from linad.scipy.interpolatedtables import interp1d as interp1d
from linad.scipy.node_polynomials import (
    BarycentricInterpolator as BarycentricInterpolator,
    KroghInterpolator as KroghInterpolator,
)
from linad.scipy.piecewise import (
    Akima1DInterpolator as Akima1DInterpolator,
    CubicHermiteSpline as CubicHermiteSpline,
    CubicSpline as CubicSpline,
    PchipInterpolator as PchipInterpolator,
)
from linad.scipy.powerpieces import PPoly as PPoly
from linad.scipy.regulargrids import (
    RegularGridInterpolator as RegularGridInterpolator,
    interpn as interpn,
)
from linad.scipy.scattered import (
    LinearNDInterpolator as LinearNDInterpolator,
    NearestNDInterpolator as NearestNDInterpolator,
    RBFInterpolator as RBFInterpolator,
)
from linad.scipy.smoothingsplines import make_smoothing_spline as make_smoothing_spline
from linad.scipy.splinemakers import (
    make_interp_spline as make_interp_spline,
    make_lsq_spline as make_lsq_spline,
)
from linad.scipy.tensorsplines import (
    LSQBivariateSpline as LSQBivariateSpline,
    NdBSpline as NdBSpline,
    RectBivariateSpline as RectBivariateSpline,
    SmoothBivariateSpline as SmoothBivariateSpline,
    bisplev as bisplev,
)
from linad.scipy.twinforms import twins_among

TWINS = (
    *("FloaterHormannInterpolator", "Rbf", "make_splprep", "pade"),
    *("barycentric_interpolate", "krogh_interpolate", "pchip_interpolate", "splantider", "splder"),
)
"""SciPy's own code, run on traced values: see `linad.scipy.twins`."""


__getattr__, __dir__ = mirrored_names(scipy.interpolate, twins_among(scipy.interpolate, TWINS))
