"""What an operator can be asked beside products: its structure, diagonal, norms, inverse.

The answers are worked out in `linad.linalg`; see `linad.operators.provided`.
"""

from typing import TYPE_CHECKING, Any

from linad.core.options import FLAG, POSITIVE_COUNT, SEED, takes
from linad.operators.provided import ANSWERS

if TYPE_CHECKING:
    from linad.linalg.estimates import Estimate
    from linad.operators.base import JacobianOperator

EXACT = FLAG.optional


class OperatorProperties:
    """The part of `JacobianOperator` that asks."""

    def simplified(self) -> "JacobianOperator":
        """Return the same operator in fewer, better known parts, where the algebra has some.

        Returns
        -------
        JacobianOperator
            Equal as a matrix: products of diagonals are multiplied out, Kronecker products
            merged, permutations and selections composed. A linearized function becomes the
            product and sum of what it is made of, if that has no more parts than the run had
            operations; of containers, an operator on flat vectors. Where nothing is gained,
            this operator itself (on flat vectors).

        Notes
        -----
        Costs about one application, and matrix products where these do not grow.

        Examples
        --------
        >>> import numpy as np, linad
        >>> _, J = linad.linearize(lambda x: np.exp(2 * x), np.zeros(3))
        >>> J.simplified()
        <Diagonal (3 x 3, float64): (3,) from (3,)>
        """
        return ANSWERS.simplified(self)  # type: ignore[no-any-return]

    @property
    def structure(self) -> tuple[str, ...]:
        """Names of what is known for certain of the matrix, the most telling first; often none.

        Such as ``"diagonal"``, ``"kronecker"``, ``"lower triangular"``, ``"symmetric"``,
        ``"positive definite"``, ``"block diagonal"``, ``"low rank plus diagonal"``. It
        follows from how the operator was made, and from the numbers of diagonals and given
        matrices. What `linad.tag` asserted counts as well.

        Examples
        --------
        >>> import numpy as np, linad
        >>> _, J = linad.linearize(lambda x: np.stack([np.sum(x), x @ x]), np.ones(5))
        >>> (J.T @ J + 0.1 * linad.eye(5)).structure
        ('low rank plus diagonal', 'symmetric', 'positive definite')
        """
        return ANSWERS.structure(self)  # type: ignore[no-any-return]

    @takes(exact=EXACT, samples=POSITIVE_COUNT, rng=SEED)
    def diagonal(
        self, *, exact: bool | None = None, samples: int = 64, rng: Any = None
    ) -> "Estimate":
        """Return the diagonal of a square matrix.

        Parameters
        ----------
        exact : bool, optional
            True: never estimate, if need be at the cost of n sweeps. False: random vectors
            even where n is small. None: exact if structure allows it or n is at most 1024.
        samples : int
            Number of random vectors of an estimate.
        rng : numpy.random.Generator or int, optional
            Their source (SPEC 7). By default a new one, seeded by the system.

        Returns
        -------
        Estimate
            With ``value`` (n,), whether it is ``exact``, and by what ``method``. It is an
            array where one is needed: ``np.asarray(J.diagonal())``.

        Raises
        ------
        ShapeError
            If the matrix is not square.

        Notes
        -----
        The estimate is the mean of z * (J z) / (z * z) over random signs z, whose relative
        error falls as 1/sqrt(samples). Source: C. Bekas, E. Kokiopoulou and Y. Saad, "An
        estimator for the diagonal of a matrix", Applied Numerical Mathematics 57, 2007.
        """
        return ANSWERS.diagonal(self, exact, samples, rng)  # type: ignore[no-any-return]

    @takes(exact=EXACT, samples=POSITIVE_COUNT, rng=SEED)
    def trace(self, *, exact: bool | None = None, samples: int = 64, rng: Any = None) -> "Estimate":
        """Return the trace of a square matrix.

        Parameters
        ----------
        exact, samples, rng
            As for `diagonal`.

        Returns
        -------
        Estimate
            With ``value``, whether it is ``exact``, by what ``method``, and the standard
            ``error`` of an estimate.

        Raises
        ------
        ShapeError
            If the matrix is not square.

        Notes
        -----
        Estimates are Hutch++: a third of the samples finds the range of the largest part,
        whose trace is then exact; the rest is estimated with random signs. Source: R. Meyer,
        C. Musco, C. Musco and D. Woodruff, "Hutch++: optimal stochastic trace estimation",
        SOSA 2021.
        """
        return ANSWERS.trace(self, exact, samples, rng)  # type: ignore[no-any-return]

    @takes(exact=EXACT, samples=POSITIVE_COUNT, rng=SEED)
    def norm_estimate(
        self, *, exact: bool | None = None, samples: int = 64, rng: Any = None
    ) -> "Estimate":
        """Return the spectral norm, the largest singular value.

        Parameters
        ----------
        exact : bool, optional
            True: form the matrix if need be. False: iterate even where it is small. None:
            exact if structure allows it or the smaller side is at most 256.
        samples : int
            Most steps of the iteration.
        rng : numpy.random.Generator or int, optional
            Source of its first vector (SPEC 7).

        Returns
        -------
        Estimate
            An estimate is a lower bound, up to rounding; ``error`` is the residual, within
            which there is a singular value.

        Notes
        -----
        Golub-Kahan-Lanczos bidiagonalisation with full orthogonalisation: each step costs a
        product with J and one with its adjoint. Source: G. Golub and C. Van Loan, "Matrix
        Computations", 4th edition, section 10.4.
        """
        return ANSWERS.norm_estimate(self, exact, samples, rng)  # type: ignore[no-any-return]

    @takes(exact=EXACT, samples=POSITIVE_COUNT, rng=SEED)
    def column_norms(
        self, *, exact: bool | None = None, samples: int = 64, rng: Any = None
    ) -> "Estimate":
        """Return the Euclidean norm of each column: what least squares scales variables by.

        Parameters
        ----------
        exact, samples, rng
            As for `diagonal`.

        Returns
        -------
        Estimate
            With ``value`` (n,).

        Notes
        -----
        The estimate is the root of the mean of ``|J^H z|^2`` over random signs z.
        """
        return ANSWERS.column_norms(self, exact, samples, rng)  # type: ignore[no-any-return]

    def inverse(self) -> "JacobianOperator":
        """Return the inverse as an operator, made to be applied many times.

        Returns
        -------
        JacobianOperator
            Exact, in closed form, where the structure has one (diagonal, Kronecker, circulant,
            triangular, banded, block triangular, running sums, low rank plus any of these
            ...); else a factorisation of the dense matrix (n at most 2000) or of the sparse one;
            else an operator that runs a Krylov solver each time it is applied.
            ``linad.solve_linear(J, b, explain=True)`` says which, and why.

        Raises
        ------
        ShapeError
            If the matrix is not square.
        SingularError
            If it is singular to working precision; a Krylov solver finds out when applied.

        Examples
        --------
        >>> import numpy as np, linad
        >>> _, J = linad.linearize(np.exp, np.zeros(3))
        >>> J.inverse()
        <Diagonal (3 x 3, float64): (3,) from (3,)>
        """
        return ANSWERS.inverse(self)  # type: ignore[no-any-return]
