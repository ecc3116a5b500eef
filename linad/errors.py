"""The errors linad raises, each also an instance of the built-in a caller would expect."""

from numpy.linalg import LinAlgError

from linad.frames import place


class LinadError(Exception):
    """Base of every error that linad raises on purpose."""


class Refusal(LinadError):
    """A traced value meets what linad does not trace.

    Attributes
    ----------
    place : str
        The user's file and line, as ``file:line``; the message ends with it.
    """

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        self.place = place()

    def __str__(self) -> str:
        text = super().__str__()
        return f"{text} (at {self.place})" if self.place else text


class ShapeError(LinadError, ValueError):
    """An array has another shape than the operation needs."""


class DTypeError(LinadError, TypeError):
    """An array has a dtype that cannot be used there (integers are not differentiable)."""


class OperandError(LinadError, TypeError):
    """An operator meets something that is no operator where one is needed."""


class ArgumentError(LinadError, TypeError, ValueError):
    """One of linad's functions was called with something that it cannot take."""


class OptionError(ArgumentError):
    """An option has a value that is none of those there are."""


class TreeError(LinadError, TypeError):
    """A container has another structure than the one it must match."""


class OutputError(LinadError, TypeError):
    """A differentiated function returned something that carries no derivative."""


class TracerError(Refusal, TypeError):
    """A traced value would leave the trace, and its derivative would be lost."""


class BytesError(TracerError, AttributeError):
    """A traced array was asked for its memory; it has none to lend."""


class LeakedTracerError(Refusal, RuntimeError):
    """A traced value was used after the function that traced it had returned."""


class UnsupportedError(Refusal, TypeError):
    """A NumPy or SciPy function that linad does not trace met a traced value."""


class MissingRuleError(LinadError, NotImplementedError):
    """A primitive has no Jacobian for an argument that needs one."""


class OpaqueRuleError(MissingRuleError):
    """A rule that runs on plain numbers only, C or `math` code, cannot be differentiated again."""


class WrongRuleError(LinadError, ValueError):
    """The two directions of a user's rule are not adjoint to each other."""


class GuardError(LinadError, RuntimeError):
    """A recorded program met a value for which Python would have taken another path."""


class FallbackError(LinadError, NotImplementedError):
    """A program cannot leave Python, because some of its operations run in NumPy."""


class ExportError(LinadError, NotImplementedError):
    """A program has an operation that cannot be written down as NumPy source."""


class OverwrittenError(LinadError, RuntimeError):
    """A plain array that a derivative refers to was overwritten while the function ran."""


class DegenerateError(LinadError, ArithmeticError):
    """A second derivative at equal eigenvalues or singular values, which is not known."""


class DerivativeError(LinadError, AssertionError):
    """A derivative does not pass a check."""


class NotHolomorphicError(LinadError, TypeError):
    """A complex function has no complex Jacobian matrix at this point."""


class ConvergenceError(LinadError, RuntimeError):
    """A solution that is differentiated through was not found; ``result`` tells how far it came."""

    def __init__(self, message: str, result: object = None) -> None:
        self.result = result
        super().__init__(message)


class WrongTagError(LinadError, ValueError):
    """What a user asserted of an operator is wrong."""


class SingularError(LinadError, LinAlgError):
    """A matrix that must be inverted is singular to working precision."""


class DensifyError(LinadError, MemoryError):
    """An operator would be turned into a dense matrix larger than the configured limit."""
