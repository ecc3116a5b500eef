"""The errors linad raises, each also an instance of the built-in a caller would expect."""

import typing

import numpy as np

from linad.core.frames import place
from linad.core.marks import mark


class LinadError(Exception):
    """Base of every error that linad raises on purpose."""


class ShapeError(LinadError, ValueError):
    """An array does not have the shape that the operation needs."""


class DTypeError(LinadError, TypeError):
    """An array has a dtype that cannot be used there (integers are not differentiable)."""


class OperandError(LinadError, TypeError):
    """An operator meets something that is not an operator where one is needed."""


class ArgumentError(LinadError, TypeError, ValueError):
    """One of linad's functions was called with something that it cannot take."""


class OptionError(ArgumentError):
    """An option has a value that is not among those allowed."""


class TreeError(LinadError, TypeError):
    """A container does not have the structure that it must match."""


class OutputError(LinadError, TypeError):
    """A differentiated function returned something that carries no derivative."""


class DisconnectedWarning(UserWarning):
    """A function was differentiated whose result depends on no argument: its derivative is 0."""


class AdoptionWarning(UserWarning):
    """linad adopted an installed package by itself, and ran the function again."""


class RefusalError(LinadError):
    """A traced value was refused what a plain one would have been given.

    Parameters
    ----------
    message : str
    kind : str, optional
        What was asked for, in a word; by default the name of the class.
    trace : Trace, optional
        Of the value that was refused; by default the one that is running.

    Attributes
    ----------
    place : str
        The user's file and line, as ``file:line``; the message ends with it.

    Notes
    -----
    Each leaves a mark on the trace; a function that swallows it raises `SwallowedError`.
    """

    leaves_mark: typing.ClassVar[bool] = True

    def __init__(self, *message: typing.Any, kind: str = "", trace: typing.Any = None) -> None:
        super().__init__(*message)
        self.place = place()
        if self.leaves_mark:
            mark(self, kind or type(self).__name__, trace)

    def __str__(self) -> str:
        text = super().__str__()
        return f"{text} (at {self.place})" if self.place else text


class TracerError(RefusalError, TypeError):
    """A traced value would leave the trace, and its derivative would be lost."""


class BytesError(TracerError, AttributeError):
    """A traced array was asked for its memory; it has none to lend."""

    leaves_mark = False  # who asks has another way, which sees the same array


class UselessValueError(TracerError):
    """A traced value was used as an index, a count or a C argument where a plain one fails, too."""

    leaves_mark = False  # a plain value of its kind is refused as well


class SwallowedError(TracerError):
    """A refusal was caught, and the function took a different path than with plain numbers."""

    leaves_mark = False


class LeakedTracerError(RefusalError, RuntimeError):
    """A traced value was used after the function that traced it had returned."""


class UnsupportedError(RefusalError, TypeError):
    """A NumPy or SciPy function that linad does not trace met a traced value."""


class MissingRuleError(RefusalError, NotImplementedError):
    """A primitive has no Jacobian for an argument that needs one."""


class OpaqueRuleError(MissingRuleError):
    """A rule that runs on plain numbers only, C or `math` code, cannot be differentiated again."""


class WrongRuleError(LinadError, ValueError):
    """The two directions of a user's rule are not adjoint to each other."""


class KernelError(LinadError, ValueError):
    """A function for `linad.kernel` is not in its language, or is called with the wrong arrays."""


class KernelRoomError(LinadError, MemoryError):
    """The process has no room for one more compiled kernel."""


class GuardError(LinadError, RuntimeError):
    """A recorded program met a value for which Python would have taken another path."""


class FallbackError(LinadError, NotImplementedError):
    """A program cannot leave Python, because some of its operations run in NumPy."""


class DeviceError(LinadError, RuntimeError):
    """There is no GPU to run on, or an array is not where it was expected."""


class ExportError(LinadError, NotImplementedError):
    """A program has an operation that cannot be written as NumPy source, or as an ONNX model."""


class OverwrittenError(LinadError, RuntimeError):
    """A plain array that a derivative refers to was overwritten while the function ran."""


class DegenerateError(LinadError, ArithmeticError):
    """A second derivative at equal eigenvalues or singular values, which is not known."""


class SearchError(LinadError, ValueError):
    """A function finds its result by comparisons, as bisection does; its derivative is another."""


class InternalError(LinadError, RuntimeError):
    """linad itself failed; nothing is wrong with the function. Please report it."""


class DerivativeError(LinadError, AssertionError):
    """A derivative does not pass a check."""


class NotHolomorphicError(LinadError, TypeError):
    """A complex function has no complex Jacobian matrix at this point."""


class ConvergenceError(LinadError, RuntimeError):
    """A solution that is differentiated through was not found; ``result`` tells how far it came."""

    def __init__(self, message: str, result: object = None) -> None:
        self.result = result
        super().__init__(message)


class LoopLimitError(ConvergenceError):
    """A loop has not come to its end within the stated number of repetitions."""


class ShardError(LinadError, RuntimeError):
    """A term of a sum over shards could not be computed; ``shard`` is its number."""

    def __init__(self, message: str, shard: int = 0) -> None:
        self.shard = shard
        super().__init__(message)


class BrokenPromiseError(LinadError, RuntimeError):
    """The repetitions of a `linad.loop` are not alike."""


class WrongTagError(LinadError, ValueError):
    """What a user asserted of an operator is wrong."""


class SingularError(LinadError, np.linalg.LinAlgError):
    """A matrix that must be inverted is singular to working precision."""


class DensifyError(LinadError, MemoryError):
    """An operator would be turned into a dense matrix larger than the configured limit."""
