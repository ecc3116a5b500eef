"""Whose a file is."""

import os
from pathlib import Path

import numpy as np
import pytest

from linad.core.installed import is_installed, is_standard, line_of, package_of_file


def test_pythons_own():
    assert is_standard(os.__file__)
    assert is_standard("<frozen importlib._bootstrap>")
    assert is_installed(os.__file__)
    assert package_of_file(os.__file__) == ""


@pytest.mark.parametrize("folder", ["/usr/lib/python3/dist-packages", "/env/site-packages"])
def test_packages_by_the_folder_they_are_in(folder):
    file = f"{folder}/tables/rows.py".replace("/", os.sep)
    assert is_installed(file)
    assert not is_standard(file)
    assert package_of_file(file) == "tables"
    assert package_of_file(f"{folder}/six.py".replace("/", os.sep)) == "six"
    assert line_of(file, 7) == "tables/rows.py, line 7"


def test_an_installed_package():
    assert is_installed(np.__file__)
    assert package_of_file(np.__file__) == "numpy"


def test_packages_that_an_installer_put_into_a_folder_of_its_users(tmp_path, monkeypatch):
    """``pip install --target``: the user's own files may stand in the same folder."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "tables-1.0.dist-info").mkdir()
    record = "tables/__init__.py,sha256=x,10\ntables/rows.py,,\nsix.py,,\n"
    (tmp_path / "tables-1.0.dist-info" / "RECORD").write_text(record)
    for name in ("tables/rows.py", "six.py"):
        assert is_installed(str(tmp_path / name))
    assert package_of_file(str(tmp_path / "six.py")) == "six"
    assert line_of(str(tmp_path / "tables/rows.py"), 7) == "tables/rows.py, line 7"
    assert not is_installed(str(tmp_path / "handler.py"))


def test_the_users_own(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "mine.egg-info").mkdir()  # of a folder that is installed as it is, to be worked on
    file = str(tmp_path / "mine" / "model.py")
    assert not is_installed(file)
    assert package_of_file(file) == ""
    assert line_of(file, 7) == f"{Path(file).as_posix()}, line 7"
    assert not is_installed("<string>")
