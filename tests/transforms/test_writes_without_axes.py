"""Writes into arrays without axes, whose sums NumPy makes numbers: right in both modes."""

import itertools

import numpy as np
import pytest

import linad

WRITES = {
    "whole": "x[...] = x * 2",
    "entry": "x[()] = x[()] * x[()]",
    "mask": "x[x.real > -9] = x[x.real > -9] * 3",
    "real part": "a = x.real; a[...] = a * x.imag",
    "mask of a part": "a = x.real; a[a > -9] = a[a > -9] * 2",
    "putmask": "np.putmask(x, x.real > -9, x[x.real > -9] * 2)",
    "in place": "x += y; x *= y",
    "other": "y[...] = x * y",
    "copy": "t = x.copy(); t += x; x *= t",
    "copyto": "np.copyto(x, y, where=x.real > -9)",
    "view": "v = x.reshape(1); v[0] = v[0] * y",
    "new axis": "v = x[None]; v *= 2",
    "add.at": "np.add.at(x, (), y)",
    "out": "np.multiply(x, y, out=x)",
    "flat": "x.flat[0] = x.flat[0] * y",
    "number before": "s = x[()]; x *= 2; y += s",
}
RESULTS = ["x * 1", "x + y, x.real * 1", "(x, y, x * y)"]
POINT = 1.3 + 0.4j, 0.7 - 0.2j
DIRECTION = np.array([0.3 - 1.1j, 0.8 + 0.5j])


def program(writes, result):
    lines = [line.strip() for write in writes for line in WRITES[write].split(";")]
    source = ["def f(xy):", "x, y = xy", *lines, f"return {result}"]
    namespace = {"np": np}
    exec("\n    ".join(source), namespace)
    return namespace["f"]


def leaves(y):
    return [np.asarray(part) for part in (y if isinstance(y, tuple) else (y,))]


def at(step):
    return tuple([np.array(p + step * d) for p, d in zip(POINT, DIRECTION, strict=True)])


def check(f):
    h = 1e-6
    difference = [
        (a - b) / (2 * h) for a, b in zip(leaves(f(at(h))), leaves(f(at(-h))), strict=True)
    ]
    y, J = linad.linearize(f, at(0))
    pushed = J.pushforward(tuple(map(np.array, DIRECTION)))
    for found, expected in zip(leaves(pushed), difference, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)
    seeds = [1.7 - 0.6j if np.iscomplexobj(part) else 1.7 for part in leaves(y)]
    pulled = J.pullback(tuple(seeds) if isinstance(y, tuple) else seeds[0])
    forward = sum([np.vdot(w, t).real for w, t in zip(seeds, leaves(pushed), strict=True)])
    np.testing.assert_allclose(np.vdot(pulled, DIRECTION).real, forward, rtol=1e-12)


@pytest.mark.parametrize("first", WRITES)
def test_writes(first):
    for second, result in itertools.product(WRITES, RESULTS):
        check(program([first, second], result))
