"""What is built from this tree is whole: the wheel and the sdist.

Everything is built by hatchling itself, from a copy of the tree in a temporary folder, without
a network. The copy has no Git, so its version is the fallback.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

NOT_COPIED = shutil.ignore_patterns(
    *(".*", "__pycache__", "*.egg-info", "build", "dist", "venv", "_build", "generated"),
    *("env", "html", "results"),
)


def run_python(*args, cwd, **variables):
    """Run this Python in a folder, without that folder on sys.path; return what it printed."""
    done = subprocess.run(
        [sys.executable, "-P", *map(str, args)],
        cwd=cwd,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def build(kind, tree, target):
    """Build the tree's "wheel" or "sdist" into a folder; return the file."""
    script = f"import sys; from hatchling import build; build.build_{kind}(sys.argv[1])"
    run_python("-c", script, target, cwd=tree)
    [file] = Path(target).iterdir()
    return file


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    tree = tmp_path_factory.mktemp("checkout") / "linad"
    shutil.copytree(ROOT, tree, ignore=NOT_COPIED)
    return build("sdist", tree, tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def wheel(sdist, tmp_path_factory):
    """The wheel that is built from the sdist: one missing file would show here."""
    unpacked = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as archive:
        archive.extractall(unpacked, filter="data")
    [tree] = unpacked.iterdir()
    return build("wheel", tree, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def info(wheel):
    """The wheel's folder of metadata."""
    version = PYPROJECT["tool"]["hatch"]["version"]["fallback-version"]
    return f"linad-{version}.dist-info"


def python_files(folder):
    return {path.relative_to(folder) for path in folder.rglob("*.py")}


def test_every_package_has_an_init():
    folders = {path.parent for name in ("linad", "rules") for path in (ROOT / name).rglob("*.py")}
    assert [str(f) for f in sorted(folders) if not (f / "__init__.py").exists()] == []


@pytest.mark.full
def test_wheel_holds_every_module(wheel):
    expected = {Path("linad") / p for p in python_files(ROOT / "linad")}
    expected |= {Path("linad", "rules") / p for p in python_files(ROOT / "rules")}
    with zipfile.ZipFile(wheel) as archive:
        names = {Path(name) for name in archive.namelist()}
    assert {name for name in names if name.suffix == ".py"} == expected
    assert Path("linad/py.typed") in names


@pytest.mark.full
def test_wheel_adds_only_linad_to_the_top_level(wheel, info):
    with zipfile.ZipFile(wheel) as archive:
        top = {Path(name).parts[0] for name in archive.namelist()}
    assert top == {"linad", info}


@pytest.mark.full
def test_wheel_carries_its_license_and_command(wheel, info):
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read(f"{info}/METADATA").decode()
        assert "License-Expression: BSD-3-Clause" in metadata
        assert f"{info}/licenses/LICENSE" in archive.namelist()
        assert "linad = linad.command.cli:main" in archive.read(f"{info}/entry_points.txt").decode()


@pytest.mark.full
def test_wheel_imports_alone(wheel, info, tmp_path):
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    script = "import linad.rules; print(linad.__version__, linad.rules.__file__)"
    printed = run_python(
        *("-W", "error", "-c", script),
        cwd=elsewhere,
        PYTHONPATH=str(site),
    )
    version, file = printed.split()
    assert info == f"linad-{version}.dist-info"
    assert Path(file) == site / "linad" / "rules" / "__init__.py"


@pytest.mark.full
def test_sdist_holds_tests_and_documentation(sdist):
    with tarfile.open(sdist) as archive:
        names = {Path(*Path(name).parts[1:]) for name in archive.getnames()}
    wanted = ["tests/test_layers.py", "docs/conf.py", "tox.ini", "CHANGELOG.md", "LICENSE"]
    assert [name for name in wanted if Path(name) not in names] == []
    assert not [name for name in names if "__pycache__" in name.parts]


def test_no_upper_bounds():
    """A cap on a dependency outlives its reason and blocks the users' other packages."""
    project = PYPROJECT["project"]
    requirements = [project["requires-python"], *project["dependencies"]]
    assert [r for r in requirements if "<" in r or "==" in r] == []


def test_the_conda_recipe_asks_for_what_the_wheel_asks_for():
    recipe = (ROOT / "recipe" / "recipe.yaml").read_text(encoding="utf-8")
    project = PYPROJECT["project"]
    wanted = [*project["dependencies"], *PYPROJECT["build-system"]["requires"]]
    asked = [re.sub(r"(\s*)>=", " >=", requirement) for requirement in wanted]
    assert [r for r in asked if f"    - {r}\n" not in recipe] == []
    oldest = project["requires-python"].removeprefix(">=")
    assert f'python_min: "{oldest}"' in recipe
    assert "    - python >=${{ python_min }}\n" in recipe
    [(command, target)] = project["scripts"].items()
    assert f"- {command} = {target}\n" in recipe
    fallback = PYPROJECT["tool"]["hatch"]["version"]["fallback-version"]
    assert f'version: "{fallback.partition(".dev")[0]}"' in recipe
    assert project["description"] in recipe
