"""The vector functions of glibc."""

import ctypes
import platform

import pytest

from linad.sweeps.cpu import vector_math as vecmath


@pytest.mark.parametrize("bits", [32, 64])
def test_vector_functions_are_found_where_there_are_any(bits):
    try:
        ctypes.CDLL(vecmath.VECTOR_LIBRARY)
        known = platform.machine() == "x86_64"
    except OSError:
        known = False
    assert vecmath.libraries_loaded() is known
    found = vecmath.vector_variants("sin" if bits == 64 else "sinf", bits, 1)
    assert bool(found) is known
    assert all(symbol.startswith("_ZGV") for _, symbol in found)
