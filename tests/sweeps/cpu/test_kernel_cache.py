"""Kernels on disk: shared, private, never stale, and never needed."""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import linad
from linad.core.machine_code import kept_on_disk, places
from linad.core.private_folders import remove_oldest
from linad.sweeps.cpu import kernel_cache as cache, native, njit_function, object_code

FULL = pytest.mark.full  # processes take seconds to start
PROGRAM = """
import numpy as np, linad
from linad.sweeps import cache
f = linad.jit(linad.grad(lambda x: np.sum(np.sin(x) * x * {constant})))
x = np.linspace(0, 1, 4)
f(x)
found = f(x)
expected = {constant} * (np.cos(x) * x + np.sin(x))
np.testing.assert_allclose(found, expected, rtol=1e-14)
print(cache.counts.compiled, cache.counts.loaded)
"""


def start(folder, constant=1.5, **environment):
    """Run the program in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(PROGRAM.format(constant=constant))],
        env=dict(os.environ, LINAD_CACHE_DIR=str(folder), **environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process):
    """Kernels compiled and loaded, and what was said."""
    out, err = process.communicate(timeout=240)
    assert process.returncode == 0, err
    compiled, loaded = map(int, out.split())
    return compiled, loaded, err


def run(folder, constant=1.5, **environment):
    return finish(start(folder, constant, **environment))


@pytest.fixture(scope="module")
def warm(tmp_path_factory):
    """A folder that holds the kernels of the program."""
    folder = tmp_path_factory.mktemp("warm") / "kernels"
    compiled, loaded, _ = run(folder)
    assert compiled > 0
    assert loaded == 0
    return folder, compiled


@pytest.fixture
def copied(warm, tmp_path):
    """A copy of it, to do damage to."""
    folder = tmp_path / "kernels"
    shutil.copytree(warm[0], folder)
    return folder, warm[1]


class TestSharing:
    @FULL
    def test_a_second_process_compiles_nothing(self, warm):
        folder, count = warm
        assert run(folder)[:2] == (0, count)

    @FULL
    def test_another_constant_is_the_same_kernel(self, warm):
        folder, count = warm
        assert run(folder, constant=-7.25)[:2] == (0, count)

    @FULL
    def test_processes_at_the_same_time(self, tmp_path, warm):
        folder = tmp_path / "kernels"
        children = [start(folder, constant=1.0 + k) for k in range(3)]
        for child in children:
            compiled, loaded, err = finish(child)
            assert compiled + loaded == warm[1]
            assert not err
        assert run(folder)[:2] == (0, warm[1])
        assert not list(folder.glob("*.tmp"))

    @pytest.mark.rest
    def test_only_the_user_can_look(self, warm):
        if hasattr(os, "getuid"):
            assert warm[0].stat().st_mode & 0o777 == 0o700

    @FULL
    def test_copied_to_another_place(self, copied):
        """A name says all about a kernel: no path, no time."""
        folder, count = copied
        assert run(folder)[:2] == (0, count)


class TestKeys:
    def test_what_a_kernel_is_made_with(self, monkeypatch, tmp_path):
        source = "def kernel(p, start, stop):\n    return 0\n"
        key = cache.key_of(source)
        assert key == cache.key_of(source)
        assert key != cache.key_of(source + " ")
        assert key != cache.key_of(source, fast=True)
        changed = tmp_path / "native.py"
        changed.write_text(Path(native.__file__).read_text(encoding="utf-8") + "\n# changed\n")
        monkeypatch.setattr(native, "__file__", str(changed))
        cache.toolchain.cache_clear()
        try:
            assert key != cache.key_of(source)
        finally:
            monkeypatch.undo()
            cache.toolchain.cache_clear()
        assert key == cache.key_of(source)

    def test_the_processor_that_it_is_for(self, monkeypatch):
        """Machines share a home, and not their instructions."""
        key = cache.key_of("")
        monkeypatch.setattr(object_code, "processor", lambda: ("x86_64", "older", ""))
        cache.toolchain.cache_clear()
        try:
            assert key != cache.key_of("")
        finally:
            monkeypatch.undo()
            cache.toolchain.cache_clear()


def damaged(data, how):
    middle = len(data) // 2
    return {
        "truncated": data[:middle],
        "emptied": b"",
        "flipped": data[:middle] + bytes([data[middle] ^ 255]) + data[middle + 1 :],
        "garbage": b"garbage" * 100,
    }[how]


class TestDamage:
    @pytest.mark.parametrize("how", ["truncated", "emptied", "flipped", "garbage", "removed"])
    def test_is_noticed(self, copied, how):
        """Before it is put into memory."""
        folder, count = copied
        assert len(list(folder.glob("k*.o"))) == count
        for file in folder.glob("*.o"):
            assert cache.read(file)
            if how == "removed":
                file.unlink()
            else:
                file.write_bytes(damaged(file.read_bytes(), how))
            assert cache.read(file) is None

    @FULL
    def test_files_are_made_again(self, copied):
        folder, count = copied
        for file in folder.glob("*.o"):
            file.write_bytes(damaged(file.read_bytes(), "flipped"))
        assert run(folder)[:2] == (count, 0)
        assert run(folder)[:2] == (0, count)


class TestFolders:
    @FULL
    def test_without_a_cache(self, tmp_path):
        folder = tmp_path / "kernels"
        compiled, loaded, _ = run(folder, LINAD_CACHE="0")
        assert compiled > 0
        assert loaded == 0
        assert not folder.exists()

    def test_without_a_cache_here(self, tmp_path, monkeypatch):
        monkeypatch.setenv("LINAD_CACHE_DIR", str(tmp_path / "kernels"))
        with linad.config(cache=False):
            assert cache.folder() is None
            check_compiles_in_memory(monkeypatch)
        assert not (tmp_path / "kernels").exists()

    @pytest.mark.parametrize("case", ["a file", "below a file", "no such device"])
    def test_unusable(self, tmp_path, monkeypatch, case):
        """A warning, and everything works in memory."""
        folder = unusable(tmp_path, case)
        monkeypatch.setenv("LINAD_CACHE_DIR", str(folder))
        cache.usable_folder.cache_clear()
        cache._warn.cache_clear()
        with pytest.warns(UserWarning, match=r"keeps no compiled kernels.*LINAD_CACHE_DIR"):
            assert cache.usable_folder(str(folder)) is None
        assert cache.usable_folder(str(folder)) is None  # said once
        check_compiles_in_memory(monkeypatch)

    @FULL
    @pytest.mark.parametrize("case", ["a file", "below a file", "no such device"])
    def test_unusable_in_a_process(self, tmp_path, case):
        compiled, loaded, _ = run_loudly(unusable(tmp_path, case))
        assert compiled > 0
        assert loaded == 0

    @pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
    def test_others_could_write(self, tmp_path, mode):
        folder = tmp_path / "kernels"
        folder.mkdir()
        folder.chmod(mode)
        with pytest.warns(UserWarning, match="others can write to it"):
            assert cache.usable_folder(str(folder)) is None

    def test_somebody_elses(self, tmp_path, monkeypatch):
        folder = tmp_path / "kernels"
        folder.mkdir(mode=0o700)
        monkeypatch.setattr(os, "getuid", lambda: folder.stat().st_uid + 1)
        with pytest.warns(UserWarning, match="belongs to another user"):
            assert cache.usable_folder(str(folder)) is None

    def test_a_folder_that_goes_away(self, tmp_path, monkeypatch):
        """Kernels are compiled in memory when they can no longer be written."""
        folder = tmp_path / "kernels"
        monkeypatch.setenv("LINAD_CACHE_DIR", str(folder))
        assert cache.folder() == folder
        shutil.rmtree(folder)
        folder.write_text("no folder")
        f = linad.jit(lambda x: np.sin(x) * 3.5 - x / 1.25 + np.cos(x * x))
        x = np.linspace(0, 1, 3)
        for _ in range(3):
            np.testing.assert_allclose(f(x), f.function(x), rtol=1e-14)


def unusable(tmp_path, case):
    """A folder that cannot be made."""
    file = tmp_path / "file"
    file.write_text("")
    return {"a file": file, "below a file": file / "kernels"}.get(case, "/proc/self/kernels")


def check_compiles_in_memory(monkeypatch):
    """What is not in memory is compiled, whatever other folders hold, and right."""
    monkeypatch.setattr(cache, "_kernels", {})
    compiled, loaded = cache.counts.compiled, cache.counts.loaded
    f = linad.jit(lambda x: np.sin(x) * 7.5 - np.tanh(x))
    x = np.linspace(0.1, 1, 3)
    for _ in range(3):
        np.testing.assert_allclose(f(x), f.function(x), rtol=1e-13)
    assert cache.counts.compiled > compiled
    assert cache.counts.loaded == loaded


def run_loudly(folder):
    """As `run`, where warnings are expected."""
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(PROGRAM.format(constant=2.5))],
        env=dict(os.environ, LINAD_CACHE_DIR=str(folder)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    found = finish(process)
    assert "keeps no compiled kernels" in found[2]
    return found


OWN = """
from linad.core.machine_code import kept_on_disk, places
@kept_on_disk()
def twice(x):
    return 2 * x
print(twice(21), twice.stats.cache_path)
"""

PLANTED = """
import pathlib, pickle, sys
import numba
class Planted:
    def __reduce__(self):
        return pathlib.Path.touch, (pathlib.Path(sys.argv[1]),)
for file in pathlib.Path(sys.argv[2]).rglob("*.nbi"):
    file.write_bytes(pickle.dumps(numba.__version__) + pickle.dumps(Planted()))
"""


class TestPlanted:
    """What somebody else has put into a folder of Numba's is not run."""

    def run(self, tmp_path, *program):
        folder = tmp_path / "shared"
        environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
        environment |= {"LINAD_CACHE_DIR": str(folder), "XDG_CACHE_HOME": str(folder / "home")}
        done = subprocess.run(
            [sys.executable, "-P", *program],
            env=environment, capture_output=True, text=True, timeout=240,
        )  # fmt: skip
        return done.stdout

    @pytest.mark.parametrize(
        "opened",
        [pytest.param(c, marks=FULL) for c in ("home", "nothing", "shared", "functions", "inner")],
    )
    def test_in_a_folder_of_all(self, tmp_path, opened):
        (tmp_path / "own.py").write_text(OWN)
        answer, place = self.run(tmp_path, str(tmp_path / "own.py")).split()
        assert answer == "42"
        assert tmp_path in Path(place).parents
        marker = tmp_path / "marker"
        self.run(tmp_path, "-c", PLANTED, str(marker), place)
        home = tmp_path / "shared" / "home"
        paths = {"shared": home.parent, "home": home, "functions": home / "linad" / "functions"}
        for path in {"nothing": [], "inner": [paths["functions"], place]}.get(
            opened, [paths.get(opened)]
        ):
            Path(path).chmod(0o755 if path is paths["functions"] and opened == "inner" else 0o777)
        said = self.run(tmp_path, str(tmp_path / "own.py"))
        assert marker.exists() is (opened == "nothing")  # so it would have run
        if opened != "nothing":
            assert said.startswith("42")


class TestSize:
    def test_the_oldest_go_first(self, tmp_path):
        names = [f"k{n}" for n in range(10)]
        for n, name in enumerate(names):
            for suffix in ("py", "sum"):
                (tmp_path / f"{name}.{suffix}").write_bytes(bytes(100))
            os.utime(tmp_path / f"{name}.sum", (n, n))
            os.utime(tmp_path / f"{name}.py", (10**9, 10**9))
        assert remove_oldest(tmp_path, 2000) == 2000
        assert remove_oldest(tmp_path, 1999) <= 1500
        assert sorted({f.stem for f in tmp_path.iterdir()}) == names[3:]

    @pytest.mark.full
    def test_of_the_folder(self, tmp_path, warm):
        """Each process keeps within the limit; what was removed is compiled again."""
        folder = tmp_path / "kernels"
        for constant in (1.5, 2.5):
            count = sum(run(folder, constant, LINAD_CACHE_BYTES="1000")[:2])
            assert count == warm[1]
            assert sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()) <= 1000


class TestOwnFunctions:
    def test_the_package_keeps_nothing(self):
        """What an installer does not know of would stay behind, and hide the next install."""
        package = Path(linad.__file__).parent
        for function in (njit_function.borrow, njit_function.run):
            assert package not in Path(function.stats.cache_path).parents

    def test_without_a_place_to_keep_them(self):
        """A function whose file is nowhere has no place: compiled, and not kept."""
        scope = {}
        exec(compile("def twice(x):\n    return 2 * x\n", "/nowhere/at/all.py", "exec"), scope)
        assert kept_on_disk()(scope["twice"])(4) == 8

    @FULL
    @pytest.mark.parametrize("given", [False, True])
    def test_no_home_can_be_found(self, tmp_path, given):
        """A user number without an entry, as containers have it, and no ``HOME``."""
        code = """
            import os, pwd
            def gone(uid): raise KeyError(uid)
            pwd.getpwuid = gone
            import numpy as np, linad
            f = linad.jit(lambda x: np.sin(x) + 1)
            f(np.ones(2)); f(np.ones(2))
        """
        known = {k: v for k, v in os.environ.items() if k not in ("HOME", "XDG_CACHE_HOME")}
        known.pop("LINAD_CACHE_DIR", None)
        known |= {"LINAD_CACHE_DIR": str(tmp_path / "kernels")} if given else {}
        done = subprocess.run(
            [sys.executable, "-P", "-c", textwrap.dedent(code)],
            env=known, capture_output=True, text=True, check=True, timeout=240,
        )  # fmt: skip
        assert ("there is no home folder" in done.stderr) is not given
        assert bool(list(tmp_path.rglob("f*.o"))) is given

    def test_kept_beside_the_kernels_without_a_home(self, tmp_path, monkeypatch):
        monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
        monkeypatch.setenv("LINAD_CACHE_DIR", str(tmp_path / "kernels"))
        assert [p.parent.name for p in places()] == ["linad", "kernels"]
        monkeypatch.setattr(Path, "home", lambda: (_ for _ in ()).throw(RuntimeError))
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        if sys.platform != "win32":
            assert list(places()) == [tmp_path / "kernels" / "functions"]

    @FULL
    def test_in_a_process_without_a_home(self, tmp_path, warm):
        compiled, loaded, _ = run(warm[0], HOME="/nowhere", NUMBA_CACHE_DIR=str(tmp_path / "n"))
        assert compiled + loaded == warm[1]
