"""Rotations of scipy.spatial, traced."""

import itertools

import numpy as np
import pytest
import scipy.spatial.transform

import linad
from linad.errors import TracerError
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


@pytest.mark.skipif(
    not hasattr(scipy.spatial.transform.Rotation.__pow__, "__code__"),
    reason="rotations of this SciPy are compiled, and show nobody what they compare",
)
@pytest.mark.parametrize("n", [-1.0, 0.0, 1.0, 2.0])
def test_powers_of_plain_rotations(n):
    """SciPy takes powers -1, 0 and 1 apart, where the exponent would have no derivative."""

    def power(n):
        return (scipy.spatial.transform.Rotation.from_rotvec(X) ** n).as_rotvec()

    def written(n):
        return Rotation.from_rotvec(n * X).as_rotvec()

    for f in (power, linad.jit(power)):
        with pytest.raises(
            TracerError, match=r"power .* write .*Rotation\.from_rotvec\(n \* r\.as"
        ):
            linad.jvp(f, (n,), (1.0,))
    np.testing.assert_allclose(power(n), written(n), atol=1e-15)
    np.testing.assert_allclose(linad.jvp(written, (n,), (1.0,))[1], X)
