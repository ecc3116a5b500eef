"""scipy.spatial with traced values: distances, neighbours, hulls, triangulations, rotations."""

import scipy.spatial

from linad.core.mirrored_names import mirrored_names
from linad.scipy.spatial.arcs import geometric_slerp as geometric_slerp
from linad.scipy.spatial.minkowski import (
    minkowski_distance as minkowski_distance,
    minkowski_distance_p as minkowski_distance_p,
)
from linad.scipy.spatial.trees import KDTree as KDTree, cKDTree as cKDTree
from linad.scipy.spatial.triangulations import (
    ConvexHull as ConvexHull,
    Delaunay as Delaunay,
    HalfspaceIntersection as HalfspaceIntersection,
    Voronoi as Voronoi,
)
from linad.scipy.twinforms import twins_among

TWINS = ("Rectangle", "distance_matrix", "procrustes")
"""SciPy's own code, run on traced values: see `linad.scipy.twins`."""


__getattr__, __dir__ = mirrored_names(
    scipy.spatial,
    twins_among(scipy.spatial, TWINS),
    package=__name__,
    rooms=("distance", "transform"),
)
