"""What stands for a plain array while a program is recorded, in this thread: the last word."""

import threading

import numpy as np
import pytest

from linad.core.stand_ins import STANDING, stand_in, standing


def test_what_stands_for_an_array():
    a, b = np.ones(2), np.ones(2)
    with standing([a], ["outer"]):
        assert stand_in(a) == "outer"
        assert stand_in(b) is b
        with standing([a, a], ["first", "second"]):
            assert stand_in(a) == "second"
        assert stand_in(a) == "outer"
        found = []
        thread = threading.Thread(target=lambda: found.append(stand_in(a)))
        thread.start()
        thread.join()
        assert found[0] is a
    with pytest.raises(KeyError), standing([b], ["b"]):
        raise KeyError
    assert stand_in(a) is a
    assert not STANDING
