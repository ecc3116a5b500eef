"""What a sum adds of one entry, so that as little as can be is rounded before it is added.

    Σ (a b + c d) = Σ a b + Σ c d      where no term is negative

Where no term is negative nothing cancels, so the error of the sum is bounded as before; where terms
may cancel, as in Σ (a - b), they are added to each other first. A product that nobody else reads is
added as ``held + a b`` with one rounding, by the one instruction that processors have for it.
"""

from collections import Counter
from typing import Any

import numpy as np

from linad.core.tape import Equation, Var
from linad.sweeps.loop_reductions import is_reduction
from linad.sweeps.scalar_rows import NEVER_NEGATIVE
from linad.sweeps.steps import Loop, operands_of


class SumTerms:
    """The terms of each sum of a loop.

    Parameters
    ----------
    loop : Loop
    stored : set of Var
        What the loop makes that others read.

    Attributes
    ----------
    terms : dict
        Of each sum of real numbers: what it adds, one after the other. A term is an operand,
        or the equation of a product.
    taken : set of Var
        What no statement need make: sums of terms, and products, that are in `terms`.
    """

    def __init__(self, loop: Loop, stored: set[Var]) -> None:
        self._made_by = {e.outputs[0]: e for e in loop.equations if not is_reduction(e)}
        self._readers = Counter(
            [a for e in loop.equations for a in operands_of(e) if isinstance(a, Var)]
        )
        self._stored = stored
        self._known: dict[Var, bool] = {}
        self.terms: dict[Var, list[Any]] = {}
        self.taken: set[Var] = set()
        for eqn in loop.equations:
            out = eqn.outputs[0]
            if eqn.primitive.name == "sum" and out.dtype.kind == "f":
                self.terms[out] = self._terms(eqn.inputs[0], out.dtype)

    def _terms(self, a: Any, dtype: np.dtype) -> list[Any]:
        maker = self._made_by.get(a) if isinstance(a, Var) else None
        if maker is None or a in self._stored or self._readers[a] > 1 or a.dtype != dtype:
            return [a]
        name = maker.primitive.name
        if name in ("multiply", "square"):
            self.taken.add(a)
            return [maker]
        if name == "add" and all([self._is_never_negative(b) for b in maker.inputs]):
            self.taken.add(a)
            return [term for b in maker.inputs for term in self._terms(b, dtype)]
        return [a]

    def _is_never_negative(self, a: Any) -> bool:
        """Whether an operand is zero, positive or NaN, whatever it is made from."""
        if not isinstance(a, Var):
            return bool((np.asarray(a) >= 0).all())
        if a not in self._known:
            self._known[a] = self._makes_none_negative(self._made_by.get(a))
        return self._known[a]

    def _makes_none_negative(self, maker: Equation | None) -> bool:
        if maker is None or maker.outputs[0].dtype.kind != "f":
            return False
        name, inputs = maker.primitive.name, maker.inputs
        if name in NEVER_NEGATIVE or (name == "multiply" and inputs[0] is inputs[1]):
            return True
        return name in ("add", "multiply", "divide") and all(
            [self._is_never_negative(b) for b in inputs]
        )
