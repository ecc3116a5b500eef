"""The garbage collector waits for a block, in all threads, and is then as it was."""

import gc
import threading

import pytest

from linad.core.collection_pause import collection_paused


def test_nested_blocks_and_errors():
    assert gc.isenabled()
    with collection_paused():
        with pytest.raises(KeyError), collection_paused():
            raise KeyError
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_collector_that_is_off_stays_off():
    gc.disable()
    try:
        with collection_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_the_last_of_several_threads_turns_it_on():
    inside, leave = threading.Event(), threading.Event()

    def other():
        with collection_paused():
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    with collection_paused():
        thread.start()
        assert inside.wait(10)
    assert not gc.isenabled()
    leave.set()
    thread.join()
    assert gc.isenabled()
