"""What elementwise primitives do to one entry, as kernel source.

A row is an expression in ``{0} {1} {2}``, the operands, and says in which dtype they meet.
The functions named ``f_...`` are the transcendental ones: they become ``v_...`` (which
vectorise) or ``m_...`` as the settings say. Conditions are `select`, never ``if``, so that
loops vectorise. NaN goes where NumPy sends it.
"""

from typing import Any, NamedTuple

import numpy as np

from linad.sweeps.native import name_of_dtype


class Scalar(NamedTuple):
    """How to compute one entry.

    Attributes
    ----------
    text : str
    meet : str
        In which dtype operands are computed with: "result", that of the result; "common",
        the one that NumPy's promotion gives; "own", each in its own.
    kinds : str
        Kinds of dtypes that the text is right for, by the letters of `numpy.dtype.kind`.
    cost : int
        Rough time in additions: what is cheap is computed again rather than stored.
    """

    text: str
    meet: str = "result"
    kinds: str = "fc"
    cost: int = 1


TRANSCENDENTAL = 20

ROWS: dict[str, Scalar] = {
    "add": Scalar("{0} + {1}", kinds="ifc"),
    "subtract": Scalar("{0} - {1}", kinds="ifc"),
    "multiply": Scalar("{0} * {1}", kinds="ifc"),
    "divide": Scalar("{0} / {1}", cost=4),
    "negative": Scalar("-{0}", kinds="ifc"),
    "reciprocal": Scalar("{one} / {0}", cost=4),
    "square": Scalar("{0} * {0}", kinds="ifc"),
    "sqrt": Scalar("np.sqrt({0})", kinds="f", cost=5),
    "absolute": Scalar("abs({0})", meet="own", kinds="ifc"),
    "fabs": Scalar("abs({0})", kinds="f"),
    "conjugate": Scalar("{0}.conjugate()", kinds="c"),
    "sign": Scalar(
        "select({0} > {zero}, {one}, select({0} < {zero}, -{one}, "
        "select({0} == {zero}, {zero}, {0})))",
        kinds="f",
        cost=3,
    ),
    "floor": Scalar("np.floor({0})", kinds="f"),
    "ceil": Scalar("np.ceil({0})", kinds="f"),
    "trunc": Scalar("np.trunc({0})", kinds="f"),
    "rint": Scalar("np.rint({0})", kinds="f"),
    "copysign": Scalar("np.copysign({0}, {1})", kinds="f"),
    "heaviside": Scalar(
        "select({0} > {zero}, {one}, select({0} < {zero}, {zero}, "
        "select({0} == {zero}, {1}, {0})))",
        kinds="f",
        cost=3,
    ),
    # The first operand where it is NaN; the second is left where the comparison fails.
    "maximum": Scalar("select(({0} >= {1}) | ({0} != {0}), {0}, {1})", kinds="if", cost=2),
    "minimum": Scalar("select(({0} <= {1}) | ({0} != {0}), {0}, {1})", kinds="if", cost=2),
    "fmax": Scalar("select(({0} >= {1}) | ({1} != {1}), {0}, {1})", kinds="if", cost=2),
    "fmin": Scalar("select(({0} <= {1}) | ({1} != {1}), {0}, {1})", kinds="if", cost=2),
    "clip": Scalar("clipped({0}, {1}, {2})", kinds="if", cost=4),
    "where": Scalar("select({0}, {1}, {2})", meet="choice", kinds="bifc"),
    "masked": Scalar("select({0}, {1}, {zero})", meet="choice", kinds="bifc"),
    "equal": Scalar("{0} == {1}", meet="common", kinds="bifc"),
    "not_equal": Scalar("{0} != {1}", meet="common", kinds="bifc"),
    "less": Scalar("{0} < {1}", meet="common", kinds="if"),
    "less_equal": Scalar("{0} <= {1}", meet="common", kinds="if"),
    "greater": Scalar("{0} > {1}", meet="common", kinds="if"),
    "greater_equal": Scalar("{0} >= {1}", meet="common", kinds="if"),
    "logical_and": Scalar("({0} != 0) & ({1} != 0)", meet="own", kinds="bif"),
    "logical_or": Scalar("({0} != 0) | ({1} != 0)", meet="own", kinds="bif"),
    "logical_not": Scalar("{0} == 0", meet="own", kinds="bif"),
    "isnan": Scalar("{0} != {0}", meet="own", kinds="fc"),
    "isfinite": Scalar("({0} - {0}) == ({0} - {0})", meet="own", kinds="f"),
    "isinf": Scalar("({0} == {0}) & (({0} - {0}) != ({0} - {0}))", meet="own", kinds="f"),
    "signbit": Scalar("np.copysign(1.0, {0}) < 0.0", meet="own", kinds="f"),
    "astype": Scalar("{0}", meet="own", kinds="bifc"),
    "astype_exact": Scalar("{0}", meet="own", kinds="bifc"),
    "copy": Scalar("{0}", meet="own", kinds="bifc"),
    "spread": Scalar("{0}", meet="own", kinds="bifc"),
    "power": Scalar("f_pow({0}, {1})", kinds="f", cost=2 * TRANSCENDENTAL),
    "hypot": Scalar("f_hypot({0}, {1})", kinds="f", cost=TRANSCENDENTAL),
    "arctan2": Scalar("f_atan2({0}, {1})", kinds="f", cost=TRANSCENDENTAL),
    "degrees": Scalar("{0} * {degrees}", kinds="f"),
    "rad2deg": Scalar("{0} * {degrees}", kinds="f"),
    "radians": Scalar("{0} * {radians}", kinds="f"),
    "deg2rad": Scalar("{0} * {radians}", kinds="f"),
    # log(e^a + e^b) = m + log1p(e^-|a - b|); equal infinities have no difference.
    "logaddexp": Scalar(
        "select({0} == {1}, {0} + {log2}, "
        "select(({0} >= {1}) | ({0} != {0}), {0}, {1}) + f_log1p(f_exp(-abs({0} - {1}))))",
        kinds="f",
        cost=2 * TRANSCENDENTAL,
    ),
    "expit": Scalar("{one} / ({one} + f_exp(-{0}))", kinds="f", cost=TRANSCENDENTAL),
    "logit": Scalar("f_log({0} / ({one} - {0}))", kinds="f", cost=TRANSCENDENTAL),
    "log_expit": Scalar(
        "select({0} < {zero}, {0}, {zero}) - f_log1p(f_exp(-abs({0})))",
        kinds="f",
        cost=2 * TRANSCENDENTAL,
    ),
    "xlogy": Scalar(
        "select(({0} == {zero}) & ({1} == {1}), {zero}, {0} * f_log({1}))",
        kinds="f",
        cost=TRANSCENDENTAL,
    ),
    "xlog1py": Scalar(
        "select(({0} == {zero}) & ({1} == {1}), {zero}, {0} * f_log1p({1}))",
        kinds="f",
        cost=TRANSCENDENTAL,
    ),
}

_SAME_NAME = "sin cos tan sinh cosh tanh exp exp2 expm1 log log2 log10 log1p cbrt erf erfc".split()
_RENAMED = {
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arcsinh": "asinh",
    "arccosh": "acosh",
    "arctanh": "atanh",
}
for _name, _symbol in [*((n, n) for n in _SAME_NAME), *_RENAMED.items()]:
    ROWS[_name] = Scalar(f"f_{_symbol}({{0}})", kinds="f", cost=TRANSCENDENTAL)

CONSTANTS = {
    "zero": "0",
    "one": "1",
    "log2": repr(float(np.log(2))),
    "degrees": repr(180 / np.pi),
    "radians": repr(np.pi / 180),
}
"""Numbers that rows name, cast to the dtype that is computed in."""


def meeting(row: Scalar, result: Any, operands: list[Any]) -> list[str] | None:
    """The dtypes, by short name, in which a row takes its operands.

    Parameters
    ----------
    row : Scalar
    result : dtype
    operands : list
        Arrays, variables or Python numbers, in the order of the row.

    Returns
    -------
    list of str, or None
        None where the row does not hold, or a kernel knows no such dtype.
    """
    own = [_dtype_of(a) for a in operands]
    if row.meet == "result":
        common = [result] * len(own)
    elif row.meet == "choice":
        common = [np.dtype(bool)] + [result] * (len(own) - 1)
    elif row.meet == "common":
        common = [np.result_type(*[_weak(a, d) for a, d in zip(operands, own, strict=True)])]
        common *= len(own)
    else:
        common = own
    values = common[1:] if row.meet == "choice" else common
    if any(d.kind not in row.kinds.replace("i", "iu") for d in values):
        return None
    names = [name_of_dtype(d) for d in common]
    if None in names or any(name_of_dtype(d) is None for d in [*own, result]):
        return None
    return names  # type: ignore[return-value]


def _dtype_of(a: Any) -> Any:
    return a.dtype if hasattr(a, "dtype") else np.asarray(a).dtype


def _weak(a: Any, dtype: Any) -> Any:
    """What takes part in promotion: a Python number itself, an array's dtype."""
    return a if type(a) in (int, float, complex) else dtype
