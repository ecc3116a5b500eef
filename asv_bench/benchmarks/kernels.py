"""What the adjoint of a kernel costs, with its value, in units of the value."""

import numpy as np
from numba import njit, prange

import linad

from . import median_seconds


def runge_kutta(theta, n, h):
    a, b, c, d, p, q = theta[0], theta[1], theta[2], theta[3], theta[4], theta[5]
    for _ in range(n):
        a1, b1 = p * (a - b * q), q * (d * p - c)
        p2, q2 = p + h / 2 * a1, q + h / 2 * b1
        a2, b2 = p2 * (a - b * q2), q2 * (d * p2 - c)
        p3, q3 = p + h / 2 * a2, q + h / 2 * b2
        a3, b3 = p3 * (a - b * q3), q3 * (d * p3 - c)
        p4, q4 = p + h * a3, q + h * b3
        a4, b4 = p4 * (a - b * q4), q4 * (d * p4 - c)
        p += h / 6 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
        q += h / 6 * (b1 + 2.0 * b2 + 2.0 * b3 + b4)
    return p * p + q * q


def gauss_seidel(u, f, sweeps, h):
    for _ in range(sweeps):
        for i in range(1, len(u) - 1):
            u[i] = 0.5 * (u[i - 1] + u[i + 1] + h * f[i] - h * u[i] * u[i] * u[i])
    e = 0.0
    for i in range(len(u)):
        e += u[i] * u[i]
    return e


def conjugate_gradients(d, b, tol):
    n = len(b)
    x = np.zeros(n)
    r = b.copy()
    p = b.copy()
    q = np.zeros(n)
    rr = np.dot(r, r)
    while rr > tol:
        pq = 0.0
        for i in range(n):
            t = d[i] * p[i]
            if i > 0:
                t -= p[i - 1]
            if i < n - 1:
                t -= p[i + 1]
            q[i] = t
            pq += t * p[i]
        alpha = rr / pq
        new = 0.0
        for i in range(n):
            x[i] += alpha * p[i]
            r[i] -= alpha * q[i]
            new += r[i] * r[i]
        for i in range(n):
            p[i] = r[i] + new / rr * p[i]
        rr = new
    return np.dot(x, x)


def newton(a):
    e = 0.0
    for i in range(len(a)):
        x = 1.0
        dx = 1.0
        while abs(dx) > 1e-12:
            dx = (x * x * x + x - a[i]) / (3.0 * x * x + 1.0)
            x = x - dx
        e += np.exp(-x) * x
    return e


def newton_shared(a):
    """The same loop over `prange`: its adjoint goes through pieces, which threads can share."""
    e = 0.0
    for i in prange(len(a)):
        x = 1.0
        dx = 1.0
        while abs(dx) > 1e-12:
            dx = (x * x * x + x - a[i]) / (3.0 * x * x + 1.0)
            x = x - dx
        e += np.exp(-x) * x
    return e


def heat(u, r, steps):
    """In place, with a conductivity that depends on the solution."""
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                k = 1.0 + u[i, j] * u[i, j]
                around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
                u[i, j] += r * k * (around - 4.0 * u[i, j])
    return u[1, 1]


def heat_exchanged(u, r, steps):
    """With two arrays that change places."""
    n, m = u.shape
    new = u.copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                k = 1.0 + u[i, j] * u[i, j]
                around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
                new[i, j] = u[i, j] + r * k * (around - 4.0 * u[i, j])
        u, new = new, u
    return u


def reproject(cameras, points, pixels):
    """Where each camera sees its point: rotation after Rodrigues, perspective, distortion."""
    for n in range(pixels.shape[0]):
        a, b, c = cameras[n, 0], cameras[n, 1], cameras[n, 2]
        x, y, z = points[n, 0], points[n, 1], points[n, 2]
        t2 = a * a + b * b + c * c
        t = np.sqrt(t2)
        cos, s, q = np.cos(t), np.sin(t) / t, (1.0 - np.cos(t)) / t2
        along = q * (a * x + b * y + c * z)
        u = cos * x + s * (b * z - c * y) + along * a + cameras[n, 3]
        v = cos * y + s * (c * x - a * z) + along * b + cameras[n, 4]
        w = cos * z + s * (a * y - b * x) + along * c + cameras[n, 5]
        p, r = -u / w, -v / w
        r2 = p * p + r * r
        scale = cameras[n, 6] * (1.0 + r2 * (cameras[n, 7] + cameras[n, 8] * r2))
        pixels[n, 0] = scale * p
        pixels[n, 1] = scale * r


@njit(error_model="numpy")
def blocks_by_hand(cameras, points, pixels, of_camera, of_point):
    """The pixels, and the blocks of their Jacobian of shapes (2, 9) and (2, 3)."""
    for n in range(pixels.shape[0]):
        a, b, c = cameras[n, 0], cameras[n, 1], cameras[n, 2]
        x, y, z = points[n, 0], points[n, 1], points[n, 2]
        f, k1, k2 = cameras[n, 6], cameras[n, 7], cameras[n, 8]
        t2 = a * a + b * b + c * c
        t = np.sqrt(t2)
        cos, sin = np.cos(t), np.sin(t)
        s, q = sin / t, (1.0 - cos) / t2
        ds, dq = (cos - s) / t2, (s - 2.0 * q) / t2
        d = a * x + b * y + c * z
        along = q * d
        cx, cy, cz = b * z - c * y, c * x - a * z, a * y - b * x
        u = cos * x + s * cx + along * a + cameras[n, 3]
        v = cos * y + s * cy + along * b + cameras[n, 4]
        w = cos * z + s * cz + along * c + cameras[n, 5]
        p, r = -u / w, -v / w
        r2 = p * p + r * r
        distortion = 1.0 + r2 * (k1 + k2 * r2)
        scale = f * distortion
        pixels[n, 0] = scale * p
        pixels[n, 1] = scale * r
        # pixels by the point in the frame of the camera
        slope = 2.0 * f * (k1 + 2.0 * k2 * r2)
        pp, pr, rr = scale + slope * p * p, slope * p * r, scale + slope * r * r
        i = -1.0 / w
        g00, g01, g02 = pp * i, pr * i, (pp * p + pr * r) * i
        g10, g11, g12 = pr * i, rr * i, (pr * p + rr * r) * i
        # that point by the point: the rotation
        r00, r01, r02 = cos + q * a * a, q * a * b - s * c, q * a * c + s * b
        r10, r11, r12 = q * a * b + s * c, cos + q * b * b, q * b * c - s * a
        r20, r21, r22 = q * a * c - s * b, q * b * c + s * a, cos + q * c * c
        of_point[n, 0, 0] = g00 * r00 + g01 * r10 + g02 * r20
        of_point[n, 0, 1] = g00 * r01 + g01 * r11 + g02 * r21
        of_point[n, 0, 2] = g00 * r02 + g01 * r12 + g02 * r22
        of_point[n, 1, 0] = g10 * r00 + g11 * r10 + g12 * r20
        of_point[n, 1, 1] = g10 * r01 + g11 * r11 + g12 * r21
        of_point[n, 1, 2] = g10 * r02 + g11 * r12 + g12 * r22
        # that point by the rotation vector: what changes with its length, and with its parts
        lx = -s * x + ds * cx + dq * d * a
        ly = -s * y + ds * cy + dq * d * b
        lz = -s * z + ds * cz + dq * d * c
        for k in range(2):
            g, h, m = (g00, g01, g02) if k == 0 else (g10, g11, g12)
            length = g * lx + h * ly + m * lz
            e = q * (g * a + h * b + m * c)
            of_camera[n, k, 0] = length * a + e * x + along * g + s * (m * y - h * z)
            of_camera[n, k, 1] = length * b + e * y + along * h + s * (g * z - m * x)
            of_camera[n, k, 2] = length * c + e * z + along * m + s * (h * x - g * y)
            of_camera[n, k, 3] = g
            of_camera[n, k, 4] = h
            of_camera[n, k, 5] = m
            o = p if k == 0 else r
            of_camera[n, k, 6] = distortion * o
            of_camera[n, k, 7] = f * r2 * o
            of_camera[n, k, 8] = f * r2 * r2 * o


RNG = np.random.default_rng(0)
THETA = np.array([0.55, 0.028, 0.8, 0.024, 30.0, 4.0])

KERNELS = {
    "rk4": (runge_kutta, (THETA, 1000, 0.01), ("theta",)),
    "gauss_seidel": (gauss_seidel, (RNG.random(200), RNG.random(200), 50, 0.1), ("u", "f")),
    "cg": (conjugate_gradients, (2.5 + RNG.random(200), RNG.random(200), 1e-20), ("d", "b")),
    "newton": (newton, (1 + RNG.random(1000),), ("a",)),
    "newton_shared": (newton_shared, (1 + RNG.random(1000),), ("a",)),
    "heat": (heat, (RNG.random((50, 50)), 0.05, 1000), ("u",)),
    "heat_exchanged": (heat_exchanged, (RNG.random((50, 50)), 0.05, 200), ("u",)),
}
CHECKPOINTS = {"heat": 32}


class Adjoint:
    params = list(KERNELS)
    param_names = ["kernel"]
    unit = "ratio"

    def setup(self, name):
        function, self.arguments, active = KERNELS[name]
        self.plain = njit(error_model="numpy")(function)
        kernel = linad.kernel(checkpoints=CHECKPOINTS.get(name, 0))(function)
        made = kernel.specialized(self.arguments)
        self.adjoint = made.call.adjoint(active)
        self.results = made.slot_arrays(self.arguments)
        values = dict(zip(made.parameters, self.arguments, strict=True))
        self.bars = [values[a] for a in active]

    def fresh(self):
        return [a.copy() if isinstance(a, np.ndarray) else a for a in self.arguments]

    def value(self):
        self.plain(*self.fresh())

    def pull(self):
        bars = [np.zeros_like(b) for b in self.bars]
        seeds = [np.ones_like(r) for r in self.results]
        self.adjoint.call_with_scratch([*self.fresh(), *self.results, *bars, *seeds])

    def track_adjoint_over_value(self, name):
        pull, value = median_seconds(self.pull, self.value)
        return pull / value


class JacobianBlocks:
    """Of bundle adjustment: two seeds for each observation, against blocks written by hand."""

    unit = "ratio"
    observations = 2000

    def setup(self):
        n = self.observations
        self.cameras = 0.1 * RNG.standard_normal((n, 9))
        self.cameras[:, 5] -= 10.0
        self.cameras[:, 6] += 500.0
        self.points = RNG.standard_normal((n, 3))
        self.pixels = np.zeros((n, 2))
        call = linad.kernel(reproject).specialized(self.inputs()).call
        self.adjoint = call.adjoint_for_seeds(("cameras", "points"))
        self.bars = [np.zeros((2, n, k)) for k in (9, 3, 2)]
        self.blocks = [np.zeros((n, 2, k)) for k in (9, 3)]
        self.linad()
        self.by_hand()
        for ours, theirs in zip(self.bars, self.blocks, strict=False):
            np.testing.assert_allclose(ours.swapaxes(0, 1), theirs, rtol=1e-9, atol=1e-9)

    def inputs(self):
        return self.cameras, self.points, self.pixels

    def linad(self):
        for bar in self.bars:
            bar[...] = 0.0
        for k in range(2):
            self.bars[-1][k, :, k] = 1.0
        self.adjoint.call_with_scratch([*self.inputs(), *self.bars])

    def by_hand(self):
        blocks_by_hand(*self.inputs(), *self.blocks)

    def track_blocks_over_those_by_hand(self):
        ours, theirs = median_seconds(self.linad, self.by_hand)
        return ours / theirs

    track_blocks_over_those_by_hand.unit = "ratio"
