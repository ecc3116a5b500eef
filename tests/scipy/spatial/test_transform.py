"""Rotations of scipy.spatial, traced."""

import itertools

import numpy as np
import pytest
import scipy.spatial.transform

import linad
from linad.scipy.spatial.transform import Rotation
from linad.testing.derivative_checks import check_derivatives

X = np.array([0.3, -0.5, 0.4])


def test_angles_about_all_sequences_of_axes():
    sequences = ["".join(s) for s in itertools.product("xyz", repeat=3) if s[0] != s[1] != s[2]]
    for seq in (*sequences, *map(str.upper, sequences)):

        def f(x, seq=seq):
            return Rotation.from_rotvec(x).as_euler(seq)

        expected = scipy.spatial.transform.Rotation.from_rotvec(X).as_euler(seq)
        np.testing.assert_allclose(linad.linearize(f, X)[0], expected, rtol=1e-13, err_msg=seq)


@pytest.mark.rest
def test_their_derivatives():
    for seq in ("xyz", "YXZ", "zxz", "YZY"):
        check_derivatives(lambda x, seq=seq: Rotation.from_rotvec(x).as_euler(seq), X)
