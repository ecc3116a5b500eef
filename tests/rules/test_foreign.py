"""SciPy's operators as primitives."""

import numpy as np
from scipy.sparse.linalg import aslinearoperator

from linad.operators.foreign import apply_operator
from linad.testing.rule_checks import Case

rng = np.random.default_rng(0)
REAL = aslinearoperator(rng.standard_normal((3, 2)).astype(np.float32))
COMPLEX = aslinearoperator(rng.standard_normal((3, 2)) + 1j * rng.standard_normal((3, 2)))

CASES = [
    Case(apply_operator, rng.standard_normal(2), op=REAL, adjoint=False),
    Case(apply_operator, rng.standard_normal((4, 3)), op=REAL, adjoint=True),
    Case(
        apply_operator,
        rng.standard_normal(2) + 1j,
        op=COMPLEX,
        adjoint=False,
        check={"float32": False},
    ),
]
