"""Attempts to lower a kernel end: each has learnt something, or is the last."""

import numpy as np
import pytest

import linad
from linad.errors import KernelError
from linad.kernels import lowering
from linad.kernels.building import LowerAgain


def ones(x):
    a = np.full(2, 1)
    a[0] = 3
    return x * a[0]


def test_kinds_that_do_not_settle(monkeypatch):
    monkeypatch.setattr(lowering, "kind_of", lambda e, kinds: "another one")
    with pytest.raises(KernelError, match="the kinds of its numbers do not settle; give a number"):
        linad.grad(linad.kernel(ones))(2.0)


def test_attempts_that_have_learnt_nothing(monkeypatch):
    def function(self, frame):
        raise LowerAgain

    monkeypatch.setattr(lowering.LoweredKernel, "function", function)
    with pytest.raises(KernelError, match="do not settle"):
        linad.grad(linad.kernel(ones))(2.0)
