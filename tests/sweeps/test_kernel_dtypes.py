"""Names of dtypes that kernels know."""

import numpy as np

from linad.sweeps.kernel_dtypes import NAMES, name_of_dtype


def test_names():
    for name in NAMES:
        assert name_of_dtype(np.dtype(name)) == name
    assert name_of_dtype(bool) == "b1"
    assert name_of_dtype(np.complex64) == "c8"


def test_others_have_none():
    for dtype in ("u8", "i2", "f2", "O", "U3", "M8[s]", np.dtype(float).newbyteorder()):
        assert name_of_dtype(dtype) is None
