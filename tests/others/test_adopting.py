"""Code as it is found in packages, adopted: right derivatives, and nothing left behind."""

import numpy as np

import linad

X = np.array([0.3, 0.5, 0.7])


def differences(f, x, h=1e-6):
    columns = [
        (np.asarray(f(x + h * e)) - np.asarray(f(x - h * e))) / (2 * h) for e in np.eye(x.size)
    ]
    return np.stack(columns, axis=-1)


def check(f, x=X):
    expected = differences(f, x)
    y, J = linad.linearize(f, x)
    np.testing.assert_allclose(J.todense() if hasattr(J, "todense") else J @ np.eye(x.size), expected, atol=1e-7)
    np.testing.assert_allclose(y, f(x), rtol=1e-14)
    v = np.array([0.2, -1.0, 0.4])
    np.testing.assert_allclose(linad.jvp(f, (x,), (v,))[1], expected @ v, atol=1e-7)


def test_patterns(installed):
    package = installed()
    failed = {}
    with linad.adopt(package.__name__):
        for f in package.FUNCTIONS:
            try:
                check(f)
            except Exception as error:
                failed[f.__name__] = error
    for n,e in failed.items(): print(n, type(e), str(e)[:300])
    assert not failed
