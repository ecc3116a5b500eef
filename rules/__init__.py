"""The mathematics: one primitive a function, one Jacobian operator an argument.

Importing this package registers every rule; `linad` does it once.
"""

from linad.rules import (
    arithmetic,
    calculus,
    comparison,
    complex,
    counting,
    creation,
    cumulative,
    diagonals,
    elementary,
    extrema,
    indexing,
    joining,
    padding,
    polynomials,
    quantiles,
    rearranging,
    reductions,
    shaping,
    sorting,
    spacing,
    statistics,
)

__all__ = [
    "arithmetic",
    "calculus",
    "comparison",
    "complex",
    "counting",
    "creation",
    "cumulative",
    "diagonals",
    "elementary",
    "extrema",
    "indexing",
    "joining",
    "padding",
    "polynomials",
    "quantiles",
    "rearranging",
    "reductions",
    "shaping",
    "sorting",
    "spacing",
    "statistics",
]
