"""What the rules of a user's primitive give, as operators; and whether they are right.

A rule may give an operator, a matrix, a pair of functions or a pullback alone. At its first use the
two directions are held against each other: <w, J v> = <J^H w, v>.
"""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse

from linad.api.opaque import Opaque, PlainRule, is_opaque
from linad.core import tree
from linad.core.array_type import Array
from linad.core.marks import Attempt
from linad.core.primitive import Rule, Traced
from linad.core.shapes import Shape, size_of
from linad.core.vectors import normal
from linad.errors import ShapeError, WrongRuleError
from linad.operators.algebra import as_operator, matching
from linad.operators.base import JacobianOperator
from linad.operators.facts import EVERYTHING
from linad.transforms.linearize import linearize_leaves


def called(rule: Rule, args: Any, params: Any, name: str, given: str) -> Any:
    """What a user's rule returns; WrongRuleError if it does not take what it is given."""
    try:
        return rule(*args, **params)
    except TypeError as error:
        try:
            signature = inspect.signature(rule)
        except (TypeError, ValueError):
            raise error from None
        try:
            signature.bind(*args, **params)
        except TypeError:
            keywords = f" and {', '.join(params)} by keyword" if params else ""
            raise WrongRuleError(
                f"{name} takes {signature}, and is called with {given}: {len(args)} by "
                f"position{keywords}"
            ) from None
        raise


def seen_or_opaque(
    rule: Rule, on_plain: Rule, y: Array, args: tuple[Any, ...], wrt: int, params: Any, name: str
) -> JacobianOperator:
    """The operator of a rule at a traced point; as a whole where the rule does not trace."""

    def instead(reason: Exception) -> Opaque:
        known = PlainRule(functools.partial(on_plain, **params), name, reason)
        return Opaque(known, (y, *args), y.shape, args[wrt].shape, y.dtype)

    attempt = Attempt()
    try:
        J = rule(y, *args, **params)
    except Exception as error:
        if not is_opaque(error):
            raise
        attempt.forget()
        return instead(error)
    return Tried(J, instead) if isinstance(J, (FromFunctions, FromPullback)) else J


class Tried(JacobianOperator):
    """An operator of a user's functions that may turn out not to trace: then ``instead``."""

    unknown = EVERYTHING

    owns_result = False

    def __init__(self, J: JacobianOperator, instead: Callable[[Exception], Any]) -> None:
        self.J, self.instead = J, instead
        super().__init__(J.out_shape, J.in_shape, J.dtype)

    def pushforward(self, tangent: Array) -> Array:
        return self._apply("pushforward", tangent)

    def pullback(self, cotangent: Array) -> Array:
        return self._apply("pullback", cotangent)

    def _apply(self, how: str, seeds: Array) -> Any:
        attempt = Attempt()
        try:
            return getattr(self.J, how)(seeds)
        except Exception as error:
            if not is_opaque(error):
                raise
            attempt.forget()
            self.J = self.instead(error)
            return getattr(self.J, how)(seeds)


class FromFunctions(JacobianOperator):
    """An operator made of a user's two functions, which take one seed at a time."""

    unknown = EVERYTHING

    owns_result = False

    def __init__(
        self,
        push: Callable[..., Any] | None,
        pull: Callable[..., Any],
        out_shape: Shape,
        in_shape: Shape,
        dtype: np.dtype[Any],
        name: str,
    ) -> None:
        self.push, self.pull, self.name = push, pull, name
        super().__init__(out_shape, in_shape, dtype)

    def pushforward(self, tangent: Array) -> Array:
        return self._seed_by_seed(self.push, tangent, self.in_shape, self.out_shape, "pushforward")

    def pullback(self, cotangent: Array) -> Array:
        return self._seed_by_seed(self.pull, cotangent, self.out_shape, self.in_shape, "pullback")

    def _seed_by_seed(
        self, function: Any, seeds: Any, taken: Shape, given: Shape, what: str
    ) -> Any:
        lead = seeds.shape[: seeds.ndim - len(taken)]
        rows = seeds.reshape((size_of(lead), *taken)) if lead else [seeds]
        results = []
        for k in range(len(rows)):
            y = function(rows[k])
            y = y if isinstance(y, Traced) else np.asarray(y)[()]
            if y.shape != given:
                raise ShapeError(
                    f"{self.name}: its {what} must return shape {given}, got {y.shape}"
                )
            results.append(y)
        if not lead:
            return results[0]
        return np.stack(results).reshape(lead + given) if results else np.zeros(lead + given)


def seed_axes(given: Sequence[Any], shapes: Sequence[Shape]) -> Shape:
    """The axes that seeds for values of these shapes have in front; None among them is zero."""
    return next(
        (g.shape[: g.ndim - len(s)] for g, s in zip(given, shapes, strict=True) if g is not None),
        (),
    )


def one_by_one(
    apply: Callable[[Sequence[Any]], Sequence[Any]], given: Sequence[Any], shapes: Sequence[Shape]
) -> tuple[Any, ...]:
    """What ``apply`` makes of seeds, which it takes one for each value, stacked in their axes."""
    lead = seed_axes(given, shapes)
    if not lead:
        return tuple(apply(given))
    each = [apply([None if g is None else g[k] for g in given]) for k in np.ndindex(*lead)]
    if not each:
        return tuple([np.zeros(lead + v.shape, v.dtype) for v in apply([None] * len(given))])
    return tuple([np.stack(v).reshape(lead + np.shape(v[0])) for v in zip(*each, strict=True)])


class FromPullback(JacobianOperator):
    """An operator made of a pullback alone; its adjoint is traced, if it is written in NumPy.

    Else its matrix is formed, row by row, when it is first pushed forward.
    """

    unknown = EVERYTHING

    def __init__(self, pulled: FromFunctions) -> None:
        self.pulled = pulled
        self.L: Any = None
        self.matrix: Any = None
        cotangent = np.ones(pulled.out_shape, pulled.dtype)
        attempt = Attempt()
        try:
            _, self.L = linearize_leaves(
                lambda seeds: pulled.pullback(seeds[0]), [cotangent], tree.LEAF
            )
        except Exception as error:
            if not is_opaque(error):
                raise
            attempt.forget()
        super().__init__(pulled.out_shape, pulled.in_shape, pulled.dtype)

    def pushforward(self, tangent: Array) -> Array:
        if self.L is not None:
            return self.L.pullback(tangent)
        if self.matrix is None:
            m = size_of(self.out_shape)
            units = np.eye(m, dtype=self.dtype).reshape((m, *self.out_shape))
            self.matrix = self.pulled.pullback(units).reshape(m, size_of(self.in_shape)).conj()
        lead = tangent.shape[: tangent.ndim - len(self.in_shape)]
        rows = tangent.reshape((*lead, size_of(self.in_shape)))
        return (rows @ self.matrix.T).reshape(lead + self.out_shape)

    def pullback(self, cotangent: Array) -> Array:
        return (self.pulled.pullback if self.L is None else self.L.pushforward)(cotangent)


def check_linear(given: Array, expected: Array, name: str) -> None:
    """Raise WrongRuleError unless what a pullback gave is what its linear part gives."""
    error, size = np.linalg.norm(given - expected), np.linalg.norm(expected)
    if not error <= 1e3 * np.finfo(expected.dtype).eps * (size + np.linalg.norm(given)):
        raise WrongRuleError(
            f"{name}: the pullback is not linear in the cotangent: it differs from its linear "
            f"part by {error:.3g}"
        )


def as_jacobian(found: Any, y: Array, x: Array, name: str) -> JacobianOperator:
    """Return what a user's rule gave as an operator between the shapes of x and y.

    Parameters
    ----------
    found : object
        A JacobianOperator; any LinearOperator, array (m, n) or sparse array; a pair
        ``(pushforward, pullback)`` of functions; or a pullback function alone.
    y, x : array
        The result (a tuple for several), and the argument.
    name : str
        For messages.

    Raises
    ------
    WrongRuleError
        If it is none of these, or has another size.
    """
    if isinstance(y, tuple):
        if isinstance(found, JacobianOperator):
            return found
        raise WrongRuleError(
            f"{name} returned a {type(found).__name__}; a primitive with several results needs "
            f"a JacobianOperator on tuples, or a rule registered with @f.pullback"
        )
    if isinstance(found, tuple) and len(found) == 2 and all(map(callable, found)):
        return FromFunctions(*found, y.shape, x.shape, y.dtype, name)
    if callable(found) and not hasattr(found, "shape"):
        return FromPullback(FromFunctions(None, found, y.shape, x.shape, y.dtype, name))
    if hasattr(found, "shape") or issparse(found):
        needed = (size_of(y.shape), size_of(x.shape))
        if tuple(found.shape) != needed:
            slopes = "; slopes of a function entry by entry are the matrix np.diag(np.ravel(slope))"
            raise WrongRuleError(
                f"{name} must return shape {needed}, got {tuple(found.shape)}"
                f"{slopes if tuple(found.shape) == x.shape == y.shape else ''}"
            )
        return matching(as_operator(found), y.shape, x.shape)
    raise WrongRuleError(
        f"{name} returned a {type(found).__name__}; return a LinearOperator, a matrix, a pair "
        f"(pushforward, pullback) of functions, or a pullback function"
    )


def check_adjoint(J: JacobianOperator, name: str) -> None:
    """Raise WrongRuleError unless <w, J v> = <J^H w, v> for random v and w."""
    rng = np.random.default_rng(0)
    v = normal(J.in_shape, J.in_dtype, rng)
    w = normal(J.out_shape, J.out_dtype, rng)
    Jv, JHw = J.pushforward(v), J.pullback(w)
    if isinstance(J, FromPullback) and J.L is not None:
        # Its pushforward is made of its pullback, so only linearity is left to test.
        check_linear(J.pulled.pullback(w), JHw, name)
    left, right = np.vdot(w, Jv), np.vdot(JHw, v)
    size = np.linalg.norm(w) * np.linalg.norm(Jv) + np.linalg.norm(JHw) * np.linalg.norm(v)
    eps = np.finfo(np.result_type(v, w)).eps
    if not abs(left - right) <= 1e3 * eps * size:
        raise WrongRuleError(
            f"{name}: its two directions are not adjoint: <w, J v> = {left:.6g} but "
            f"<J.H w, v> = {right:.6g} for random v and w"
        )
