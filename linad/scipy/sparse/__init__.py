"""scipy.sparse, traced.

``A @ x`` and ``x @ A`` of a constant sparse A and a traced x work with SciPy's own classes;
see `linad.rules.sparse`. What is here is what they cannot do.
"""

from typing import Any

import scipy.sparse


def __getattr__(name: str) -> Any:
    if name == "linalg":
        import linad.scipy.sparse.linalg as linalg

        return linalg
    return getattr(scipy.sparse, name)


def __dir__() -> list[str]:
    return dir(scipy.sparse)
