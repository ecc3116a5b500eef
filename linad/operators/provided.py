"""What an operator is asked, and modules that are made of operators answer.

`JacobianOperator` has products, sums, a structure, an inverse, a sparse matrix; whatever works
them out needs operators of every kind, and so stands above the base class. Like the rules of
NumPy's functions, the answers are entered into a table that the base class reads:

    products, sums, powers                 `linad.operators.algebra`
    structure, estimates, inverse          `linad.linalg.operator_answers`
    sparse matrix, pattern, bandwidth      `linad.linalg.sparsity.operator_forms`
    application as one program             `linad.sweeps.compiled`, `linad.sweeps.fused_operators`
"""

from collections.abc import Callable
from typing import Any, TypeVar

Answer = TypeVar("Answer", bound=Callable[..., Any])


class OperatorAnswers:
    """Functions of an operator, by the name of the question."""

    def __setattr__(self, name: str, value: Any) -> None:
        assert name not in vars(self), f"{name} is answered already"
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:  # for the type checker; what is set is found
        raise AttributeError(f"nobody has answered {name!r}")


ANSWERS = OperatorAnswers()
OTHER: Any = object()
"""What a short way returns for arguments that the general way is for."""


def answer_of_operators(function: Answer) -> Answer:
    """Enter a function under its own name; a decorator."""
    setattr(ANSWERS, function.__name__, function)
    return function
