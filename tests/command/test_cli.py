"""The command line: exit codes, messages, what it prints, how it draws."""

import re
import subprocess
import sys

import numpy as np
import pytest

import linad
from linad.command import checks, cli
from linad.command.terminal import Terminal

MODEL = """
import math
import numpy as np
import linad
from neighbour import two

x0 = np.array([0.3, 1.7])

def scalar(x):
    return np.sum(np.sin(x) * x)

def vector(a, b, n=3):
    return a * b, np.exp(a) / n

def linear(x):
    return two * np.sum(x)

def cube(x):
    return x * x * x

def sharp(x):
    return np.sum(np.sqrt(x * x))

def kink(x):
    return np.sum(np.abs(x))

def wrong(x):
    return np.sum(linad.stop_gradient(x) * x)

def wrong_hessian(x):
    fixed = linad.stop_gradient(x)
    return np.sum(2 * fixed * x - fixed * fixed)

def constant(x):
    return 3.0

def nothing(x):
    x + 1

def untraced(x):
    return x * math.sin(x[0])

def raises(x):
    return np.linalg.inv(np.zeros((2, 2))) @ x

def overwrites(x):
    total = np.sum(x * x)
    if type(x) is np.ndarray:
        x[...] = 0.0
    return total

class Model:
    @staticmethod
    def loss(x):
        return np.sum(x * x)
"""


@pytest.fixture
def model(tmp_path, monkeypatch):
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "neighbour.py").write_text("two = 2.0\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    sys.modules.pop("_linad_file_model", None)
    sys.modules.pop("neighbour", None)


def check(capsys, function, at, *options):
    """Run `linad check`; return its status and what it printed."""
    status = cli.main(["check", f"model.py:{function}", "--at", at, *options])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def test_no_command_shows_the_commands(capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main([])
    assert stopped.value.code == cli.USAGE
    assert "linad demo" in capsys.readouterr().err


@pytest.mark.parametrize(
    "function, at",
    [
        ("scalar", "np.linspace(0.1, 1, 4)"),
        ("scalar", "x0"),
        ("scalar", "np.float32(x0)"),
        ("scalar", "np.array([0.5, 1e-3, 1e3])"),
        ("scalar", "x0 + 0.5j"),
        ("cube", "x0"),
        ("cube", "np.float64(1.5)"),
        ("cube", "1.5"),
        ("cube", "np.zeros(3)"),
        ("vector", "(x0, 2.0)"),
        ("vector", "(x0, np.array([[1.0], [2.0]]), 4)"),
        ("linear", "x0"),
        ("overwrites", "x0"),
        ("Model.loss", "x0"),
        ("sharp", "x0"),
    ],
)
def test_a_correct_derivative_passes(model, capsys, function, at):
    status, out, err = check(capsys, function, at)
    assert (status, err) == (0, "")
    assert "Correct: all 6 checks passed." in out


def test_what_is_printed(model, capsys):
    _, out, _ = check(capsys, "vector", "(x0, 2.0, 4)")
    assert "vector  model.py:" in out
    assert re.search(r"a +float64 \(2,\)\n", out)
    assert re.search(r"b +float64 \(\)\n", out)
    assert re.search(r"n +int64 \(\) +held fixed\n", out)
    assert "value  tuple of float64 (2,), float64 (2,)" in out
    assert re.search(r"Taylor .* order 2\.0\d +order 2", out)
    assert re.search(r"Hessian .* order (3\.0|2\.9)\d +order 3", out)
    assert max(map(len, out.splitlines())) <= 80


def test_order_one_leaves_the_hessian_out(model, capsys):
    status, out, _ = check(capsys, "scalar", "x0", "--order", "1")
    assert status == 0
    assert "Hessian" not in out
    assert "all 4 checks passed" in out


def test_the_seed_decides_the_directions(model, capsys):
    first = check(capsys, "scalar", "x0", "--seed", "5")
    assert check(capsys, "scalar", "x0", "--seed", "5") == first
    assert check(capsys, "scalar", "x0", "--seed", "6") != first


def test_a_remainder_that_is_rounding_passes(model, capsys):
    status, out, _ = check(capsys, "linear", "x0")
    assert status == 0
    assert out.count("rounding only") == 2


@pytest.mark.parametrize(
    "function, at, failed",
    [
        ("wrong", "x0", "differences, Taylor, Hessian"),
        ("wrong_hessian", "x0", "Hessian"),
        ("kink", "np.array([0.0, 1.0])", "Taylor, Hessian, symmetry"),
    ],
)
def test_a_wrong_derivative_fails(model, capsys, function, at, failed):
    status, out, err = check(capsys, function, at)
    assert (status, err) == (1, "")
    assert re.search(rf"Wrong: \d of 6 checks failed: {failed}\.", out)
    assert "stop_gradient" in out
    assert max(map(len, out.splitlines())) <= 80


def test_a_small_error_of_the_derivative_is_seen():
    """A slope off by 1e-5 leaves a remainder of order 2 at first, of order 1 at last."""

    def f(x):
        return np.sum(x * x) + 1e-5 * (np.sum(linad.stop_gradient(x)) - np.sum(x))

    findings = {finding.name: finding for finding in checks.run_checks(f, (np.ones(3),))}
    assert not findings["Taylor"].passed
    assert not findings["differences"].passed
    assert findings["dot test"].passed


def test_a_function_with_randomness_fails():
    rng = np.random.default_rng(0)

    def f(x):
        return np.sum(x * x) * rng.standard_normal()

    findings = {finding.name: finding for finding in checks.run_checks(f, (np.ones(3),))}
    assert not findings["value"].passed
    assert "randomness" in cli._hint(["value"])


@pytest.mark.parametrize(
    "function, at, message",
    [
        ("constant", "x0", "OutputError: constant returned the Python float 3.0"),
        ("nothing", "x0", "OutputError: "),
        ("untraced", "x0", "TracerError: math.sin() would take"),
    ],
)
def test_what_linad_cannot_differentiate(model, capsys, function, at, message):
    status, _, err = check(capsys, function, at)
    assert status == 1
    assert message in err
    assert "Traceback" not in err
    assert function != "untraced" or re.search(r"model\.py:\d+\)\n$", err)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (
            ["check", "model.py:scalar"],
            '--at "np.ones(3)", or a tuple of the arguments of scalar(x)',
        ),
        (["check", "model.py:scalar", "--at", "1, 2"], "one array is np.array([...])"),
        (["check", "model.py", "--at", "x0"], "'model.py' is not of the form FILE.py:FUNCTION"),
        (["check", "gone.py:f", "--at", "x0"], "the file gone.py does not exist"),
        (["check", "model.py:gone", "--at", "x0"], "no function 'gone'; it has: scalar, vector"),
        (["check", "model.py:x0", "--at", "x0"], "model.py:x0 must be a function, got array("),
        (["check", "model.py:scalar", "--at", "x0 +"], "--at 'x0 +': SyntaxError"),
        (["check", "model.py:scalar", "--at", "y0"], "NameError: name 'y0' is not defined"),
        (["check", "model.py:scalar", "--at", "3"], "write 2.0 instead of 2"),
        (["check", "model.py:scalar", "--at", "(x0, x0)"], "the function is scalar(x): too many"),
        (["check", "model.py:scalar", "--at", "x0 * np.nan"], "scalar is not finite"),
        (["check", "model.py:scalar", "--at", "gone.npz"], "the file gone.npz does not exist"),
        (["check", "model.py:raises", "--at", "x0"], "raises raised LinAlgError: Singular matrix"),
        (["show", "model.py:gone", "--at", "x0"], "no function 'gone'"),
        (["check", "broken.py:f", "--at", "x0"], "broken.py does not run: SyntaxError"),
        (["check", "fails.py:f", "--at", "x0"], "ZeroDivisionError: division by zero (fails.py:2)"),
    ],
)
def test_wrong_usage(model, capsys, arguments, message):
    (model / "broken.py").write_text("def f(:\n")
    (model / "fails.py").write_text("\n1 / 0\n")
    assert cli.main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("linad: ")
    assert message in printed.err
    assert printed.err.count("\n") == 1


@pytest.mark.parametrize("arguments", [[], ["check"], ["nonsense"]])
def test_missing_arguments(capsys, arguments):
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    assert stop.value.code == 2
    assert "usage: linad" in capsys.readouterr().err


class TestPointFiles:
    def test_arrays_named_as_the_parameters(self, model, capsys):
        np.savez("point.npz", b=np.float64(2.0), a=np.ones(3), n=np.int64(5))
        status, out, _ = check(capsys, "vector", "point.npz")
        assert status == 0
        assert re.search(r"a +float64 \(3,\)\n +b +float64 \(\)\n +n +int64 \(\) +held", out)

    def test_arrays_in_order(self, model, capsys):
        np.savez("point.npz", np.ones(3), 2.0)
        assert check(capsys, "vector", "point.npz")[0] == 0

    def test_one_array(self, model, capsys):
        np.save("point.npy", np.ones(2))
        assert check(capsys, "scalar", "point.npy")[0] == 0
        (model / "point.npy").write_bytes(b"not an array")
        status, _, err = check(capsys, "scalar", "point.npy")
        assert status == 2
        assert "point.npy is not an .npy file of plain arrays" in err

    def test_more_than_ten_arrays_keep_their_order(self, model, capsys):
        (model / "model.py").write_text("def last(*x):\n    return x[0] * 0.0 + x[10]")
        np.savez("point.npz", *map(float, range(11)))
        status, out, _ = check(capsys, "last", "point.npz")
        assert status == 0
        assert "x[10]" in out
        assert re.search(r"value +float64 \(\) +10\n", out)

    def test_keyword_only_parameters(self, model, capsys):
        (model / "model.py").write_text("def f(a, *, scale):\n    return a * scale")
        np.savez("point.npz", a=np.ones(2), scale=np.array([1.0, 2.0]))
        assert check(capsys, "f", "point.npz")[0] == 0

    def test_unknown_names(self, model, capsys):
        np.savez("point.npz", a=np.ones(3), c=np.ones(3))
        status, _, err = check(capsys, "vector", "point.npz")
        assert status == 2
        assert "point.npz gives a, c, but the function is vector(a, b, n=3)" in err

    @pytest.mark.parametrize("content", [b"", b"not a zip file"])
    def test_no_archive(self, model, capsys, content):
        (model / "point.npz").write_bytes(content)
        status, _, err = check(capsys, "vector", "point.npz")
        assert status == 2
        assert "point.npz is not an .npz file of plain arrays" in err


def test_show(model, capsys):
    assert cli.main(["show", "model.py:scalar", "--at", "x0"]) == 0
    out = capsys.readouterr().out
    forward, reverse = out.split("# reverse")
    assert forward.startswith("# forward: ")
    assert "scalar(%0: float64[2]):" in forward
    assert "np.sum(np.sin(x) * x)" in forward
    assert "= sin(%0)" in forward
    assert "pullback of scalar" in reverse
    assert "cli.main" not in reverse


@pytest.mark.compiles
@pytest.mark.parametrize(
    "function, at, title", [("scalar", "x0", "# gradient"), ("vector", "(x0, 2.0)", "# Jacobian")]
)
def test_explain(model, capsys, function, at, title):
    assert cli.main(["explain", f"model.py:{function}", "--at", at]) == 0
    out = capsys.readouterr().out
    value, derivative = out.split(title)
    for part in (value, derivative):
        assert re.search(r"steps? a call", part)
        assert "# model.py:" in part
    assert "test_cli.py" not in out  # the command is no line of the user's


@pytest.mark.rest
def test_version_and_help(capsys):
    run = [sys.executable, "-m", "linad", "--version"]
    version = subprocess.run(run, capture_output=True, text=True, check=True)
    assert version.stdout == f"linad {linad.__version__}\n"
    with pytest.raises(SystemExit) as ended:
        cli.main(["--help"])
    assert ended.value.code == 0
    assert "linad check model.py:loss --at" in capsys.readouterr().out


@pytest.mark.rest
def test_a_reader_that_leaves_is_no_error(model):
    command = [sys.executable, "-m", "linad", "show", "model.py:scalar", "--at", "x0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_plain_ascii(model, capsys, monkeypatch):
    monkeypatch.setattr(Terminal, "of", classmethod(lambda cls: cls(80)))
    _, out, _ = check(capsys, "wrong", "x0")
    assert out.isascii()
    assert max(map(len, out.splitlines())) <= 80
    assert re.search(r"^  NO Taylor", out, re.MULTILINE)
