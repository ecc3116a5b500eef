"""Sums of products in Einstein's notation.

y[out] = Σ a[..] b[..] c[..] ...       linear in each operand: the Jacobian in one of them is
                                       the contraction with the others

Every call is brought to one form first: letters only (no ellipsis, no lists of integers), an
explicit result, no letter twice in an operand (a repeated letter takes a diagonal), and no
operand broadcast along a letter (an axis of length 1 is dropped). What is left of NumPy's
rules is checked by NumPy.
"""

import functools
import string
from collections.abc import Sequence
from typing import Any

import numpy as np

from linad.arrays.zero_dim import number
from linad.core.array_type import Array
from linad.core.dispatch import implements
from linad.core.primitive import Primitive
from linad.core.ufunc_keywords import refuse_out
from linad.operators.base import JacobianOperator
from linad.operators.contraction import Contraction
from linad.rules.diagonals import main_diagonal
from linad.rules.shaping import as_array, form, laid_out, moveaxis


def _einsum(*operands: Any, labels: tuple[str, ...], out: str, optimize: Any) -> Any:
    return np.einsum(f"{','.join(labels)}->{out}", *operands, optimize=optimize)


einsum_ = Primitive("einsum", _einsum)


@einsum_.jacobian(wrt="each")
def einsum_wrt_operand(
    i: int, y: Array, *operands: Array, labels: tuple[str, ...], out: str, optimize: Any
) -> JacobianOperator:
    fixed = [(labels[k], a) for k, a in enumerate(operands) if k != i]
    return Contraction(labels[i], fixed, out, y.shape, operands[i].shape, y.dtype)


@implements(np.einsum)
def einsum(*operands: Any, out: Any = None, optimize: Any = False, **kwargs: Any) -> Any:
    if out is not None:
        refuse_out("einsum", (out,))
    subscripts, arrays = _subscripts(operands)
    dtype, order = kwargs.pop("dtype", None), kwargs.pop("order", "K")
    casting = kwargs.pop("casting", "safe")
    if kwargs:
        raise TypeError(f"einsum: got an unexpected keyword {sorted(kwargs)[0]!r}")
    if dtype is not None:
        dtype = np.dtype(dtype)
        for a in arrays:
            if not np.can_cast(a.dtype, dtype, casting):
                raise TypeError(
                    f"einsum: cannot cast {a.dtype} to {np.dtype(dtype)} by {casting!r}"
                )
        arrays = [a.astype(dtype) for a in arrays]
    found = _letters(subscripts, tuple([a.ndim for a in arrays]))
    if found is None:
        _refuse(subscripts, arrays)
    labels, result = found
    labels, arrays = _canonical(subscripts, labels, arrays)
    if len(arrays) == 1 and len(labels[0]) == len(result):
        # Nothing is summed: a view, as NumPy's.
        return number(np.transpose(arrays[0], [labels[0].index(c) for c in result]))
    y = einsum_(*arrays, labels=tuple(labels), out=result, optimize=optimize)
    return y if order == "K" else laid_out(y, order, "einsum")


@implements(np.einsum_path)
def einsum_path(*operands: Any, **kwargs: Any) -> Any:
    return np.einsum_path(*[form(x) for x in operands], **kwargs)


def _subscripts(operands: Sequence[Any]) -> tuple[str, list[Any]]:
    """Both of NumPy's formats as ``("ij,jk->ik", arrays)``."""
    if not operands:
        raise ValueError("einsum: expected a string of subscripts and the operands")
    if isinstance(operands[0], str):
        return operands[0].replace(" ", ""), [as_array(x) for x in operands[1:]]
    arrays = [as_array(x) for x in operands[: len(operands) // 2 * 2 : 2]]
    lists = list(operands[1::2])
    if len(operands) % 2:
        lists.append(operands[-1])
    used = sorted({k for labels in lists for k in labels if k is not Ellipsis})
    # In an implicit result letters are sorted, so letters must stand in the integers' order.
    letter = dict(zip(used, sorted(string.ascii_letters), strict=False))
    words = ["".join(["..." if k is Ellipsis else letter[k] for k in names]) for names in lists]
    inputs = ",".join(words[: len(arrays)])
    return (f"{inputs}->{words[-1]}" if len(operands) % 2 else inputs), arrays


def _refuse(subscripts: str, arrays: Sequence[Any]) -> Any:
    """Let NumPy say what is wrong."""
    np.einsum(subscripts, *[form(a) for a in arrays])
    raise ValueError(f"einsum: {subscripts!r} does not fit {[a.shape for a in arrays]}")


@functools.lru_cache(1024)
def _letters(subscripts: str, ndims: tuple[int, ...]) -> Any:
    """Letters for every axis of every operand, and for the result; None where they do not fit."""
    inputs, arrow, result = subscripts.partition("->")
    words = inputs.split(",")
    if len(words) != len(ndims):
        return None
    free = [c for c in string.ascii_letters if c not in subscripts]
    missing = []
    for word, ndim in zip(words, ndims, strict=True):
        named = word.replace("...", "")
        hidden = ndim - len(named)
        if (not named.isalpha() and named) or hidden < 0 or (hidden and named == word):
            return None
        missing.append(hidden)
    most = max(missing)
    if most > len(free):
        raise ValueError(f"einsum: {subscripts!r} needs more than 52 letters")
    ellipsis = "".join(free[:most])
    labels = tuple(
        [
            word.replace("...", ellipsis[most - hidden :])
            for word, hidden in zip(words, missing, strict=True)
        ]
    )
    if arrow:
        if most and "..." not in result:
            return None
        result = result.replace("...", ellipsis)
        if len(set(result)) != len(result) or not set(result) <= set("".join(labels)):
            return None
        return labels, result
    named = inputs.replace("...", "").replace(",", "")
    return labels, ellipsis + "".join(sorted(c for c in set(named) if named.count(c) == 1))


def _canonical(
    subscripts: str, labels: Sequence[str], arrays: list[Any]
) -> tuple[Sequence[str], list[Any]]:
    """Take the diagonals of repeated letters and drop broadcast axes."""
    size: dict[str, int] = {}
    is_canonical = True
    for word, a in zip(labels, arrays, strict=True):
        is_canonical = is_canonical and len(set(word)) == len(word)
        for c, n in zip(word, a.shape, strict=True):
            if size.setdefault(c, n) != n:
                is_canonical = False
                if 1 not in (n, size[c]):
                    _refuse(subscripts, arrays)
                size[c] = n if size[c] == 1 else size[c]
    if is_canonical:
        return labels, arrays
    words, results = [], []
    for word, a in zip(labels, arrays, strict=True):
        for c in sorted({c for c in word if word.count(c) > 1}):
            while word.count(c) > 1:
                i = word.index(c)
                j = word.index(c, i + 1)
                if a.shape[i] != a.shape[j]:
                    _refuse(subscripts, arrays)
                a = main_diagonal(moveaxis(a, (i, j), (-2, -1)))
                word = word[:i] + word[i + 1 : j] + word[j + 1 :] + c
        kept = [k for k, c in enumerate(word) if a.shape[k] == size[c]]
        if len(kept) < len(word):
            a = a.reshape(tuple([a.shape[k] for k in kept]))
            word = "".join([word[k] for k in kept])
        words.append(word)
        results.append(a)
    return words, results
