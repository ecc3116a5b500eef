"""Drawing in a terminal: lines of braille dots, marks, marked results.

A braille character is a cell of 2 x 4 dots, so a plot of 72 x 16 characters has 144 x 64.
Where the terminal's encoding has no braille, plain ASCII takes its place.
"""

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TextIO

import numpy as np

# Bit of each dot of a braille cell, by row and column.
DOTS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])

COLOURS = {"yellow": "33", "cyan": "36", "green": "32", "red": "31", "faint": "2", "bold": "1"}

NARROWEST, WIDEST = 40, 100


@dataclass
class Terminal:
    """What a stream can show.

    Attributes
    ----------
    width : int
        In characters.
    unicode : bool
        Whether it can show braille, box lines and check marks.
    colour : bool
        Whether ANSI colours are welcome.
    """

    width: int = 80
    unicode: bool = False
    colour: bool = False

    @classmethod
    def of(cls, stream: TextIO | None = None) -> "Terminal":
        """Return what ``stream``, standard output by default, can show."""
        stream = sys.stdout if stream is None else stream
        plain = "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
        return cls(
            width=min(max(NARROWEST, shutil.get_terminal_size().columns), WIDEST),
            unicode=can_encode("⣿●○│┤┴✓✗·", stream),
            colour=stream.isatty() and not plain,
        )

    def paint(self, text: str, colour: str) -> str:
        """``text`` in one of COLOURS (or "" for none), where colours are welcome."""
        if not self.colour or not colour:
            return text
        return f"\x1b[{COLOURS[colour]}m{text}\x1b[0m"

    def mark(self, passed: bool) -> str:
        """A check mark, or a cross."""
        text = ("✓" if passed else "✗") if self.unicode else ("ok" if passed else "NO")
        return self.paint(text, "green" if passed else "red")


def can_encode(text: str, stream: TextIO) -> bool:
    """Whether the stream's encoding has every character of ``text``."""
    try:
        text.encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


@dataclass
class Series:
    """Points of one quantity, and a curve through them.

    Attributes
    ----------
    name : str
    colour : str
        One of COLOURS.
    points, curve : tuple of two arrays
        Abscissae and ordinates; points of the curve lie close enough to be joined.
    mark : str
        One character a point.
    ascii_mark, ascii_dot : str
        What stands for a point, and for the curve, in plain ASCII.
    dash : int
        Draw this many dots of the curve, then leave as many out; 0 draws all.
    """

    name: str
    colour: str
    points: tuple[Any, Any]
    curve: tuple[Any, Any]
    mark: str
    ascii_mark: str
    ascii_dot: str
    dash: int = 0


class Canvas:
    """A grid of characters that lines are drawn on in dots, and marks in whole cells.

    Parameters
    ----------
    width, height : int
        In characters.
    x_range, y_range : tuple of float
        What the first and last dots stand for.
    terminal : Terminal
    """

    def __init__(
        self,
        width: int,
        height: int,
        x_range: tuple[float, float],
        y_range: tuple[float, float],
        terminal: Terminal,
    ) -> None:
        self.width, self.height, self.terminal = width, height, terminal
        self.x_range, self.y_range = x_range, y_range
        self.across, self.down = (2, 4) if terminal.unicode else (1, 1)
        self.dots = np.zeros((height, width), int)
        self.cells: list[list[tuple[str, str]]] = [[(" ", "")] * width for _ in range(height)]

    def position(self, x: Any, y: Any) -> tuple[Any, Any]:
        """Column and row of the dots at (x, y), counted from the upper left."""
        columns = _scaled(x, self.x_range, self.width * self.across)
        rows = _scaled(y, self.y_range, self.height * self.down)
        return columns, self.height * self.down - 1 - rows

    def line(self, x: Any, y: Any, colour: str, dot: str, dash: int = 0) -> None:
        """Join the points (x[i], y[i]); ``dot`` is the character where there is no braille."""
        columns, rows = self.position(x, y)
        drawn = 0
        for k in range(len(columns) - 1):
            steps = max(abs(columns[k + 1] - columns[k]), abs(rows[k + 1] - rows[k]), 1)
            across = np.rint(np.linspace(columns[k], columns[k + 1], steps, endpoint=False))
            down = np.rint(np.linspace(rows[k], rows[k + 1], steps, endpoint=False))
            for column, row in zip(across.astype(int), down.astype(int), strict=True):
                if not dash or drawn // dash % 2 == 0:
                    self._dot(column, row, colour, dot)
                drawn += 1

    def _dot(self, column: int, row: int, colour: str, dot: str) -> None:
        if not (0 <= column < self.width * self.across and 0 <= row < self.height * self.down):
            return
        i, j = row // self.down, column // self.across
        if self.terminal.unicode:
            self.dots[i, j] |= DOTS[row % 4, column % 2]
            dot = chr(0x2800 + self.dots[i, j])
        self.cells[i][j] = (dot, colour)

    def marks(self, x: Any, y: Any, colour: str, mark: str) -> None:
        """Put a character at each point."""
        columns, rows = self.position(x, y)
        for column, row in zip(columns // self.across, rows // self.down, strict=True):
            if 0 <= column < self.width and 0 <= row < self.height:
                self.cells[row][column] = (mark, colour)

    def lines(self) -> list[str]:
        """The rows as text."""
        rows = []
        for row in self.cells:
            runs = groupby(row, key=lambda cell: cell[1])
            texts = ((colour, "".join(text for text, _ in run)) for colour, run in runs)
            rows.append("".join(self.terminal.paint(text, colour) for colour, text in texts))
        return rows


def _scaled(x: Any, span: tuple[float, float], count: int) -> Any:
    """Index, in 0 .. count - 1, of the dot nearest to each x."""
    low, high = span
    return np.rint((np.asarray(x, float) - low) / (high - low) * (count - 1)).astype(int)


def plot(
    series: Sequence[Series],
    x_ticks: Sequence[int],
    y_ticks: Sequence[int],
    terminal: Terminal,
    height: int = 16,
) -> str:
    """Return a plot of curves and points with axes.

    Parameters
    ----------
    series : sequence of Series
    x_ticks, y_ticks : sequence of int
        Labelled positions; the first and last bound the plot.
    terminal : Terminal
    height : int
        Rows of the plot, axis not counted.
    """
    margin = max(len(str(tick)) for tick in y_ticks) + 2
    canvas = Canvas(
        terminal.width - margin - 2,
        height,
        (x_ticks[0], x_ticks[-1]),
        (y_ticks[0], y_ticks[-1]),
        terminal,
    )
    for s in series:
        canvas.line(*s.curve, s.colour, s.ascii_dot, s.dash)
    for s in series:
        canvas.marks(*s.points, s.colour, s.mark if terminal.unicode else s.ascii_mark)

    bar, tee, corner, rule, foot = "│┤└─┴" if terminal.unicode else "|++-+"
    _, rows = canvas.position(np.zeros(len(y_ticks)), np.array(y_ticks))
    labels = dict(zip((rows // canvas.down).tolist(), y_ticks, strict=True))
    lines = [
        f"{labels.get(i, ''):>{margin - 1}} {tee if i in labels else bar}{text}".rstrip()
        for i, text in enumerate(canvas.lines())
    ]
    columns, _ = canvas.position(np.array(x_ticks), np.zeros(len(x_ticks)))
    ticks = (columns // canvas.across).tolist()
    axis = [rule] * canvas.width
    names = [" "] * (canvas.width + margin + 2)
    for column, tick in zip(ticks, x_ticks, strict=True):
        axis[column] = foot
        text = str(tick)
        start = min(column + margin + 1 - len(text) // 2, len(names) - len(text))
        names[start : start + len(text)] = text
    lines += [" " * margin + corner + "".join(axis), "".join(names).rstrip()]
    return "\n".join(lines)


def legend(series: Sequence[Series], terminal: Terminal) -> str:
    """One line that says what the marks of each series mean."""
    return "   ".join(
        terminal.paint(s.mark if terminal.unicode else s.ascii_mark, s.colour) + f" {s.name}"
        for s in series
    )
