"""The mathematics: one primitive a function, one Jacobian operator an argument.

Importing this package registers every rule; `linad` does it once.
"""

from linad.rules import elementwise, reductions, shaping

__all__ = ["elementwise", "reductions", "shaping"]
