"""Functions of Python's that are not defined at a trial point: ``math.log(-1.0)`` raises."""

from typing import Any

from linad.core import tree
from linad.core.primitive import Traced
from linad.core.showing import shown

_TOLD = ("math domain error", "expected a positive", "expected a nonnegative")


def is_of_domain(error: Exception) -> bool:
    """Whether a function of Python's is not defined at a number: other parameters may be the
    remedy."""
    return isinstance(error, ArithmeticError) or str(error).startswith(_TOLD)


def tell_of_domain(
    solver: str, called: str, p: Any, error: Exception, first: bool = False
) -> None:
    """Note at which parameters a function of the user's has left the domain of another one."""
    if not is_of_domain(error):
        return
    leaves, structure = tree.flatten(p)
    there = [leaf.concrete if isinstance(leaf, Traced) else leaf for leaf in leaves]
    instead = "-np.inf" if solver == "maximum_likelihood" else "np.nan"
    remedy = "start" if first else "bounds= keep them"
    error.add_note(
        f"{solver}: {called} was called with the parameters "
        f"{shown(tree.unflatten(structure, there))}; {remedy} where it is defined, or let "
        f"it return {instead} elsewhere, as NumPy's functions do"
    )
