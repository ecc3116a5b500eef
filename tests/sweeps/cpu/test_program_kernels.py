"""Kernels of a program: compiled beside this process, and said to be compiled."""

import sys
import time
from collections import deque

import pytest

import linad
from linad.core import patience
from linad.core.compiler_lock import compiling
from linad.sweeps.cpu import kernel_cache as cache, program_kernels
from linad.sweeps.cpu.program_kernels import Helper, addresses_of, runs_python


def wanted(*numbers):
    """Kernels that return these numbers."""
    return [(f"def kernel(p, start, stop):\n    return {n}\n", False) for n in numbers]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("LINAD_CACHE_DIR", str(tmp_path / "kernels"))
    monkeypatch.setattr(cache, "_kernels", {})
    return cache.folder()


@pytest.fixture
def at_once(monkeypatch):
    """Another process from the first kernel on."""
    monkeypatch.setattr(program_kernels, "MANY", 1)
    monkeypatch.setattr(program_kernels, "idle_cores", lambda: 1)


def script(path, text):
    """A program of that name instead of Python."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


class TestHelper:
    @pytest.mark.rest
    def test_compiles_into_the_folder(self, folder):
        kernels = wanted(11, 12)
        shared = deque(kernels)
        helper = Helper(shared, folder)
        helper.thread.join(120)
        assert helper.done == kernels[::-1]
        assert not shared
        helper.stop()
        before = cache.counts.compiled, cache.counts.loaded
        assert all(cache.is_known(*k) for k in kernels)
        assert all(cache.kernel(*k) for k in kernels)
        assert (cache.counts.compiled, cache.counts.loaded) == (before[0], before[1] + 2)

    @pytest.mark.skipif(sys.platform == "win32", reason="a program is a shell script here")
    @pytest.mark.parametrize("text", ["exit 1", "echo ready; exit 1", "echo ready; read line"])
    def test_one_that_ends(self, folder, at_once, tmp_path, monkeypatch, text):
        """This process compiles what it has not."""
        monkeypatch.setattr(sys, "executable", script(tmp_path / "python", text))
        before = cache.counts.compiled
        with compiling, linad.config(compilers=1):
            addresses = addresses_of(wanted(21, 22, 21), "f")
        assert addresses[0] == addresses[2] != addresses[1]
        assert cache.counts.compiled == before + 2

    @pytest.mark.full
    def test_what_it_has_compiled_counts(self, folder, at_once, monkeypatch):
        class Quick(Helper):
            """One that has compiled all before this process begins."""

            def __init__(self, *given):
                super().__init__(*given)
                self.thread.join(120)

        monkeypatch.setattr(program_kernels, "Helper", Quick)
        before = cache.counts.compiled, cache.counts.loaded
        with linad.config(compilers=1):
            addresses_of(wanted(31, 32), "f")
        assert (cache.counts.compiled, cache.counts.loaded) == (before[0] + 2, before[1])

    @pytest.mark.parametrize(
        "compilers, cores, count", [(0, 9, 40), (9, 0, 40), (9, 9, program_kernels.MANY - 1)]
    )
    def test_none_is_started(self, folder, monkeypatch, compilers, cores, count):
        monkeypatch.setattr(program_kernels, "idle_cores", lambda: cores)
        monkeypatch.setattr(program_kernels, "Helper", None)
        monkeypatch.setattr(cache, "kernel", lambda *given: 0)
        with linad.config(compilers=compilers):
            assert addresses_of(wanted(*range(count)), "f") == [0] * count

    def test_programs_that_have_python_inside(self):
        assert runs_python("/usr/bin/python3.13")
        assert runs_python("C:\\Python\\python.exe".replace("\\", "/"))
        assert not runs_python("/usr/bin/blender")
        assert not runs_python("")
        assert not runs_python(None)


class TestAnnouncement:
    @pytest.fixture(autouse=True)
    def nothing_before(self, monkeypatch):
        monkeypatch.setattr(program_kernels.Announcement, "ended", float("-inf"))

    @pytest.mark.parametrize("progress", [True, False])
    def test_is_made_once_and_closed(self, folder, capsys, monkeypatch, progress):
        monkeypatch.setattr(patience, "SECONDS", 0.0)
        with linad.config(progress=progress):
            addresses_of(wanted(41, 42, 43), "model")
        said = capsys.readouterr().err
        assert said.count("\n") == 2 * progress
        assert ("linad: compiled model in 0 s, 3 kernels" in said) is progress
        assert ("linad: compiling for 0 s: model, 1 of 3 kernels; they" in said) is progress
        assert (str(folder) in said) is progress

    def test_programs_of_one_call_are_one_wait(self, folder, capsys, monkeypatch):
        with linad.config(progress=True):
            monkeypatch.setattr(patience, "SECONDS", 1e9)
            addresses_of(wanted(61, 62), "first")
            monkeypatch.setattr(patience, "SECONDS", 0.0)  # for a wait that begins from here on
            addresses_of(wanted(63, 64), "second")
            assert capsys.readouterr().err == ""
            monkeypatch.setattr(program_kernels, "BETWEEN", 0.0)
            addresses_of(wanted(65, 66), "third")
        assert capsys.readouterr().err.startswith("linad: compiling for 0 s: third, 1 of 2")

    def test_the_seconds_are_those_of_all_programs_and_so_are_the_kernels(
        self, folder, capsys, monkeypatch
    ):
        monkeypatch.setattr(patience, "SECONDS", 0.0)
        monkeypatch.setattr(program_kernels, "BETWEEN", float("inf"))
        monkeypatch.setattr(program_kernels.Announcement, "ended", time.perf_counter())
        monkeypatch.setattr(program_kernels.Announcement, "programs", 0)
        monkeypatch.setattr(program_kernels.Announcement, "compiled", 0)
        with linad.config(progress=True):
            waited = patience.Patience()
            monkeypatch.setattr(program_kernels.Announcement, "patience", waited)
            first = program_kernels.Announcement("first", 11)
            first.after(11)
            waited.started -= 20
            monkeypatch.setattr(program_kernels.Announcement, "ended", first.ended - 7)  # it ran
            second = program_kernels.Announcement("second", 3)
            second.after(2)
            second.after(3)
            second.finish()
        said = capsys.readouterr().err
        assert "compiling for 13 s: second (program 2), 2 of 3 kernels, about 1 s to go" in said
        assert "compiled second and 1 program before it in 13 s, 14 kernels" in said

    def test_time_to_go_counts_what_others_compile(self, folder, capsys, monkeypatch):
        with linad.config(progress=True):
            said = program_kernels.Announcement("model", 100)
            said.after(50)  # one here, the others in other processes
            monkeypatch.setattr(said.patience, "started", said.patience.started - 50)
            said.after(60)
        assert "60 of 100 kernels, about 33 s to go" in capsys.readouterr().err

    @pytest.mark.parametrize("count", [3, 90])
    def test_few_kernels_tell_nothing_of_the_others(self, count, folder, capsys, monkeypatch):
        with linad.config(progress=True):
            said = program_kernels.Announcement("model", count)
            monkeypatch.setattr(said.patience, "started", said.patience.started - 5)
            said.after(count // 3)
        assert f"{count // 3} of {count} kernels; they" in capsys.readouterr().err

    def test_what_is_there_needs_none(self, folder, capsys, monkeypatch):
        with linad.config(progress=True):
            addresses_of(wanted(51, 52), "model")
            monkeypatch.setattr(patience, "SECONDS", 0.0)
            addresses_of(wanted(51, 52), "model")
        assert capsys.readouterr().err == ""
