"""What random programs are written with."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Words:
    """A stock of statements with holes, and of what stands around them.

    In a statement ``{v}`` and ``{w}`` are arrays, ``{r}`` and ``{q}`` their real parts; ``{v3}``
    has rows of three, ``{s}`` is a number, ``{c}`` a constant and ``{n}`` a new name.

    Parameters
    ----------
    around : tuple of str
        Statements of the module: globals, helpers, objects.
    changes : tuple of str
        Statements that are run between calls.
    kinds : dict
        Of each kind of statement the statements, and how often the kind is taken. "hand" are whole
        statements that give ``{n}``; "write" give nothing; "branch" are conditions; others are
        expressions.
    shapes, dtypes : list
        Of arguments.
    moving : bool
        Whether shapes and dtypes of arguments, too, change between calls.
    """

    around: tuple[str, ...]
    changes: tuple[str, ...]
    kinds: dict[str, tuple[tuple[str, ...], int]]
    shapes: list[tuple[int, ...]]
    dtypes: list[str]
    moving: bool = False

    def of(self, kind: str) -> tuple[str, ...]:
        return self.kinds[kind][0]

    def drawn(self) -> list[str]:
        """The kinds, each as often as it is taken."""
        return [name for name, (_, weight) in self.kinds.items() for _ in range(weight)]


def joined(first: Words, second: Words, **changed: Any) -> Words:
    """The statements of two stocks; a kind of both is taken as often as in the second."""
    kinds = dict(first.kinds)
    for kind, (statements, weight) in second.kinds.items():
        kinds[kind] = (first.kinds.get(kind, ((), 0))[0] + statements, weight)
    fields = {
        "around": first.around + second.around,
        "changes": first.changes + second.changes,
        "kinds": kinds,
        "shapes": second.shapes,
        "dtypes": second.dtypes,
        "moving": second.moving,
    }
    return Words(**fields | changed)
