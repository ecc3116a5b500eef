"""Products with sparse matrices whose arrays are operands, by SciPy's loops.

    y_(r_e) += d_e x_(c_e)        over the entries e, for each of the vectors x

Where all entries of a row follow one another, rows are computed apart, and by several threads;
else vectors are. An index outside, which only somebody who writes into the arrays of a matrix can
make, stops the sweep, and SciPy has its say.
"""

from typing import Any

from linad.core.shapes import size_of
from linad.core.tape import Equation
from linad.sweeps.cpu.routines import routine
from linad.sweeps.data_movement import contiguous, in_dtype
from linad.sweeps.instructions import NO_RESULT
from linad.sweeps.kernel_dtypes import name_of_dtype

ROW_BY_ROW = """
    for i in range(start, stop):
        first = {get_2}(pointers, i, -1)
        last = {get_2}(pointers, i + 1, -1)
        if first < 0 or last > entries:
            return {outside}
        for v in range(vectors):
            total = to_{d}(0)
            for e in range(first, last):
                j = {get_1}(places, e, -1)
                if j < 0 or j >= columns:
                    return {outside}
                total = total + get_{d}(data, e, -1) * get_{d}(x, v * columns + j, -1)
            set_{d}(y, v * rows + i, total, 0)
    return 0
"""

VECTOR_BY_VECTOR = """
    for v in range(start, stop):
        for i in range(v * rows, (v + 1) * rows):
            set_{d}(y, i, to_{d}(0), 0)
"""

COLUMN_BY_COLUMN = """
        for j in range(columns):
            first = {get_2}(pointers, j, -1)
            last = {get_2}(pointers, j + 1, -1)
            if first < 0 or last > entries:
                return {outside}
            t = get_{d}(x, v * columns + j, -1)
            for e in range(first, last):
                i = {get_1}(places, e, -1)
                if i < 0 or i >= rows:
                    return {outside}
                {add}get_{d}(data, e, -1) * t, 0)
    return 0
"""

PAIR_BY_PAIR = """
        for e in range(entries):
            {i} = {get_1}(places, e, -1)
            {j} = {get_2}(pointers, e, -1)
            if i < 0 or i >= rows or j < 0 or j >= columns:
                return {outside}
            {add}get_{d}(data, e, -1) * get_{d}(x, v * columns + j, -1), 0)
    return 0
"""

BLOCK_BY_BLOCK = """
        for k in range(block_rows):
            first = {get_2}(pointers, k, -1)
            last = {get_2}(pointers, k + 1, -1)
            if first < 0 or last > blocks:
                return {outside}
            for b in range(first, last):
                l = {get_1}(places, b, -1)
                if l < 0 or l >= block_columns:
                    return {outside}
                e = b * height * width
                for r in range(k * height, (k + 1) * height):
                    {row_of_block}
                    e += width
    return 0
"""

ROW_OF_BLOCK = """\
total = get_{d}(y, v * rows + r, 0)
                    for c in range(width):
                        t = get_{d}(x, v * columns + l * width + c, -1)
                        total = total + get_{d}(data, e + c, -1) * t
                    set_{d}(y, v * rows + r, total, 0)"""

COLUMN_OF_BLOCK = """\
t = get_{d}(x, v * columns + r, -1)
                    for c in range(width):
                        i = l * width + c
                        {add}get_{d}(data, e + c, -1) * t, 0)"""

DIAGONAL_BY_DIAGONAL = """
        for k in range(diagonals):
            shift = {get_1}(places, k, -1)
            for c in range(max(0, shift), min(min(high + shift, wide), length)):
                {i} = c - shift
                {j} = c
                {add}get_{d}(data, k * length + c, -1) * get_{d}(x, v * columns + j, -1), 0)
    return 0
"""


VECTORS = {
    "csr": COLUMN_BY_COLUMN,
    "csc": COLUMN_BY_COLUMN,
    "coo": PAIR_BY_PAIR,
    "bsr": BLOCK_BY_BLOCK,
    "dia": DIAGONAL_BY_DIAGONAL,
}
"""What is done with each vector, by formats."""


@routine("apply_stored")
def product(lowering: Any, eqn: Equation) -> bool:
    out, storage, transposed = eqn.outputs[0], eqn.params["storage"], eqn.params["transposed"]
    d = name_of_dtype(out.dtype)
    x, data, *indices = [lowering.place_of(a) for a in eqn.inputs]
    names = [name_of_dtype(p.dtype) for p in (x, data, *indices)]
    if d is None or d[0] not in "fc" or None in names or not size_of(out.shape):
        return False
    format = storage.format
    if format == "bsr" and data.shape[1:] == (1, 1):
        format = "csr"
    by_rows = format == ("csc" if transposed else "csr")
    arrays = {
        "x": in_dtype(lowering, x, out.dtype),
        "data": in_dtype(lowering, data, out.dtype),
        **dict(zip(("places", "pointers"), indices, strict=False)),
        "y": lowering.result(out),
    }
    operands: dict[str, Any] = {}
    for name, place in arrays.items():
        flat = contiguous(lowering, place)
        operands[name] = flat.buffer, flat.offset
    operands |= _sizes(storage, out.shape, data.shape)
    body = ROW_BY_ROW if by_rows else VECTOR_BY_VECTOR + VECTORS[format]
    words = {"d": d, "get_1": f"get_{names[2]}", "get_2": f"get_{names[-1]}", "outside": NO_RESULT}
    words["i"], words["j"] = "ji" if transposed else "ij"
    words["add"] = f"set_{d}(y, v * rows + i, get_{d}(y, v * rows + i, 0) + "
    words["row_of_block"] = (COLUMN_OF_BLOCK if transposed else ROW_OF_BLOCK).format(**words)
    loops = body.format(**words)
    reads = "".join([f"    {name} = operand(p, {k})\n" for k, name in enumerate(operands)])
    text = f"def kernel(p, start, stop):\n{reads}{loops}"
    rows, vectors = operands["rows"], operands["vectors"]
    work = operands["entries"] * vectors if by_rows or vectors > 1 else 0
    extent = rows if by_rows else vectors
    lowering.emit(text, extent, list(operands.values()), "apply_stored", work)
    return True


def _sizes(storage: Any, result: tuple[Any, ...], data: tuple[Any, ...]) -> dict[str, int]:
    """The numbers that the loops are about."""
    m, n = storage.shape
    rows = result[-1]
    found = {"rows": rows, "columns": m + n - rows, "vectors": size_of(result[:-1])}
    found["entries"] = size_of(data)
    if storage.format == "bsr":
        blocks, height, width = data
        found |= {"blocks": blocks, "height": height, "width": width}
        found |= {"block_rows": m // height, "block_columns": n // width}
    elif storage.format == "dia":
        found |= {"diagonals": data[0], "length": data[1], "high": m, "wide": n}
    return found
