"""NumPy's error state: what happens beside the numbers."""

import warnings

import numpy as np
import pytest

from linad.core.error_state import INITIAL, Watch, is_loud, quiet_state, state


@pytest.mark.parametrize("mode", ["ignore", "warn", "raise", "call", "print", "log"])
def test_what_is_loud(mode):
    with np.errstate(all="ignore"), np.errstate(divide=mode, call=lambda *_: None):
        loud = mode not in ("ignore", "warn")
        assert is_loud() == loud
        assert quiet_state() is (INITIAL if loud else state())


def test_a_change_is_noticed():
    with np.errstate(all="ignore"):
        watch = Watch()
        watch.look()
        assert not watch.finish()
        with np.errstate(all="warn"):
            watch.look()
        assert not watch.finish()
        with np.errstate(all="raise"):
            watch.look()
        assert watch.finish()
        left = Watch()
        with np.errstate(divide="warn"):
            assert left.finish()


def test_warnings_that_become_errors_are_noticed():
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("default")
        watch = Watch()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            watch.look()
        assert watch.finish()
