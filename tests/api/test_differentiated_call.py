"""What happens to arguments before a function is differentiated in them."""

import numpy as np

import linad
from linad.api import differentiated_call


def test_plain_arrays_are_taken_as_they_are(monkeypatch):
    """Only what is not one is looked through for arrays of other libraries."""
    looked_at = []
    monkeypatch.setattr(differentiated_call, "taken_in", lambda a: looked_at.append(a) or a)
    x, y = np.ones(2), (np.ones(2), 1.5)
    linad.linearize(np.multiply, x, x)
    assert looked_at == []
    linad.linearize(lambda x, y: x * y[0], x, y, argnums=0)
    assert looked_at[-1] is y
