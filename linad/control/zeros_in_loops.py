"""Which zeros of what nobody reads the pull of a loop loses.

    w_k = J_k^H w_{k+1}        w_n: the cotangents of the results

One body pulls back through every repetition, and takes it that all entries of what it is given are
read. That is so in each repetition, from the last to the first, if it is so in the last one, and
if a repetition whose results are read wholly reads its carries wholly. Then zeros are lost, if at
all, within one repetition, as in a program without loops (`linad.transforms.unread_entries`); and
arguments are read wholly, too, if one repetition reads them so.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from linad.transforms.unread_entries import guarded, may_spoil_zeros


class ZerosInLoop(NamedTuple):
    """What one repetition says of all.

    Attributes
    ----------
    spoils : bool
        Whether it has slopes that may not be finite.
    loses : bool
        Whether it loses zeros though all of its results are read.
    carries, others : bool
        Whether it reads all entries of the carries that it hands on, of all other arguments, if
        all of its results are read.
    """

    spoils: bool
    loses: bool
    carries: bool
    others: bool

    @classmethod
    def of(cls, J: Any, carried: Sequence[bool]) -> "ZerosInLoop":
        """That of the derivative of one repetition.

        Parameters
        ----------
        J : TapeOperator
        carried : sequence of bool
            Whether each of its arguments is a carry that is handed on with a cotangent.
        """
        _, unsure, reached = guarded(J, found=False, inputs=True)

        def wholly(kind: bool) -> bool:
            masks = zip(reached, carried, strict=bool(reached))
            return not (unsure or any([m is not None for m, c in masks if c is kind]))

        spoils = may_spoil_zeros(J)
        loses = spoils and guarded(J, found=False).partial
        return cls(spoils, loses, wholly(True), wholly(False))

    def lost(self, whole: bool, behind: bool) -> bool:
        """Whether zeros are lost in the loop, or where slopes are behind it that may spoil them.

        ``whole`` says whether all entries of each carry, and of each row of results, are read in
        the end.
        """
        within = self.loses or (self.spoils and not (whole and self.carries))
        return within or (behind and not (whole and self.carries and self.others))
