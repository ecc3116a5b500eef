"""What an operator can be asked about its zeros: a sparse matrix, the number of its entries, its
bandwidth, a picture.

Patterns are worked out in `linad.linalg.sparsity`; see `linad.operators.provided`.
"""

from typing import Any

from linad.operators.provided import ANSWERS


class SparseForms:
    """The part of `JacobianOperator` that deals with zeros."""

    __slots__ = ()

    def tosparse(self, format: str = "csr") -> Any:
        """Return the matrix as a sparse array (m, n).

        Parameters
        ----------
        format : str
            One of SciPy's: "csr", "csc", "coo", "bsr", "dia", "dok", "lil".

        Returns
        -------
        scipy.sparse.sparray
            With the operator's dtype. Every entry that may differ from zero at some point is
            stored, so that the places are the same wherever the program does the same.

        Raises
        ------
        OptionError
            For another format.
        DensifyError
            If the pattern has more entries than ``linad.config(densify_limit=...)``.
        NotHolomorphicError
            If the matrix is linear over the reals only.
        TracerError
            If the operator is itself being differentiated.

        Notes
        -----
        The pattern follows from the operators the program is made of, so nobody has to give
        it. The values cost as many seeds as its columns, or rows, have colours: those of a
        colour share no row. Long rows among short ones are pulled back one by one. Where
        products of sparse matrices are cheaper, these are formed. Pattern and colouring are
        kept for the next operator of the same structure: a Newton iteration pays for them once.

        Examples
        --------
        >>> import numpy as np, linad
        >>> _, J = linad.linearize(np.diff, np.zeros(4))
        >>> J.tosparse().toarray()
        array([[-1.,  1.,  0.,  0.],
               [ 0., -1.,  1.,  0.],
               [ 0.,  0., -1.,  1.]])
        """
        return ANSWERS.tosparse(self, format)

    def pattern(self) -> Any:
        """Return which entries may differ from zero, as a sparse array of bool (m, n).

        Returns
        -------
        scipy.sparse.csr_array

        Raises
        ------
        DensifyError
            If it has more entries than ``linad.config(densify_limit=...)``.

        Notes
        -----
        Exact for indexing, arithmetic, sums, sparse matrices and what is made of these; a
        function of a whole array that linad knows nothing about counts as dense.
        """
        return ANSWERS.pattern(self)

    @property
    def nnz(self) -> int:
        """Number of entries of `pattern`.

        Lists that many rows share are counted, not written out, so that a dense pattern of any
        size is counted as well.
        """
        return int(ANSWERS.count(self))

    @property
    def bandwidth(self) -> tuple[int, int]:
        """Number of diagonals of `pattern` below the main one, and above it."""
        return ANSWERS.bandwidth(self)

    def _repr_html_(self) -> str:
        return ANSWERS.picture(self)
