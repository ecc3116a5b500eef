"""The mathematics: one primitive a function, one Jacobian operator an argument.

Importing this package registers every rule; `linad` does it once.
"""

from linad.rules import (
    arithmetic,
    comparison,
    complex,
    creation,
    diagonals,
    elementary,
    extrema,
    indexing,
    joining,
    padding,
    rearranging,
    reductions,
    shaping,
)

__all__ = [
    "arithmetic",
    "comparison",
    "complex",
    "creation",
    "diagonals",
    "elementary",
    "extrema",
    "indexing",
    "joining",
    "padding",
    "rearranging",
    "reductions",
    "shaping",
]
