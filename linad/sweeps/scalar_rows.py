"""What elementwise primitives do to one entry, as kernel source.

A row is an expression in ``{0} {1} {2}``, the operands, and says in which dtype they meet, and
which dtypes it is right for; a primitive has as many rows as it needs. The functions named
``f_...`` are the transcendental ones: they become ``v_...`` (which vectorise) or ``m_...`` as
the settings say. ``z_...`` are functions of complex numbers, ``s_...`` those of
`scipy.special`. Conditions are `select`, never ``if``, so that loops vectorise. NaN goes where
NumPy sends it.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linad.core.wide_integers import LEAST, MOST
from linad.sweeps.elementary_names import ELEMENTARY, HOLOMORPHIC
from linad.sweeps.kernel_dtypes import name_of_dtype
from linad.sweeps.special_names import ARITY


class Scalar(NamedTuple):
    """How to compute one entry.

    Attributes
    ----------
    text : str
    meet : str
        In which dtype operands are computed with: "result", that of the result; "common",
        the one that NumPy's promotion gives; "own", each in its own; "choice", a condition
        and then the result's.
    kinds : str
        Kinds of dtypes that the text is right for, by the letters of `numpy.dtype.kind`.
    cost : int
        Rough time in additions: what is cheap is computed again rather than stored.
    gives : str
        The dtype of the text: "same" as computed in, "bool", or "real", the real part's.
    needs : str
        A library that not every target has: "complex", the functions of complex numbers of C;
        "special", the function of this name of scipy.special.
    """

    text: str
    meet: str = "result"
    kinds: str = "fc"
    cost: int = 1
    gives: str = "same"
    needs: str = ""


TRANSCENDENTAL = 20
SPECIAL = 100

ROWS: dict[str, list[Scalar]] = {}
"""The rows of each primitive; the first that holds is taken."""


def row(
    names: str,
    text: str,
    meet: str = "result",
    kinds: str = "fc",
    cost: int = 1,
    needs: str = "",
) -> None:
    """Add a row, ``{name}`` in it the primitive's."""
    for name in names.split():
        made = Scalar(text.replace("{name}", name), meet, kinds, cost, needs=needs)
        ROWS.setdefault(name, []).append(made)


def complex_row(name: str, text: str, cost: int) -> None:
    """Add a row of complex numbers, by functions of the C library."""
    row(name, text, kinds="c", cost=cost, needs="complex")


def condition(names: str, text: str, meet: str = "own", kinds: str = "bifc") -> None:
    """Add a row that gives a boolean."""
    for name in names.split():
        ROWS.setdefault(name, []).append(Scalar(text, meet, kinds, 1, "bool"))


# Arithmetic.

row("add", "{0} + {1}", kinds="ifc")
row("add maximum fmax", "{0} | {1}", kinds="b")
row("subtract", "{0} - {1}", kinds="ifc")
row("multiply", "{0} * {1}", kinds="ifc")
row("multiply minimum fmin", "{0} & {1}", kinds="b")
row("divide", "{0} / {1}", kinds="f", cost=4)
row("divide", "z_divide({0}, {1}, {real_one})", kinds="c", cost=12)
row("negative", "-{0}", kinds="ifc")
row("positive copy spread stop_gradient", "{0}", kinds="bifc")
row("astype astype_exact", "{0}", meet="own", kinds="bifc")
row("reciprocal", "{one} / {0}", kinds="f", cost=4)
row("reciprocal", "z_reciprocal({0}, {real_one})", kinds="c", cost=8)
row("square", "{0} * {0}", kinds="ifc")
row("square", "{0}", kinds="b")
row("sqrt root", "np.sqrt({0})", kinds="f", cost=5)
row("cube_of_tip", "{0} * np.sqrt({0})", kinds="f", cost=6)
row("tip", "select({0} == {zero}, {one}, {0})", kinds="f", cost=2)
row("absolute fabs", "abs({0})", kinds="if")
row("absolute", "{0}", kinds="b")
ROWS["absolute"].append(Scalar("z_size({0})", "own", "c", TRANSCENDENTAL, "real"))
row("conjugate", "{0}.conjugate()", kinds="c")
row("conjugate", "{0}", kinds="bif")
row(
    "sign side",
    "select({0} > {zero}, {one}, select({0} < {zero}, -{one}, select({0} == {zero}, {zero}, {0})))",
    kinds="if",
    cost=3,
)
row("sign", "z_sign({0}, {real_zero}, {real_one})", kinds="c", cost=TRANSCENDENTAL)
row("degrees rad2deg", "{0} * {degrees}", kinds="f")
row("radians deg2rad", "{0} * {radians}", kinds="f")
row("floor_divide", "floor_divide({0}, {1}, {zero}, {one})", kinds="f", cost=TRANSCENDENTAL)
row("floor_divide", "integer_floor_divide({0}, {1})", kinds="i", cost=TRANSCENDENTAL)
row("remainder", "remainder({0}, {1}, {zero})", kinds="f", cost=TRANSCENDENTAL)
row("remainder", "integer_remainder({0}, {1})", kinds="i", cost=TRANSCENDENTAL)
row("fmod", "m_fmod({0}, {1})", kinds="f", cost=TRANSCENDENTAL)
row("fmod", "integer_fmod({0}, {1})", kinds="i", cost=TRANSCENDENTAL)

# Rounding, signs, neighbours.

for _name in ("floor", "ceil", "trunc", "rint"):
    row(_name, f"np.{_name}({{0}})", kinds="f")
row("floor ceil trunc fix", "{0}", kinds="bi")
row("fix", "np.trunc({0})", kinds="f")
row("copysign", "np.copysign({0}, {1})", kinds="f")
row("nextafter", "m_nextafter({0}, {1})", kinds="f", cost=TRANSCENDENTAL)
row(
    "spacing",
    "m_nextafter({0}, np.copysign({infinity}, {0} + {zero})) - {0}",  # NumPy's of -0.0 is positive
    kinds="f",
    cost=TRANSCENDENTAL,
)
condition("signbit", "np.copysign(1.0, {0}) < 0.0", kinds="f")
row(
    "heaviside",
    "select({0} > {zero}, {one}, select({0} < {zero}, {zero}, select({0} == {zero}, {1}, {0})))",
    kinds="f",
    cost=3,
)

# Choices. The first operand where it is NaN; the second where the comparison fails, as for
# equal operands (0 and -0 are), and for NaN.

row("maximum", "select(({0} > {1}) | ({0} != {0}), {0}, {1})", kinds="if", cost=2)
row("minimum", "select(({0} < {1}) | ({0} != {0}), {0}, {1})", kinds="if", cost=2)
row("fmax", "select(({0} > {1}) | ({1} != {1}), {0}, {1})", kinds="if", cost=2)
row("fmin", "select(({0} < {1}) | ({1} != {1}), {0}, {1})", kinds="if", cost=2)
row("clip", "clipped({0}, {1}, {2})", kinds="if", cost=4)
row("where", "select({0}, {1}, {2})", meet="choice", kinds="bifc")
row("masked", "select({0}, {1}, {zero})", meet="choice", kinds="bifc")

# Conditions, bits.

condition("equal", "{0} == {1}", meet="common")
condition("not_equal", "{0} != {1}", meet="common")
for _name, _sign in {
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
}.items():
    condition(_name, f"{{0}} {_sign} {{1}}", meet="common", kinds="bif")
condition("logical_and", "({0} != 0) & ({1} != 0)")
condition("logical_or", "({0} != 0) | ({1} != 0)")
condition("logical_xor", "({0} != 0) ^ ({1} != 0)")
condition("logical_not", "{0} == 0")
condition("isnan", "{0} != {0}")
condition("isfinite", "({0} - {0}) == ({0} - {0})", kinds="f")
condition("isfinite", "z_is_finite({0})", kinds="c")
condition("isinf", "({0} == {0}) & (({0} - {0}) != ({0} - {0}))", kinds="f")
condition("isinf", "z_is_infinite({0})", kinds="c")
condition("isfinite", "{0} == {0}", kinds="bi")
condition("isinf isposinf isneginf", "{0} != {0}", kinds="bi")
condition("isposinf", "{0} == np.inf", kinds="f")
condition("isneginf", "{0} == -np.inf", kinds="f")
condition("isreal", "{0}.imag == 0", kinds="c")
condition("isreal", "{0} == {0}", kinds="bi")
condition("isreal", "({0} == {0}) | ({0} != {0})", kinds="f")
condition("iscomplex", "{0}.imag != 0", kinds="c")
condition("iscomplex", "{0} != {0}", kinds="bi")
condition("iscomplex", "({0} == {0}) & ({0} != {0})", kinds="f")
for _name, _sign in {"and": "&", "or": "|", "xor": "^"}.items():
    row(f"bitwise_{_name}", f"{{0}} {_sign} {{1}}", kinds="bi")
row("invert", "~{0}", kinds="i")
row("invert", "{0} == 0", kinds="b")
row("left_shift", "left_shift({0}, {1}, {bits})", kinds="i", cost=3)
row("right_shift", "right_shift({0}, {1}, {bits})", kinds="i", cost=3)

# Elementary functions.

for _name, _symbol in ELEMENTARY.items():
    row(_name, f"f_{_symbol}({{0}})", kinds="f", cost=TRANSCENDENTAL)
    if _name in (*HOLOMORPHIC, "expm1", "log1p"):
        complex_row(_name, f"z_{_symbol}({{0}})", 2 * TRANSCENDENTAL)
row("power", "f_pow({0}, {1})", kinds="f", cost=2 * TRANSCENDENTAL)
row("hypot", "f_hypot({0}, {1})", kinds="f", cost=TRANSCENDENTAL)
row("arctan2", "f_atan2({0}, {1})", kinds="f", cost=TRANSCENDENTAL)
complex_row("sqrt", "z_sqrt({0})", TRANSCENDENTAL)
complex_row("power", "z_power({0}, {1}, {real_one})", 4 * TRANSCENDENTAL)
complex_row("exp2", "z_exp(z_scale({0}, {real_log2}))", 2 * TRANSCENDENTAL)
complex_row("log2", "z_scale(z_log({0}), {real_per_log2})", 2 * TRANSCENDENTAL)
complex_row("log10", "z_scale(z_log({0}), {real_per_log10})", 2 * TRANSCENDENTAL)

# log(e^a + e^b) = m + log1p(e^-|a - b|); equal infinities have no difference.
row(
    "logaddexp",
    "select({0} == {1}, {0} + {log2}, "
    "select(({0} >= {1}) | ({0} != {0}), {0}, {1}) + f_log1p(f_exp(-abs({0} - {1}))))",
    kinds="f",
    cost=2 * TRANSCENDENTAL,
)
row(
    "logaddexp2",
    "select({0} == {1}, {0} + {one}, select(({0} >= {1}) | ({0} != {0}), {0}, {1}) "
    "+ {per_log2} * f_log1p(f_exp2(-abs({0} - {1}))))",
    kinds="f",
    cost=2 * TRANSCENDENTAL,
)
row(
    "sinc",
    "select({0} == {zero}, {one}, f_sin({pi} * {0}) / ({pi} * {0}))",
    kinds="f",
    cost=TRANSCENDENTAL,
)

# scipy.special.

row("expit", "{one} / ({one} + f_exp(-{0}))", kinds="f", cost=TRANSCENDENTAL)
# log(x / (1 - x)) loses digits near 1/2, where it is log1p(s) - log1p(-s) with s = 2 x - 1.
row(
    "logit",
    "select(abs({0} - {half}) < {near}, f_log1p({two} * ({0} - {half})) "
    "- f_log1p({two} * ({half} - {0})), f_log({0} / ({one} - {0})))",
    kinds="f",
    cost=2 * TRANSCENDENTAL,
)
row(
    "log_expit",
    "-f_log1p(f_exp(-abs({0}))) + select({0} < {zero}, {0}, -{zero})",
    kinds="f",
    cost=2 * TRANSCENDENTAL,
)
row(
    "xlogy",
    "select(({0} == {zero}) & ({1} == {1}), {zero}, {0} * f_log({1}))",
    kinds="f",
    cost=TRANSCENDENTAL,
)
row(
    "xlog1py",
    "select(({0} == {zero}) & ({1} == {1}), {zero}, {0} * f_log1p({1}))",
    kinds="f",
    cost=TRANSCENDENTAL,
)
row(
    "entr",
    "select(({0} > {zero}) | ({0} != {0}), -{0} * f_log({0}), "
    "select({0} == {zero}, {zero}, -{infinity}))",
    kinds="f",
    cost=TRANSCENDENTAL,
)
for _name, _count in ARITY.items():
    _operands = ", ".join(f"{{{k}}}" for k in range(_count))
    row(_name, f"s_{_name}({_operands})", kinds="f", cost=SPECIAL, needs="special")

NEVER_NEGATIVE = frozenset(
    ["absolute", "arccos", "arccosh", "cosh", "exp", "exp2", "expit", "fabs", "sqrt", "square"]
)
"""Functions of real numbers whose results are zero, positive or NaN."""

CONSTANTS = {
    "zero": "0",
    "one": "1",
    "two": "2",
    "half": "0.5",
    "near": "0.15",
    "infinity": "np.inf",
    "pi": repr(np.pi),
    "log2": repr(float(np.log(2))),
    "per_log2": repr(1 / float(np.log(2))),
    "per_log10": repr(1 / float(np.log(10))),
    "degrees": repr(180 / np.pi),
    "radians": repr(np.pi / 180),
}
"""Numbers that rows name, cast to the dtype that is computed in."""


def constants(dtype: str) -> dict[str, str]:
    """What the names in rows stand for where ``dtype`` is computed in."""
    names = {k: f"to_{dtype}({v})" for k, v in CONSTANTS.items() if dtype[0] in "fc" or v in "01"}
    if dtype[0] in "fc":
        names |= {f"real_{k}": f"to_{real_of(dtype)}({v})" for k, v in CONSTANTS.items()}
    return names | {"bits": str(8 * int(dtype[1:]))}


def real_of(dtype: str) -> str:
    """Short name of the dtype of a real part."""
    return f"f{int(dtype[1:]) // 2}" if dtype[0] == "c" else dtype


def given(row: Scalar, dtype: str) -> str:
    """Short name of the dtype that a row gives where it computes in ``dtype``."""
    return {"same": dtype, "bool": "b1", "real": real_of(dtype)}[row.gives]


def row_of(
    name: str, result: np.dtype[Any], operands: list[Any], has: Callable[[str, Scalar], bool]
) -> tuple[Scalar, list[str]] | None:
    """The row that holds for a primitive, and the dtypes that it takes its operands in.

    Parameters
    ----------
    name : str
    result : numpy.dtype
    operands : list
        Arrays, variables or Python numbers, in the order of the row.
    has : callable
        ``has(name, row)``: whether a target can compute a row.
    """
    return _row_of(name, result, tuple([_kind_of(a) for a in operands]), has)


def _kind_of(a: Any) -> Any:
    """What a row looks at: the type of a Python number, the dtype of anything else."""
    if type(a) is int and not LEAST <= a <= MOST:
        return np.dtype(object)  # no register holds it: NumPy computes
    if type(a) in (int, float, complex):
        return type(a)
    return a.dtype if hasattr(a, "dtype") else np.asarray(a).dtype


@functools.lru_cache(4096)
def _row_of(
    name: str, result: np.dtype[Any], kinds: tuple[Any, ...], has: Callable[[str, Scalar], bool]
) -> tuple[Scalar, list[str]] | None:
    for row in ROWS.get(name, ()):
        meet = _meeting(row, result, kinds)
        if meet is not None:
            return (row, meet) if has(name, row) else None
    return None


def cost_of(name: str) -> int:
    """Rough time of a primitive, in additions."""
    return max([row.cost for row in ROWS.get(name, ())], default=1)


def _meeting(row: Scalar, result: np.dtype[Any], kinds: tuple[Any, ...]) -> list[str] | None:
    """The dtypes, by short name, in which a row takes its operands.

    None where the row does not hold, or a kernel knows no such dtype.
    """
    # A Python number itself takes part in promotion.
    weak = [k(1) if isinstance(k, type) else k for k in kinds]
    own = [np.dtype(k) for k in kinds]
    if row.meet == "result":
        common = [result] * len(own)
    elif row.meet == "choice":
        common = [np.dtype(bool)] + [result] * (len(own) - 1)
    elif row.meet == "common":
        common = [np.result_type(*weak)] * len(own)
    else:
        common = own
    values = common[1:] if row.meet == "choice" else common
    if any(d.kind == "c" and c.kind not in "cb" for d, c in zip(own, common, strict=True)):
        return None  # an imaginary part would be lost
    if any(d.kind not in row.kinds.replace("i", "iu") for d in values):
        return None
    names = [name_of_dtype(d) for d in common]
    if None in names or any(name_of_dtype(d) is None for d in [*own, result]):
        return None
    return names  # type: ignore[return-value]
