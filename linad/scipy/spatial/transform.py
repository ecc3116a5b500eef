"""scipy.spatial.transform.Rotation of traced quaternions, matrices, angles and vectors.

A traced rotation is its unit quaternion q = (v, w), the scalar last:

    rotate    R x = x + 2 v × (v × x + w x)
    compose   p q = (w_p v_q + w_q v_p + v_p × v_q,  w_p w_q - v_p · v_q)
    rotvec    q = (sin(θ/2)/θ · r, cos(θ/2)), θ = |r|

Source: J. Diebel, "Representing Attitude: Euler Angles, Unit Quaternions, and Rotation Vectors",
2006.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.spatial.transform as theirs

from linad.core.array_type import Array
from linad.core.mirrored_names import mirrored_names
from linad.errors import ShapeError, UnsupportedError
from linad.rules.creation import asarray
from linad.scipy.implicit_solutions import plain, root_of_vector, with_derivative
from linad.scipy.mirror import check_real, doubled, holds_traced
from linad.scipy.twinforms import twins_among

__getattr__, __dir__ = mirrored_names(theirs, twins_among(theirs, ("Slerp",)))


def _length(x: Any) -> Any:
    return np.sqrt(np.sum(x * x, -1, keepdims=True))


def _safe(t2: Array, small: Array, series: Callable[..., Any], closed: Callable[..., Any]) -> Any:
    """A function of t^2 by its series near zero, where the closed form has no derivative."""
    t = np.sqrt(np.where(small, 1.0, t2))
    return np.where(small, series(t2), closed(t))


def _product(p: Any, q: Any) -> Any:
    pv, pw, qv, qw = p[..., :3], p[..., 3:], q[..., :3], q[..., 3:]
    vector = pw * qv + qw * pv + np.cross(pv, qv)
    return np.concatenate([vector, pw * qw - np.sum(pv * qv, -1, keepdims=True)], -1)


def _of_rotvec(r: Array) -> Any:
    t2 = np.sum(r * r, -1, keepdims=True)
    small = plain(t2) < 1e-3

    def over_angle(t: Array) -> Any:
        return np.sin(t / 2) / t

    share = _safe(t2, small, lambda s: 0.5 - s / 48 + s**2 / 3840 - s**3 / 645120, over_angle)
    scalar = _safe(
        *(t2, small, lambda s: 1 - s / 8 + s**2 / 384 - s**3 / 46080, lambda t: np.cos(t / 2))
    )
    return np.concatenate([share * r, scalar], -1)


def _nearest_rotation(m: Any) -> Any:
    """The rotation nearest to a matrix, by Newton and Schulz's iteration."""
    three = 3 * np.eye(3)
    steps = 0
    while steps < 60:
        now = plain(m)
        apart = np.max(np.abs(np.swapaxes(now, -1, -2) @ now - np.eye(3)), initial=0.0)
        if apart < 1e-9:
            break
        if apart > 1:
            m = m / np.sqrt(np.sum(m * m, (-1, -2), keepdims=True) / 3)
        m = m @ (three - np.swapaxes(m, -1, -2) @ m) / 2
        steps += 1
    for _ in range(2):  # each step doubles the order of the derivative
        m = m @ (three - np.swapaxes(m, -1, -2) @ m) / 2
    return m


def _of_matrix(m: Any) -> Any:
    m = _nearest_rotation(m)
    if m.ndim > 2:
        rows = [_of_matrix(part) for part in m]
        return np.stack(rows) if rows else np.zeros((*m.shape[:-2], 4))
    trace = m[0, 0] + m[1, 1] + m[2, 2]
    i = int(np.argmax([*plain(np.stack([m[0, 0], m[1, 1], m[2, 2]])), plain(trace)]))
    if i == 3:
        q = [m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1], 1 + trace]
    else:
        j, k = (i + 1) % 3, (i + 2) % 3
        parts = {i: 1 - trace + 2 * m[i, i], j: m[j, i] + m[i, j], k: m[k, i] + m[i, k]}
        q = [parts[0], parts[1], parts[2], m[k, j] - m[j, k]]
    made = np.stack(q)
    return made / _length(made)


_EVEN = {(0, 1, 2), (1, 2, 0), (2, 0, 1)}


def _axes(seq: str) -> tuple[list[int], bool]:
    intrinsic = seq.isupper()
    if not seq or len(seq) > 3 or not (intrinsic or seq.islower()) or {*seq.lower()} - {*"xyz"}:
        raise ValueError(f"Expected axes from ['x', 'y', 'z'] or ['X', 'Y', 'Z'], got {seq}")
    return ["xyz".index(c) for c in seq.lower()], intrinsic


def _real(name: str, x: Any) -> Any:
    """Real numbers in double precision, as SciPy computes rotations in no others."""
    check_real("Rotation", **{name: x})
    return doubled(x)


class TracedRotation:
    """A rotation, or a stack of them, with a traced quaternion."""

    __array_ufunc__ = None
    holds_traced = True
    stands_for = theirs.Rotation

    def __init__(self, quat: Array) -> None:
        self._quat = quat

    @property
    def single(self) -> bool:
        """Whether it is one rotation, and no stack."""
        return bool(self._quat.ndim == 1)

    def __len__(self) -> int:
        if self.single:
            raise TypeError("Single rotation has no len().")
        return int(self._quat.shape[0])

    def __getitem__(self, index: Any) -> "TracedRotation":
        if self.single:
            raise TypeError("Single rotation is not subscriptable.")
        return TracedRotation(self._quat[index])

    def as_quat(self, canonical: bool = False, *, scalar_first: bool = False) -> Any:
        """As `scipy.spatial.transform.Rotation.as_quat`."""
        q = self._quat
        if canonical:
            q = q * np.where(plain(q)[..., 3:] < 0, -1.0, 1.0)
        return np.roll(q, 1, -1) if scalar_first else q

    def as_matrix(self) -> Any:
        """As `scipy.spatial.transform.Rotation.as_matrix`."""
        columns = [self.apply(e) for e in np.eye(3)]
        return np.stack(columns, -1)

    def as_rotvec(self, degrees: bool = False) -> Any:
        """As `scipy.spatial.transform.Rotation.as_rotvec`."""
        q = self.as_quat(canonical=True)
        v, w = q[..., :3], q[..., 3:]
        s2 = np.sum(v * v, -1, keepdims=True)
        small = plain(s2) < 1e-6
        share = _safe(
            *(s2, small, lambda s: 2 + s / 3 + 3 * s**2 / 20, lambda s: 2 * np.arctan2(s, w) / s)
        )
        return np.degrees(share * v) if degrees else share * v

    def as_euler(self, seq: str, degrees: bool = False, **kwargs: Any) -> Any:
        """As `scipy.spatial.transform.Rotation.as_euler`."""
        axes, intrinsic = _axes(seq)
        if len(axes) != 3:
            raise ValueError(f"Expected 3 axes, got {seq}.")
        i, j, k = axes if intrinsic else axes[::-1]
        m = self.as_matrix()
        if i != k:
            s = 1.0 if (i, j, k) in _EVEN else -1.0
            angles = [
                np.arctan2(-s * m[..., j, k], m[..., k, k]),
                np.arcsin(s * m[..., i, k]),
                np.arctan2(-s * m[..., i, j], m[..., i, i]),
            ]
        else:
            n = 3 - i - j
            s = 1.0 if (i, j, n) in _EVEN else -1.0
            angles = [
                np.arctan2(m[..., j, i], -s * m[..., n, i]),
                np.arccos(m[..., i, i]),
                np.arctan2(m[..., i, j], s * m[..., i, n]),
            ]
        made = np.stack(angles if intrinsic else angles[::-1], -1)
        return np.degrees(made) if degrees else made

    def as_mrp(self) -> Any:
        """As `scipy.spatial.transform.Rotation.as_mrp`."""
        q = self.as_quat(canonical=True)
        return q[..., :3] / (1 + q[..., 3:])

    def magnitude(self) -> Any:
        """The angle of the rotation, in radians."""
        q = self._quat
        return 2 * np.arctan2(_length(q[..., :3])[..., 0], np.abs(q[..., 3]))

    def approx_equal(self, other: Any, atol: Any = None, degrees: bool = False) -> Any:
        """As `scipy.spatial.transform.Rotation.approx_equal`, of the plain values."""
        mine, others = (theirs.Rotation.from_quat(plain(r.as_quat())) for r in (self, other))
        return mine.approx_equal(others, atol, degrees)

    def mean(self, weights: Any = None) -> "TracedRotation":
        """As `scipy.spatial.transform.Rotation.mean`: the first eigenvector of Σ w q q^T."""
        q = np.atleast_2d(self._quat)
        w = np.ones(q.shape[0]) if weights is None else _real("weights", weights)
        if np.any(plain(w) < 0):
            raise ValueError("`weights` must be non-negative.")
        return TracedRotation(np.linalg.eigh((w * q.T) @ q)[1][:, -1])

    def apply(self, vectors: Any, inverse: bool = False) -> Any:
        """As `scipy.spatial.transform.Rotation.apply`."""
        q = self.inv()._quat if inverse else self._quat
        x = _real("vectors", vectors)
        v, w = q[..., :3], q[..., 3:]
        if x.ndim < v.ndim:
            x = np.broadcast_to(x, v.shape)
        elif v.ndim < x.ndim:
            v, w = np.broadcast_to(v, x.shape), np.broadcast_to(w, (*x.shape[:-1], 1))
        return x + 2 * np.cross(v, np.cross(v, x) + w * x)

    def inv(self) -> "TracedRotation":
        """The inverse rotation."""
        return TracedRotation(self._quat * np.array([-1.0, -1.0, -1.0, 1.0]))

    def __mul__(self, other: Any) -> "TracedRotation":
        return TracedRotation(_product(self._quat, asarray(other.as_quat())))

    def __rmul__(self, other: Any) -> "TracedRotation":
        return TracedRotation(_product(asarray(other.as_quat()), self._quat))

    def __pow__(self, n: float, modulus: Any = None) -> "TracedRotation":
        return TracedRotation(_of_rotvec(n * self.as_rotvec()))


class _Either(type):
    """The type of `Rotation`: SciPy's rotations are instances, and traced ones."""

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, (theirs.Rotation, TracedRotation))

    def __getattr__(cls, name: str) -> Any:
        return getattr(theirs.Rotation, name)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if not holds_traced((args, kwargs)):
            return theirs.Rotation(*args, **kwargs)
        return cls.from_quat(*args, **kwargs)  # type: ignore[attr-defined]


class Rotation(metaclass=_Either):
    """As `scipy.spatial.transform.Rotation`, of values that may be traced."""

    @staticmethod
    def of_plain(rotation: Any) -> TracedRotation:
        """A rotation of SciPy's as one that turns traced vectors."""
        return TracedRotation(rotation.as_quat())

    @staticmethod
    def from_quat(quat: Any, *, scalar_first: bool = False) -> Any:
        """As `scipy.spatial.transform.Rotation.from_quat`."""
        if not holds_traced(quat):
            return theirs.Rotation.from_quat(quat, scalar_first=scalar_first)
        q = _real("quat", quat)
        if q.shape[-1:] != (4,):
            raise ShapeError(f"from_quat: expected four numbers each, got shape {q.shape}")
        length = _length(q)
        if np.any(length == 0):
            raise ValueError("from_quat: a quaternion of norm 0")
        q = q / length
        return TracedRotation(np.roll(q, -1, -1) if scalar_first else q)

    @staticmethod
    def from_matrix(matrix: Any, **kwargs: Any) -> Any:
        """As `scipy.spatial.transform.Rotation.from_matrix`."""
        if not holds_traced(matrix):
            return theirs.Rotation.from_matrix(matrix, **kwargs)
        m = _real("matrix", matrix)
        if m.ndim < 2 or m.shape[-2:] != (3, 3):
            raise ShapeError(f"from_matrix: expected matrices (3, 3), got shape {m.shape}")
        if np.any(np.linalg.det(m) <= 0):
            raise ValueError("from_matrix: a matrix whose determinant is not positive")
        return TracedRotation(_of_matrix(m))

    @staticmethod
    def from_rotvec(rotvec: Array, degrees: bool = False) -> Any:
        """As `scipy.spatial.transform.Rotation.from_rotvec`."""
        if not holds_traced(rotvec):
            return theirs.Rotation.from_rotvec(rotvec, degrees)
        r = _real("rotvec", rotvec)
        return TracedRotation(_of_rotvec(np.radians(r) if degrees else r))

    @staticmethod
    def from_mrp(mrp: Any) -> Any:
        """As `scipy.spatial.transform.Rotation.from_mrp`."""
        if not holds_traced(mrp):
            return theirs.Rotation.from_mrp(mrp)
        p = _real("mrp", mrp)
        s = np.sum(p * p, -1, keepdims=True)
        return TracedRotation(np.concatenate([2 * p, 1 - s], -1) / (1 + s))

    @staticmethod
    def from_euler(seq: str, angles: Any, degrees: bool = False) -> Any:
        """As `scipy.spatial.transform.Rotation.from_euler`."""
        if not holds_traced(angles):
            return theirs.Rotation.from_euler(seq, angles, degrees)
        axes, intrinsic = _axes(seq)
        a = _real("angles", angles)
        a = np.radians(a) if degrees else a
        if len(axes) == 1:
            a = a[..., None] if a.ndim == 0 or a.shape[-1] != 1 or a.ndim == 1 else a
            if np.ndim(plain(asarray(angles))) == 0:
                a = a.reshape(1)
        if a.shape[-1] != len(axes):
            raise ShapeError(f"from_euler: expected {len(axes)} angles each, got shape {a.shape}")
        total = None
        for k, axis in enumerate(axes):
            q = _of_rotvec(a[..., k, None] * np.eye(3)[axis])
            if total is None:
                total = q
            else:
                total = _product(total, q) if intrinsic else _product(q, total)
        return TracedRotation(total)

    @staticmethod
    def concatenate(rotations: Any) -> Any:
        """As `scipy.spatial.transform.Rotation.concatenate`."""
        if not holds_traced(list(rotations)):
            return theirs.Rotation.concatenate(rotations)
        return TracedRotation(np.concatenate([np.atleast_2d(r.as_quat()) for r in rotations]))

    @staticmethod
    def align_vectors(a: Any, b: Any, weights: Any = None, return_sensitivity: bool = False) -> Any:
        """As `scipy.spatial.transform.Rotation.align_vectors`: it is SciPy's, and moves.

        Of B = Σ w a b^T the best rotation R makes R^T B symmetric, which three numbers, those of a
        turn after R, see to. G. Wahba, SIAM Review 7, 1965; F. Markley, "Attitude determination
        using vector observations and the singular value decomposition", 1988.
        """
        if not holds_traced((a, b, weights)):
            return theirs.Rotation.align_vectors(a, b, weights, return_sensitivity)
        a, b = (np.atleast_2d(_real(name, v)) for name, v in (("a", a), ("b", b)))
        w = np.ones(a.shape[0]) if weights is None else _real("weights", weights)
        if return_sensitivity or a.shape[0] < 2 or np.any(np.isinf(plain(w))):
            raise UnsupportedError(
                "Rotation.align_vectors: return_sensitivity=True, a single vector and weights of "
                "infinity are not traced by linad; pass two vectors or more, of finite weights"
            )
        found, distance = theirs.Rotation.align_vectors(plain(a), plain(b), plain(w))
        seen = found.as_matrix().T @ ((w[:, None] * a).T @ b)

        def twist(turn: Any) -> Any:
            M = TracedRotation(_of_rotvec(-turn)).as_matrix() @ seen
            skew = M - M.T
            return np.stack([skew[2, 1], skew[0, 2], skew[1, 0]])

        turn = root_of_vector("Rotation.align_vectors", twist, np.zeros(3))
        best = TracedRotation(_product(asarray(found.as_quat()), _of_rotvec(turn)))
        apart = np.sqrt(w)[:, None] * (a - best.apply(b))
        return best, with_derivative(np.float64(distance), np.sqrt(np.sum(apart**2)))
