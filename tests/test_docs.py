"""Every code block that a reader may copy runs here: README.md, ARCHITECTURE.md, docs/ and the
docstrings.

Blocks of one file share a namespace, in order. What a block shows is compared with what it
does: a ``python`` block followed by a ``text`` block must print it, ``>>>`` blocks are doctests.
A block below ``<!-- not run: reason -->`` is left out; ``tox -e gallery`` runs those that need
another library, whose reason says so.
"""

import contextlib
import dataclasses
import doctest
import functools
import importlib
import inspect
import io
import os
import re
import shlex
import tempfile
from pathlib import Path

import pytest
from needing_libraries import ELSEWHERE
from test_layers import FLOOR_OF, find_modules

import linad
from linad.command.cli import main
from linad.core.settings import Settings

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").glob("*.md"))]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS

FENCE = re.compile(r"^```(?P<kind>[^\n`]*)\n(?P<body>.*?)^```[ ]*$", re.MULTILINE | re.DOTALL)
NOT_RUN = re.compile(r"<!-- not run: \S.*? -->\s*\Z", re.DOTALL)
NOT_RUN_ANYWHERE = re.compile(r"<!-- not run: (?!.*tox -e gallery).*? -->\s*\Z", re.DOTALL)
RUN = {"python", "{code-cell}", "{code-cell} python", "pycon"}


def blocks_of(text):
    """The fenced blocks of a page: (kind, body, number of the first line, what stands between
    it and the block before)."""
    end = 0
    for match in FENCE.finditer(text):
        line = text.count("\n", 0, match.start("body"))
        yield match["kind"].strip(), match["body"], line, text[end : match.start()]
        end = match.end()


def without_options(body):
    """A notebook cell without its ``:tags:`` lines, which keep their place."""
    return re.sub(r"^:[\w-]+:.*$", "", body, flags=re.MULTILINE)


def run_page(path, names, left_out=NOT_RUN):
    """Run the blocks of a page, but for some; return how many there were."""
    count, printed = 0, None
    for kind, body, line, before in blocks_of(path.read_text(encoding="utf-8")):
        if kind == "text" and printed is not None and not before.strip():
            assert printed.rstrip() == body.rstrip(), f"{path.name}:{line}: prints otherwise"
        printed = None
        if kind not in RUN or left_out.search(before):
            continue
        count += 1
        if body.lstrip().startswith(">>>"):
            run_session(body, names, path, line)
        else:
            printed = run_block(without_options(body), names, path, line)
    return count


def run_block(body, names, path, line):
    """Run statements; return what they print. Tracebacks and tapes name the page's lines."""
    source = "\n" * line + body
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(source, str(path), "exec"), names)
    return printed.getvalue()


def run_session(body, names, path, line):
    """Run a ``>>>`` session as a doctest, in the page's namespace."""
    examples = doctest.DocTestParser().get_examples(body, path.name)
    test = doctest.DocTest(examples, names, path.name, str(path), line, body)
    test.globs = names  # DocTest copies its namespace; later blocks need what this one defines
    report(test)


def report(test):
    """Run a doctest and fail with what it printed."""
    printed = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    result = runner.run(test, out=printed.write, clear_globs=False)
    assert not result.failed, printed.getvalue()


@pytest.fixture
def unfrozen_to_adopt(request):
    """Where code is adopted, the garbage collector knows all objects; elsewhere it would only
    look at them again and again.
    """

    def prepare(text):
        if "linad.adopt(" in text:
            request.getfixturevalue("unfrozen")

    return prepare


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_page(path, tmp_path, monkeypatch, unfrozen_to_adopt):
    unfrozen_to_adopt(path.read_text(encoding="utf-8"))
    monkeypatch.chdir(tmp_path)
    run_page(path, {"__name__": "__main__"})


def modules():
    """Names of linad's modules with examples, the rules included."""
    found = {name for name, path in find_modules(ROOT).items() if ">>>" in path.read_text("utf-8")}
    return sorted(found - ELSEWHERE)


def is_ours(test, module):
    """Whether a docstring is linad's own, not one taken over from NumPy or SciPy."""
    names = test.name.removeprefix(module.__name__).strip(".").split(".")
    found = functools.reduce(getattr, [name for name in names if name], module)
    return not hasattr(found, "__wrapped__")


@pytest.mark.parametrize("name", modules())
def test_docstrings(name, unfrozen_to_adopt):
    module = importlib.import_module(name)
    unfrozen_to_adopt(inspect.getsource(module))
    run_docstrings(module)


def run_docstrings(module):
    """Run the examples in a module's own docstrings."""
    name = module.__name__
    for test in doctest.DocTestFinder(exclude_empty=True).find(module, name):
        if test.examples and is_ours(test, module):
            test.globs = {}  # a reader has only what the example imports
            report(test)


def shell_commands(path):
    """The command lines of a page's shell blocks, without prompts and continued lines."""
    for kind, body, _, before in blocks_of(path.read_text(encoding="utf-8")):
        if kind in {"sh", "bash", "console", "shell"} and not NOT_RUN.search(before):
            for line in body.replace("\\\n", " ").splitlines():
                yield line.removeprefix("$ ").strip()


COMMANDS = [
    "pip install . && linad demo",
    "pip install --upgrade pip && pip install -e . --group test && pytest",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_two_commands_are_run_in_ci(command):
    assert command in shell_commands(ROOT / "README.md")
    assert command in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


COMMAND_LINE = ROOT / "docs" / "command_line.md"
CONSOLE = re.compile(r"^```console\n\$ (linad [^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# What rounding and the machine decide: errors, orders, times, and how often a solver asks.
VARIES = re.compile(
    r"(?<=off by )\S+|(?<=at most )\S+|(?<=order )\d\.\d\d|[\d.]+(?= m?s\b| times)"
    r"|(?<=differ by )\S+|\de-\d+(?= )|\d+(?= (?:Jacobians|runs of the model))"
    r"|\d+ kernels? compiled|\d+(?= from disk)"
)


def printed_by(command, folder):
    """What a command of the page prints, in a folder with the page's model.py."""
    text = COMMAND_LINE.read_text(encoding="utf-8")
    model = next(body for _, body, _, _ in blocks_of(text) if body.startswith("# model.py"))
    (folder / "model.py").write_text(model, encoding="utf-8")
    printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with contextlib.chdir(folder), contextlib.redirect_stdout(printed):
        main(shlex.split(command)[1:])
    return printed.buffer.getvalue().decode("utf-8")


def paragraphs_of(printed):
    """Paragraphs with single blanks, without what varies."""
    return [VARIES.sub("#", " ".join(part.split())) for part in printed.strip().split("\n\n")]


@pytest.mark.rest
@pytest.mark.parametrize("command, shown", CONSOLE.findall(COMMAND_LINE.read_text("utf-8")))
def test_what_the_command_line_page_shows(command, shown, tmp_path, monkeypatch):
    """`python tests/test_docs.py` brings the page up to date."""
    monkeypatch.setenv("COLUMNS", "80")
    assert paragraphs_of(printed_by(command, tmp_path)) == paragraphs_of(shown)


def update_command_line_page():
    """Put into docs/command_line.md what its commands print now."""

    def block(match):
        printed = printed_by(match[1], Path(folder)).rstrip()
        return f"```console\n$ {match[1]}\n{printed}\n```"

    text = COMMAND_LINE.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        COMMAND_LINE.write_text(CONSOLE.sub(block, text), encoding="utf-8")


def test_every_error_is_explained():
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    names = [name for name, value in vars(linad.errors).items() if isinstance(value, type)]
    assert not [name for name in names if f"`{name}`" not in page and f"## {name}" not in page]


def test_every_setting_is_explained():
    page = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    for setting in dataclasses.fields(Settings):
        assert f"`{setting.name}`" in page


def test_the_drawing_of_floors_names_every_room():
    """A module at the top of linad/ is a room of its own."""
    for path in [*(ROOT / "linad").glob("*"), ROOT / "rules"]:
        if path.stem != "__init__" and (path.suffix == ".py" or (path / "__init__.py").exists()):
            assert f"linad.{path.stem}" in FLOOR_OF, path.stem


def test_linad_shows_few_rooms():
    assert len([p for p in (ROOT / "linad").iterdir() if p.name[:2] not in ("__", "py")]) <= 22


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md", "docs/internals.md"])
def test_the_files_that_a_page_for_developers_names_exist(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    named = re.findall(r"[\w/.]+\.py\b|`[\w.]+(?:/[\w.]+)*/`", text)
    assert len(named) > 20
    for name in named:
        places = [ROOT, ROOT / "linad", ROOT / "tests", ROOT / "linad" / "sweeps" / "cpu"]
        assert any((place / name.strip("`")).exists() for place in places), name


def test_links_between_files_lead_somewhere():
    """Sphinx checks those between the pages in docs/; these are read in the repository."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "examples").rglob("*.md")]
    assert len(pages) >= 6
    for page in pages:
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")):
            assert "://" in target or (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_map_fits_on_two_screens():
    assert len((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").splitlines()) <= 110


def test_the_runner_sees_a_wrong_page(tmp_path):
    """What the tests above rely on."""
    page = tmp_path / "page.md"
    for text, error in [
        ("```python\nprint(1)\n```\n\n```text\n2\n```\n", "prints otherwise"),
        ("```pycon\n>>> 1 + 1\n3\n```\n", "Expected"),
        ("```{code-cell}\n:tags: [hide-input]\n1 / 0\n```\n", "division"),
    ]:
        page.write_text(text)
        with pytest.raises((AssertionError, ZeroDivisionError), match=error):
            run_page(page, {})
    page.write_text("<!-- not run: it has no end -->\n```python\n1 / 0\n```\n")
    assert run_page(page, {}) == 0
    page.write_text(
        "```python\nx = 1\n```\nand\n```pycon\n>>> x\n1\n>>> y = 2\n```\n```python\ny\n```\n"
    )
    assert run_page(page, {}) == 3


if __name__ == "__main__":
    os.environ["COLUMNS"] = "80"
    update_command_line_page()
