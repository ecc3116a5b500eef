"""Kernels are refused before the process has all the maps that the system gives one."""

import sys

import pytest

import linad
from linad.errors import KernelRoomError
from linad.sweeps.cpu import kernel_cache, memory_maps
from linad.sweeps.cpu.memory_maps import EACH, MapRoom, maps_used

SOURCE = """
def kernel(p, start, stop):
    q = operand(p, 0)
    for i in range(start, stop):
        set_f8(q, i, get_f8(q, i, -1) * {}.0 + 1.5, 0)
    return 0
"""


@pytest.mark.rest
@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such limit")
def test_maps_of_a_kernel():
    with linad.config(cache=False):
        kernel_cache.kernel(SOURCE.format(1))
        before, limit = maps_used()
        for k in range(2, 22):
            kernel_cache.kernel(SOURCE.format(k))
        after, _ = maps_used()
    assert 0 < after - before <= 20 * EACH
    assert limit > 1000


def test_the_last_maps_are_left_to_others(monkeypatch):
    room, used = MapRoom(), 10_000
    monkeypatch.setattr(memory_maps, "maps_used", lambda: (used, 65_530))

    def load_all():
        nonlocal used
        while True:
            room.take()
            used += EACH

    with pytest.raises(KernelRoomError, match=r"loaded 17,8\d\d .*sysctl vm\.max_map_count=26"):
        load_all()
    assert used < 65_530 - 1000


def test_where_maps_cannot_be_counted(monkeypatch, tmp_path):
    monkeypatch.setattr(memory_maps, "LIMIT_IN", str(tmp_path / "none"))
    room = MapRoom()
    room.take()
    assert room.left > 10**8
