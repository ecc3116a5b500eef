"""Rotations of scipy.spatial, traced."""

import itertools

import numpy as np
import pytest
import scipy.spatial.transform as theirs

import linad
import linad.scipy.spatial.transform as lt
from linad.errors import TracerError, UnsupportedError
from linad.scipy.spatial.transform import Rotation
from linad.testing.derivative_checks import check_derivatives

X = np.array([0.3, -0.5, 0.4])


def test_angles_about_all_sequences_of_axes():
    sequences = ["".join(s) for s in itertools.product("xyz", repeat=3) if s[0] != s[1] != s[2]]
    for seq in (*sequences, *map(str.upper, sequences)):

        def f(x, seq=seq):
            return Rotation.from_rotvec(x).as_euler(seq)

        expected = theirs.Rotation.from_rotvec(X).as_euler(seq)
        np.testing.assert_allclose(linad.linearize(f, X)[0], expected, rtol=1e-13, err_msg=seq)


@pytest.mark.rest
def test_their_derivatives():
    for seq in ("xyz", "YXZ", "zxz", "YZY"):
        check_derivatives(lambda x, seq=seq: Rotation.from_rotvec(x).as_euler(seq), X)


@pytest.mark.skipif(
    not hasattr(theirs.Rotation.__pow__, "__code__"),
    reason="rotations of this SciPy are compiled, and show nobody what they compare",
)
@pytest.mark.parametrize("n", [-1.0, 0.0, 1.0, 2.0])
def test_powers_of_plain_rotations(n):
    """SciPy takes powers -1, 0 and 1 apart, where the exponent would have no derivative."""

    def power(n):
        return (theirs.Rotation.from_rotvec(X) ** n).as_rotvec()

    def written(n):
        return Rotation.from_rotvec(n * X).as_rotvec()

    for f in (power, linad.jit(power)):
        with pytest.raises(
            TracerError, match=r"power .* write .*Rotation\.from_rotvec\(n \* r\.as"
        ):
            linad.jvp(f, (n,), (1.0,))
    np.testing.assert_allclose(power(n), written(n), atol=1e-15)
    np.testing.assert_allclose(linad.jvp(written, (n,), (1.0,))[1], X)


SEEN = np.random.default_rng(4).standard_normal((6, 3))
TURNED = theirs.Rotation.from_rotvec([0.3, -1.1, 0.4]).apply(SEEN)
MEASURED = TURNED + 0.1 * np.random.default_rng(5).standard_normal((6, 3))
WEIGHTS = np.linspace(1.0, 2.0, 6)


@pytest.mark.rest
@pytest.mark.parametrize("weighted", [False, True], ids=["alike", "weighted"])
def test_the_rotation_that_aligns_vectors(weighted):
    def aligned(m, a, b, w):
        best, distance = m.Rotation.align_vectors(a, b, w if weighted else None)
        return best.as_quat(), distance

    def ours(*arrays):
        return aligned(lt, *arrays)

    known = aligned(theirs, MEASURED, SEEN, WEIGHTS)
    for mine, their in zip(linad.linearize(ours, MEASURED, SEEN, WEIGHTS)[0], known, strict=True):
        np.testing.assert_allclose(mine, their, rtol=1e-14, atol=1e-15)
    check_derivatives(ours, MEASURED, SEEN, WEIGHTS)


def test_alignment_of_equal_spreads():
    """Singular values that are equal are no matter, as long as the rotation is determined."""
    J = linad.linearize(
        lambda a: lt.Rotation.align_vectors(a, np.eye(3))[0].as_rotvec(), np.eye(3)
    )[1]
    turn = np.array([0.2, -0.3, 0.5])
    np.testing.assert_allclose(J.pushforward(np.cross(turn, np.eye(3))), turn, atol=1e-12)


@pytest.mark.parametrize(
    "align",
    [
        lambda a: lt.Rotation.align_vectors(a[0], SEEN[0]),
        lambda a: lt.Rotation.align_vectors(a, SEEN, return_sensitivity=True),
        lambda a: lt.Rotation.align_vectors(a, SEEN, [np.inf, 1, 1, 1, 1, 1]),
    ],
    ids=["one", "sensitivity", "infinity"],
)
def test_alignments_that_are_not_traced(align):
    with pytest.raises(UnsupportedError, match="align_vectors: return_sensitivity=True, a single"):
        linad.jacobian(lambda a: align(a)[0].as_quat())(MEASURED)
