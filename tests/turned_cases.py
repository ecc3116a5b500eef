"""Cases for decompositions whose vectors are defined up to a sign or phase."""

import numpy as np

from linad.testing.rule_checks import Case, check_rule

rng = np.random.default_rng(0)
COMPLEX = {"complex_": True}


def array(*shape):
    return rng.standard_normal(shape)


def spread(*shape):
    """Matrices with well-separated eigenvalues and singular values."""
    diagonal = np.zeros(shape)
    k = np.arange(min(shape[-2:]))
    diagonal[..., k, k] = 2.0 * k + 1
    return diagonal + 0.3 * array(*shape)


def rotation():
    """A real matrix with the eigenvalues 2 ± 2i and 9, roughly."""
    return np.array([[2.0, 4.0, 0.0], [-1.0, 2.0, 0.0], [0.0, 0.0, 9.0]]) + 0.2 * array(3, 3)


def phase(vectors):
    """Of the largest entry of each column."""
    largest = np.argmax(np.abs(vectors), axis=-2)[..., None, :]
    entry = np.take_along_axis(vectors, largest, axis=-2)
    return entry / np.abs(entry)


def order(values):
    """Places of the values from left to right; of a conjugate pair the lower one is first."""
    return np.argsort(values.real + 0.1 * values.imag, axis=-1)


def turned(values, vectors):
    places = order(values)
    vectors = np.take_along_axis(vectors, places[..., None, :], axis=-1)
    values = np.take_along_axis(values, places, axis=-1)
    return values, vectors * np.conj(phase(vectors))


def turned_pairs(u, s, vh):
    factor = phase(u)
    return u * np.conj(factor), s, vh * np.swapaxes(factor, -1, -2)


class Turned(Case):
    """A case of a decomposition whose vectors are turned to have a largest entry > 0.

    LAPACK chooses signs, phases and the order of eigenvalues as it likes, and may choose
    others at the points of a difference.
    """

    def turned(self, *args, **params):
        results = self.function(*args, **params)
        if not isinstance(results, tuple):
            return np.take_along_axis(results, order(results), axis=-1)
        return (turned if len(results) == 2 else turned_pairs)(*results)

    def check(self, **options):
        check_rule(self.turned, *self.args, **(options | self.options), **self.params)
