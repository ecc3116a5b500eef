"""The objectives of ADBench and GradBench: a Gaussian mixture, bundle adjustment, an LSTM.

Source: F. Srajer, Z. Kukelova, A. Fitzgibbon, "A benchmark of selected algorithmic
differentiation tools on some problems in computer vision and machine learning", 2018.
Sizes are those of its data sets (gmm d10 k25, ba1, lstm l2 c1024); the data are random.
"""

import math

import numpy as np
from scipy.special import multigammaln

from .limit import cos, exp, limit, sin, tanh
from .workload import Family, Workload

# Gaussian mixture: weights, means, and for each component the logarithms of the diagonal and
# the entries below it of the triangular square root of an inverse covariance matrix.


DIMENSION, COMPONENTS = 10, 25
WISHART = -0.5 * DIMENSION * (DIMENSION + 1) * math.log(2) - float(
    multigammaln(0.5 * (DIMENSION + 1), DIMENSION)
)


def _below(d):
    """Where the entry (i, j) of a triangle stands in its packed columns; else one past the end."""
    place = np.full((d, d), d * (d - 1) // 2)
    place.T[np.triu_indices(d, 1)] = np.arange(d * (d - 1) // 2)
    return place


def gmm(alphas, means, icf, x, numpy=np):
    """The log posterior of a mixture, with a Wishart prior (gamma = 1, m = 0)."""
    d, k = DIMENSION, COMPONENTS
    logs, low = icf[:, :d], icf[:, d:]
    diagonal = numpy.exp(logs)
    padded = numpy.concatenate([low, np.zeros((k, 1))], axis=1)
    Q = padded[:, _below(d)] + diagonal[:, :, None] * numpy.eye(d)
    z = (x[None, :, :] - means[:, None, :]) @ numpy.swapaxes(Q, 1, 2)
    sums = numpy.sum(logs, axis=1)
    terms = (alphas + sums)[:, None] - 0.5 * numpy.sum(z * z, axis=2)
    m = numpy.max(terms, axis=0)
    mixture = numpy.sum(m + numpy.log(numpy.sum(numpy.exp(terms - m), axis=0)))
    top = numpy.max(alphas)
    weights = top + numpy.log(numpy.sum(numpy.exp(alphas - top)))
    prior = 0.5 * (numpy.sum(diagonal * diagonal) + numpy.sum(low * low))
    n = x.shape[0]
    return mixture - n * (weights + 0.5 * d * math.log(2 * math.pi)) + prior - k * WISHART


TILE = 128
"""Rows that the loops by hand take at a time, side by side in memory."""


@limit
def gmm_gradient(alphas, means, icf, x, over_a, over_m, over_i):
    """With all Q_c below each other: z = Q x - Q m and dQ = (p z) (x - m)^T are one GEMM each."""
    n, d = x.shape
    k = means.shape[0]
    Q, over_Q, offsets = np.zeros((k * d, d)), np.zeros((k * d, d)), np.zeros(k * d)
    sums, totals, part = np.empty(k), np.zeros(k * d), np.empty((k * d, d))
    over_a[:] = 0.0
    for c in range(k):
        sums[c] = alphas[c] + np.sum(icf[c, :d])
        at = d
        for j in range(d):
            Q[c * d + j, j] = np.exp(icf[c, j])
            for r in range(j + 1, d):
                Q[c * d + r, j] = icf[c, at]
                at += 1
            for r in range(j, d):
                offsets[c * d + r] += Q[c * d + r, j] * means[c, j]
    m = min(TILE, n)
    z, terms, top, total = np.empty((k * d, m)), np.empty((k, m)), np.empty(m), np.empty(m)
    for start in range(0, n, TILE):
        if n - start < m:
            m = n - start
            z = np.empty((k * d, m))
        rows = x[start : start + m]
        np.dot(Q, rows.T, z)
        top[:] = -np.inf
        for c in range(k):
            for t in range(m):
                s = 0.0
                for j in range(d):
                    z[c * d + j, t] -= offsets[c * d + j]
                    s += z[c * d + j, t] * z[c * d + j, t]
                terms[c, t] = sums[c] - 0.5 * s
                top[t] = max(top[t], terms[c, t])
        total[:] = 0.0
        for c in range(k):
            for t in range(m):
                terms[c, t] = exp(terms[c, t] - top[t])
                total[t] += terms[c, t]
        for t in range(m):
            total[t] = 1.0 / total[t]
        for c in range(k):
            shares = 0.0
            for t in range(m):
                terms[c, t] *= total[t]
                shares += terms[c, t]
            over_a[c] += shares
            for j in range(d):
                s = 0.0
                for t in range(m):
                    z[c * d + j, t] *= terms[c, t]
                    s += z[c * d + j, t]
                totals[c * d + j] += s
        np.dot(z, rows, part)
        over_Q += part
    shares = np.exp(alphas - np.max(alphas))
    shares /= np.sum(shares)
    for c in range(k):
        at = d
        for j in range(d):
            s, q = 0.0, Q[c * d + j, j]
            for r in range(j, d):
                s += Q[c * d + r, j] * totals[c * d + r]
            over_m[c, j] = s
            along = over_Q[c * d + j, j] - totals[c * d + j] * means[c, j]
            over_i[c, j] = over_a[c] + q * q - along * q
            for r in range(j + 1, d):
                along = over_Q[c * d + r, j] - totals[c * d + r] * means[c, j]
                over_i[c, at] = icf[c, at] - along
                at += 1
        over_a[c] -= n * shares[c]


def _gmm_arguments(n):
    def make(rng):
        d, k = DIMENSION, COMPONENTS
        return (
            rng.standard_normal(k),
            rng.standard_normal((k, d)),
            0.3 * rng.standard_normal((k, d * (d + 1) // 2)),
            rng.standard_normal((n, d)),
        )

    return make


# Bundle adjustment: a camera is a rotation vector, a centre, a focal length, a principal point
# and two numbers for radial distortion. One row an observation: camera (11), point (3), weight.


def reprojection(rows, feature, numpy=np):
    """The weighted error of each observation: (p, 15) -> (p, 2)."""
    r, centre, f, x0, kappa = rows[:, :3], rows[:, 3:6], rows[:, 6:7], rows[:, 7:9], rows[:, 9:11]
    X, w = rows[:, 11:14], rows[:, 14:15]
    X = X - centre
    squared = numpy.sum(r * r, axis=1, keepdims=True)
    theta = numpy.sqrt(squared)
    c, s = numpy.cos(theta), numpy.sin(theta)
    axis = r / theta
    inner = numpy.sum(axis * X, axis=1, keepdims=True)
    a0, a1, a2 = axis[:, 0], axis[:, 1], axis[:, 2]
    b0, b1, b2 = X[:, 0], X[:, 1], X[:, 2]
    outer = numpy.stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], axis=1)
    X = X * c + outer * s + axis * inner * (1.0 - c)
    image = X[:, :2] / X[:, 2:3]
    q = numpy.sum(image * image, axis=1, keepdims=True)
    image = image * (1.0 + q * (kappa[:, :1] + q * kappa[:, 1:2]))
    return w * (f * image + x0 - feature)


@limit
def reprojection_blocks(rows, feature, seeds, out):
    """Both rows of each observation's 2 x 15 block, by hand."""
    count = rows.shape[0]
    v, g = np.empty((15, TILE)), np.zeros((2, 15, TILE))
    for start in range(0, count, TILE):
        m = min(TILE, count - start)
        for j in range(15):
            for t in range(m):
                v[j, t] = rows[start + t, j]
        for t in range(m):
            r0, r1, r2 = v[0, t], v[1, t], v[2, t]
            theta = np.sqrt(r0 * r0 + r1 * r1 + r2 * r2)
            c, s = cos(theta), sin(theta)
            a0, a1, a2 = r0 / theta, r1 / theta, r2 / theta
            b0, b1, b2 = v[11, t] - v[3, t], v[12, t] - v[4, t], v[13, t] - v[5, t]
            inner = a0 * b0 + a1 * b1 + a2 * b2
            o0, o1, o2 = a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0
            along_axis = inner * (1.0 - c)
            X0, X1, X2 = (
                b0 * c + o0 * s + a0 * along_axis,
                b1 * c + o1 * s + a1 * along_axis,
                b2 * c + o2 * s + a2 * along_axis,
            )
            i0, i1 = X0 / X2, X1 / X2
            q = i0 * i0 + i1 * i1
            k1, k2 = v[9, t], v[10, t]
            D = 1.0 + q * (k1 + q * k2)
            f, w = v[6, t], v[14, t]
            for e in range(2):
                image = i0 if e == 0 else i1
                g[e, 14, t] = f * image * D + v[7 + e, t] - feature[start + t, e]
                g[e, 6, t] = w * image * D
                g[e, 7 + e, t] = w
                wf = w * f
                g[e, 9, t], g[e, 10, t] = wf * image * q, wf * image * q * q
                over_q = wf * image * (k1 + 2.0 * q * k2)
                g0, g1 = 2.0 * i0 * over_q, 2.0 * i1 * over_q
                if e == 0:
                    g0 += wf * D
                else:
                    g1 += wf * D
                G0, G1 = g0 / X2, g1 / X2
                G2 = -(g0 * i0 + g1 * i1) / X2
                # X = b c + (a x b) s + a (a.b) (1 - c)
                Ga = G0 * a0 + G1 * a1 + G2 * a2
                u = Ga * (1.0 - c)
                B0 = G0 * c + (G1 * a2 - G2 * a1) * s + u * a0
                B1 = G1 * c + (G2 * a0 - G0 * a2) * s + u * a1
                B2 = G2 * c + (G0 * a1 - G1 * a0) * s + u * a2
                A0 = (b1 * G2 - b2 * G1) * s + along_axis * G0 + u * b0
                A1 = (b2 * G0 - b0 * G2) * s + along_axis * G1 + u * b1
                A2 = (b0 * G1 - b1 * G0) * s + along_axis * G2 + u * b2
                along = -s * (G0 * b0 + G1 * b1 + G2 * b2 - Ga * inner)
                along += c * (G0 * o0 + G1 * o1 + G2 * o2)
                Aa = (A0 * a0 + A1 * a1 + A2 * a2) / theta
                g[e, 0, t] = A0 / theta + (along - Aa) * a0
                g[e, 1, t] = A1 / theta + (along - Aa) * a1
                g[e, 2, t] = A2 / theta + (along - Aa) * a2
                g[e, 3, t], g[e, 4, t], g[e, 5, t] = -B0, -B1, -B2
                g[e, 11, t], g[e, 12, t], g[e, 13, t] = B0, B1, B2
        for e in range(2):
            for t in range(m):
                for j in range(15):
                    out[e, start + t, j] = g[e, j, t]


def _observations(rng):
    p = 31_843
    rows = rng.standard_normal((p, 15))
    rows[:, 13] += 10.0
    return rows, rng.standard_normal((p, 2))


# LSTM: two layers whose gates act entry by entry, over a sequence of one-hot letters of 14 bits.


def _sigmoid(x, numpy):
    return 1.0 / (1.0 + numpy.exp(-x))


def _lstm_layer(weight, bias, hidden, cell, given, numpy):
    b = len(hidden)
    forget = _sigmoid(given * weight[:b] + bias[:b], numpy)
    ingate = _sigmoid(hidden * weight[b : 2 * b] + bias[b : 2 * b], numpy)
    outgate = _sigmoid(given * weight[2 * b : 3 * b] + bias[2 * b : 3 * b], numpy)
    change = numpy.tanh(hidden * weight[3 * b :] + bias[3 * b :])
    cell = cell * forget + ingate * change
    return outgate * numpy.tanh(cell), cell


def _lstm_step(main, extra, state, given, numpy):
    """The prediction after one letter, and the new state: hidden, cell, hidden, cell."""
    x = given * extra[0]
    new = []
    for layer in range(2):
        hidden, cell = state[2 * layer : 2 * layer + 2]
        hidden, cell = _lstm_layer(main[2 * layer], main[2 * layer + 1], hidden, cell, x, numpy)
        new += [hidden, cell]
        x = hidden
    return x * extra[1] + extra[2], new


def _lstm_loss(y, wanted, numpy):
    y = y - numpy.log(numpy.sum(numpy.exp(y)) + 2.0)
    return numpy.sum(wanted * y)


def lstm(main, extra, state, sequence, numpy=np):
    """Minus the mean log-likelihood of each letter after those before it."""
    rows = [state[k] for k in range(4)]
    total = 0.0
    for t in range(len(sequence) - 1):
        y, rows = _lstm_step(main, extra, rows, sequence[t], numpy)
        total = total + _lstm_loss(y, sequence[t + 1], numpy)
    return -total / (sequence.shape[1] * (len(sequence) - 1))


def _lstm_scanned(main, extra, state, sequence, numpy):
    """With JAX's loop that is compiled once."""
    import jax

    def step(rows, letters):
        y, rows = _lstm_step(main, extra, rows, letters[0], numpy)
        return rows, _lstm_loss(y, letters[1], numpy)

    start = [state[k] for k in range(4)]
    _, losses = jax.lax.scan(step, start, (sequence[:-1], sequence[1:]))
    return -numpy.sum(losses) / (sequence.shape[1] * (len(sequence) - 1))


LETTER, LANES = 14, 16
"""Bits of a letter, and as many numbers as fill vectors of eight."""

# Where rows of so many numbers begin, in one array, so that a compiler sees that they are apart:
# hidden and cell of either layer, letters, parameters of either layer, of what is around; then the
# same of cotangents. And in what is kept of a layer.
STATE, GIVEN, FIRST, SECOND, AROUND, BACK = (LANES * k for k in (0, 4, 5, 13, 21, 24))
LAST, BIAS, END = 2 * LANES, 4 * LANES, 2 * BACK
FORGET, IN, OUT, CHANGE, HIDDEN, CELL, TANH, KEPT = (LANES * k for k in range(8))


def _lstm_layer_kept(state, given, w):
    """The layer, with its gates, what it begins with and the tanh of its cell kept."""

    @limit
    def layer(m, kept):
        for i in range(LANES):
            x, hidden, cell = m[given + i], m[state + i], m[state + LANES + i]
            forget = 1.0 / (1.0 + exp(-(x * m[w + i] + m[w + BIAS + i])))
            j = i + LANES
            ingate = 1.0 / (1.0 + exp(-(hidden * m[w + j] + m[w + BIAS + j])))
            j += LANES
            outgate = 1.0 / (1.0 + exp(-(x * m[w + j] + m[w + BIAS + j])))
            j += LANES
            change = tanh(hidden * m[w + j] + m[w + BIAS + j])
            new = cell * forget + ingate * change
            t = tanh(new)
            kept[FORGET + i], kept[IN + i] = forget, ingate
            kept[OUT + i], kept[CHANGE + i] = outgate, change
            kept[HIDDEN + i], kept[CELL + i], kept[TANH + i] = hidden, cell, t
            m[state + i], m[state + LANES + i] = outgate * t, new

    return layer


def _lstm_layer_back(state, given, w):
    """Its way back: the cotangents of what it begins with take the place of its results'."""

    @limit
    def layer(m, kept):
        for i in range(LANES):
            forget, ingate = kept[FORGET + i], kept[IN + i]
            outgate, change, t = kept[OUT + i], kept[CHANGE + i], kept[TANH + i]
            x, hidden, cell = m[given + i], kept[HIDDEN + i], kept[CELL + i]
            of_hidden = m[BACK + state + i]
            d = m[BACK + state + LANES + i] + of_hidden * outgate * (1.0 - t * t)
            z0 = d * cell * forget * (1.0 - forget)
            z1 = d * change * ingate * (1.0 - ingate)
            z2 = of_hidden * t * outgate * (1.0 - outgate)
            z3 = d * ingate * (1.0 - change * change)
            j = w + i
            m[BACK + j] += z0 * x
            m[BACK + BIAS + j] += z0
            m[BACK + GIVEN + i] = z0 * m[j] + z2 * m[j + 2 * LANES]
            m[BACK + state + i] = z1 * m[j + LANES] + z3 * m[j + 3 * LANES]
            m[BACK + state + LANES + i] = d * forget
            j += LANES
            m[BACK + j] += z1 * hidden
            m[BACK + BIAS + j] += z1
            j += LANES
            m[BACK + j] += z2 * x
            m[BACK + BIAS + j] += z2
            j += LANES
            m[BACK + j] += z3 * hidden
            m[BACK + BIAS + j] += z3

    return layer


_lstm_first = _lstm_layer_kept(STATE, GIVEN, FIRST)
_lstm_second = _lstm_layer_kept(LAST, STATE, SECOND)
_lstm_first_back = _lstm_layer_back(STATE, GIVEN, FIRST)
_lstm_second_back = _lstm_layer_back(LAST, GIVEN, SECOND)


@limit
def _lstm_around(m, main, extra, back):
    """Parameters into rows of whole vectors, or cotangents out of them."""
    for k in range(4):
        for gate in range(4):
            for i in range(LETTER):
                j = FIRST + (4 * k + gate) * LANES + i
                if back:
                    main[k, gate * LETTER + i] = m[BACK + j]
                else:
                    m[j] = main[k, gate * LETTER + i]
    for k in range(3):
        for i in range(LETTER):
            j = AROUND + k * LANES + i
            if back:
                extra[k, i] = m[BACK + j]
            else:
                m[j] = extra[k, i]


@limit
def lstm_gradient(main, extra, state, sequence, d_main, d_extra):
    """Entry by entry in whole vectors; what the way back reads is kept, a row for each letter."""
    steps = len(sequence) - 1
    m, kept = np.zeros(END), np.empty((2 * steps, KEPT))
    letters, slopes = np.zeros((steps + 1, LANES)), np.empty((steps, LANES))
    letters[:, :LETTER] = sequence
    _lstm_around(m, main, extra, False)
    for k in range(4):
        for i in range(LETTER):
            m[STATE + k * LANES + i] = state[k, i]
    for t in range(steps):
        for i in range(LANES):
            m[GIVEN + i] = letters[t, i] * m[AROUND + i]
        _lstm_first(m, kept[2 * t])
        _lstm_second(m, kept[2 * t + 1])
        for i in range(LANES):
            y = m[LAST + i] * m[AROUND + LANES + i] + m[AROUND + 2 * LANES + i]
            slopes[t, i] = exp(y)
        total, count = 0.0, 0.0  # the last two are exp(0): the 2 that the sum has more
        for i in range(LANES):
            total += slopes[t, i]
            count += letters[t + 1, i]
        for i in range(LANES):
            slopes[t, i] = (slopes[t, i] * (count / total) - letters[t + 1, i]) / (LETTER * steps)
        slopes[t, LETTER:] = 0.0
    for t in range(steps - 1, -1, -1):
        first, second = kept[2 * t], kept[2 * t + 1]
        for i in range(LANES):
            s, x = slopes[t, i], second[OUT + i] * second[TANH + i]
            m[BACK + AROUND + LANES + i] += s * x
            m[BACK + AROUND + 2 * LANES + i] += s
            m[BACK + LAST + i] += s * m[AROUND + LANES + i]
            m[GIVEN + i] = first[OUT + i] * first[TANH + i]
        _lstm_second_back(m, second)
        for i in range(LANES):
            m[BACK + STATE + i] += m[BACK + GIVEN + i]
            m[GIVEN + i] = letters[t, i] * m[AROUND + i]
        _lstm_first_back(m, first)
        for i in range(LANES):
            m[BACK + AROUND + i] += m[BACK + GIVEN + i] * letters[t, i]
    _lstm_around(m, d_main, d_extra, True)


def _lstm_arguments(length):
    def make(rng):
        main, extra = rng.standard_normal((4, 56)), rng.standard_normal((3, 14))
        state = rng.standard_normal((4, 14))
        return main, extra, state, (rng.random((length, 14)) > 0.5).astype(float)

    return make


WORKLOADS = [
    *[
        Workload(
            f"GMM d=10 k=25, n={n}",
            "adbench",
            gmm,
            _gmm_arguments(n),
            active=3,
            by_hand={"gradient": gmm_gradient},
            without=("casadi", "torch.compile"),
        )
        for n in (1000, 10_000)
    ],
    Workload(
        "bundle adjustment, 31843 observations",
        "adbench",
        reprojection,
        _observations,
        tasks=("blocks",),
        by_hand={"blocks": reprojection_blocks},
    ),
    *[
        Workload(
            f"LSTM l=2, c={length}",
            "adbench",
            lstm,
            _lstm_arguments(length),
            active=2,
            by_hand={"gradient": lstm_gradient},
            forms={"jax": _lstm_scanned},
            without=("casadi", "pytensor", "torch.compile"),
            long=True,
        )
        for length in (128, 1024)
    ],
]

FAMILIES = [
    Family("GMM d=10 k=25", "adbench", gmm, _gmm_arguments, active=3, sizes=(10, 100, 1000)),
]
