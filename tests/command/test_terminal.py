"""What a terminal can show: characters, colours and plots."""

import io
import re

import numpy as np
import pytest

from linad.command.terminal import Canvas, Series, Terminal, legend, plot


class TestTerminal:
    def stream(self, encoding):
        return io.TextIOWrapper(io.BytesIO(), encoding=encoding)

    @pytest.mark.parametrize(
        "encoding, unicode", [("utf-8", True), ("ascii", False), ("latin-1", False)]
    )
    def test_the_encoding_decides(self, encoding, unicode):
        assert Terminal.of(self.stream(encoding)).unicode is unicode

    @pytest.mark.parametrize("columns, width", [("80", 80), ("10", 40), ("400", 100)])
    def test_the_width_is_that_of_the_terminal(self, monkeypatch, columns, width):
        monkeypatch.setenv("COLUMNS", columns)
        assert Terminal.of(self.stream("utf-8")).width == width

    def test_colours_only_on_a_terminal(self, monkeypatch):
        class Screen(io.TextIOWrapper):
            def isatty(self):
                return True

        monkeypatch.delenv("NO_COLOR", raising=False)
        monkeypatch.setenv("TERM", "xterm")
        screen = Screen(io.BytesIO(), encoding="utf-8")
        assert Terminal.of(screen).paint("x", "red") == "\x1b[31mx\x1b[0m"
        assert Terminal.of(self.stream("utf-8")).paint("x", "red") == "x"
        monkeypatch.setenv("NO_COLOR", "1")
        assert not Terminal.of(screen).colour

    def test_marks(self):
        assert Terminal(unicode=True).mark(True) == "✓"
        assert Terminal(unicode=False).mark(False) == "NO"

    def test_a_diagonal_in_braille(self):
        canvas = Canvas(2, 1, (0, 3), (0, 3), Terminal(unicode=True))
        canvas.line([0, 1, 2, 3, 3], [0, 1, 2, 3, 3], "", ".")
        canvas.marks([9], [9], "", "o")  # outside: not drawn
        assert canvas.lines() == ["⡠⠊"]

    def test_a_line_in_ascii(self):
        canvas = Canvas(5, 3, (0, 4), (0, 2), Terminal())
        canvas.line([0, 4, 4], [1, 1, 1], "", "*")
        canvas.marks([0, 4], [0, 2], "", "o")
        assert canvas.lines() == ["    o", "*****", "o    "]

    def test_a_dashed_line(self):
        canvas = Canvas(9, 1, (0, 8), (0, 1), Terminal())
        canvas.line([0, 8], [0, 0], "", "-", dash=2)
        assert canvas.lines() == ["--  --   "]

    @pytest.mark.parametrize(
        "terminal", [Terminal(60, True), Terminal(60), Terminal(60, True, True)]
    )
    def test_plot(self, terminal):
        x = np.arange(5.0)
        series = [Series("hare", "yellow", (x, x), (x, x), "●", "o", ".")]
        text = plot(series, range(5), range(0, 5, 2), terminal, height=6)
        lines = re.sub("\x1b\\[\\d+m", "", text).splitlines()
        assert len(lines) == 8
        assert max(map(len, lines)) <= 60
        assert text.count("●" if terminal.unicode else "o") == 5
        assert lines[-1].split() == list("01234")
        assert [line.split()[0] for line in lines if line[0:3].strip().isdigit()] == ["4", "2", "0"]
        if not terminal.unicode:
            assert text.isascii()
        assert "hare" in legend(series, terminal)
