"""What the oldest releases that linad accepts do otherwise than those it is developed with."""

import numpy as np
import pytest
import scipy

OLD_NUMPY = np.lib.NumpyVersion(np.__version__) < "2.4.0"
OLD_SCIPY = np.lib.NumpyVersion(scipy.__version__) < "1.17.0"

newer_numpy = pytest.mark.skipif(OLD_NUMPY, reason="older NumPy takes and refuses other values")
newer_scipy = pytest.mark.skipif(OLD_SCIPY, reason="older SciPy does not do this")
