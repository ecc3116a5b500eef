"""Folders that only the user can write to: the way there, links, owners, sticky bits."""

import os
import stat

import pytest

from linad.core.private_folders import check_contents, is_own_file, private_folder

pytestmark = pytest.mark.skipif(not hasattr(os, "getuid"), reason="no owners of files here")


@pytest.fixture
def strangers(monkeypatch):
    """A set of paths that seem to belong to somebody else."""
    paths = set()
    lstat = os.lstat

    def seen(path, **kwargs):
        found = lstat(path, **kwargs)
        if os.fspath(path) not in paths:
            return found
        return os.stat_result([*found[:4], os.getuid() + 1, *found[5:]])

    monkeypatch.setattr("pathlib.Path.lstat", lambda path: seen(path))
    return paths


def test_made_for_the_user_alone(tmp_path):
    found = private_folder(tmp_path / "a" / "b")
    assert found == tmp_path / "a" / "b"
    assert [stat.S_IMODE(p.stat().st_mode) for p in (found, found.parent)] == [0o700, 0o700]


@pytest.mark.parametrize("mode", [0o777, 0o707])
def test_a_folder_on_the_way_is_open(tmp_path, mode):
    (tmp_path / "a").mkdir()
    (tmp_path / "a").chmod(mode)
    with pytest.raises(PermissionError, match="on the way to it"):
        private_folder(tmp_path / "a" / "b")


def test_sticky_folders_are_safe_to_go_through(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a").chmod(0o1777)
    assert private_folder(tmp_path / "a" / "b").is_dir()
    with pytest.raises(PermissionError, match="others can write to it"):
        private_folder(tmp_path / "a")


@pytest.mark.parametrize("part", ["a", "a/b", "a/b/c"])
def test_somebody_elses_folder(tmp_path, strangers, part):
    private_folder(tmp_path / "a" / "b" / "c")
    strangers.add(str(tmp_path / part))
    with pytest.raises(PermissionError, match="belongs to another user"):
        private_folder(tmp_path / "a" / "b" / "c")


class TestLinks:
    def test_are_followed(self, tmp_path):
        real = private_folder(tmp_path / "real" / "deep")
        (tmp_path / "way").mkdir()
        (tmp_path / "way" / "link").symlink_to("../real")
        assert private_folder(tmp_path / "way" / "link" / "deep") == real

    def test_to_an_open_folder(self, tmp_path):
        (tmp_path / "open").mkdir()
        (tmp_path / "open").chmod(0o777)
        (tmp_path / "link").symlink_to(tmp_path / "open")
        for path in (tmp_path / "link", tmp_path / "link" / "below"):
            with pytest.raises(PermissionError, match="others can write"):
                private_folder(path)

    def test_through_an_open_folder(self, tmp_path):
        """Who can write there can let the link point to another place."""
        private_folder(tmp_path / "real")
        (tmp_path / "open").mkdir()
        (tmp_path / "open" / "link").symlink_to(tmp_path / "real")
        (tmp_path / "open").chmod(0o777)
        with pytest.raises(PermissionError, match="others can write"):
            private_folder(tmp_path / "open" / "link")

    def test_of_somebody_else(self, tmp_path, strangers):
        """In a folder with the sticky bit others may put links of their own."""
        private_folder(tmp_path / "real")
        (tmp_path / "link").symlink_to(tmp_path / "real")
        strangers.add(str(tmp_path / "link"))
        with pytest.raises(PermissionError, match="link .* belongs to another user"):
            private_folder(tmp_path / "link")

    def test_in_a_circle(self, tmp_path):
        (tmp_path / "one").symlink_to("two")
        (tmp_path / "two").symlink_to("one")
        with pytest.raises(OSError, match="too many symbolic links"):
            private_folder(tmp_path / "one")


class TestContents:
    def test_a_link_instead(self, tmp_path):
        folder = private_folder(tmp_path / "kernels")
        (tmp_path / "other").mkdir()
        (folder / "__pycache__").symlink_to(tmp_path / "other")
        with pytest.raises(PermissionError, match="not made by this user"):
            check_contents(folder)

    @pytest.mark.parametrize("name", ["inner", "inner/file"])
    def test_somebody_elses(self, tmp_path, strangers, name):
        folder = private_folder(tmp_path / "kernels")
        (folder / "inner").mkdir(0o700)
        file = folder / "inner" / "file"
        file.touch()
        check_contents(folder)
        assert is_own_file(file)
        strangers.add(str(folder / name))
        with pytest.raises(PermissionError, match="by this user"):
            check_contents(folder)

    def test_open_folders_in_an_open_one(self, tmp_path):
        """Numba makes folders as the user makes all: it matters where others can enter."""
        folder = private_folder(tmp_path / "kernels")
        (folder / "inner").mkdir()
        (folder / "inner").chmod(0o777)
        check_contents(folder)
        folder.chmod(0o755)
        with pytest.raises(PermissionError, match="others can write to inner"):
            check_contents(folder)
