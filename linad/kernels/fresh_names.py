"""Names for values in a derivative, which nothing else there has.

The derivative of ``w1`` is ``w1_b1``, and ``w1_b1`` could also be the second name that is made for
a value called ``w``.
"""

import itertools

from linad.kernels.analysis import KernelProgram


class FreshNames:
    """Makes names that end as those of derivatives do.

    Parameters
    ----------
    program : KernelProgram
        What is differentiated.
    suffix : str
        What names of derivatives end in.
    """

    def __init__(self, program: KernelProgram, suffix: str) -> None:
        self.suffix, self.numbers = suffix, itertools.count()
        self.taken = {*program.kinds, *[name + suffix for name in program.kinds]}

    def make(self, name: str) -> str:
        """A new name, beginning with this one."""
        while True:
            found = f"{name}{next(self.numbers)}{self.suffix}"
            if found not in self.taken:
                self.taken.add(found)
                return found
