"""Orders that stay in a workspace: that of the run before is likely to sort the next data, too.

A fit sorts the same data again and again, or data that have moved little. The order that a run has
found is looked at first, in one pass. If entries ascend in it, and equal ones stand as they did, it
is the one order that a stable sort finds, whatever it was found for: results do not depend on what
ran before. Where it is not, entries far apart tell whether the data are nearly sorted in it. A sort
that looks for runs is faster then if it begins from there.

At first all its numbers are zero, which no line of more than one entry is sorted by. After that
it is an order of all entries, whatever has stopped a run.
"""

from linad.sweeps.instructions import NO_RESULT

PROBES = 64
"""Entries that are looked at to tell whether a line is nearly sorted."""


def if_still_sorted(d: str, stable: bool = True) -> str:
    """Statements of a kernel that go on with the next line if this one is sorted as it was.

    Where the sort is not ``stable``, nobody but who sorts them knows the order of equal entries:
    then it is right only if there are none, and no NaN. So it is for complex numbers, which are
    sorted by their real parts and, where these are equal, by their imaginary ones.
    """
    if d[0] == "c":
        names, part = ["value", "other"], f"f{int(d[1:]) // 2}"
        reads = [f"get_{part}(x, 2 * (at + own * m) + {j}, -1)" for j in (0, 1)]
        follows = (
            "last_other == last_other and "
            "(last_value < value or (last_value == value and last_other < other))"
        )
    else:
        names, reads = ["value"], [f"get_{d}(x, at + own * m, -1)"]
        reads = [f"to_i8({reads[0]})"] if d == "b1" else reads
        follows = "last_value < value"
        if stable:
            follows += " or (last_value == value and last < own)"
        if stable and d[0] == "f":
            follows += " or (value != value and (last_value == last_value or last < own))"
    read = [f"{name} = {text}\n" for name, text in zip(names, reads, strict=True)]
    keep = [f"last_{name} = {name}\n" for name in names]
    return (
        "        own = get_i8(y, at, 0)\n"
        f"        {(8 * ' ').join(read)}"
        "        right = 1\n"
        "        k = 1\n"
        "        while k < n and right == 1:\n"
        "            last = own\n"
        f"            {(12 * ' ').join(keep)}"
        "            own = get_i8(y, at + k * m, 0)\n"
        f"            {(12 * ' ').join(read)}"
        f"            right = 1 if {follows} else 0\n"
        "            k = k + 1\n"
        "        if right == 1:\n"
        "            continue\n"
    )


def if_nearly_sorted(d: str) -> str:
    """Statements of a kernel that sort a line from the order before, and go on with the next one,
    if entries far apart ascend in it.

    The entries are put in that order, ``w``, and sorted with their numbers there, ``r``. So equal
    ones come as they did before; they are put in the order of their numbers at the end. Operands 0
    and 5 sort numbers of entries, and integers, both in place.
    """
    same = "value == last_value"
    if d[0] == "f":
        same += " or (value != value and last_value != last_value)"
    return f"""\
        w = operand(p, 6)
        r = operand(p, 7)
        near = 0 if get_i8(y, at, 0) == get_i8(y, at + 1, 0) else 1
        for c in range(1, {PROBES}):
            k = c * (n // {PROBES})
            value = get_{d}(x, at + get_i8(y, at + k, 0), -1)
            last_value = get_{d}(x, at + get_i8(y, at + k - n // {PROBES}, 0), -1)
            near = 0 if value < last_value else near
        if near == 1:
            for k in range(n):
                set_{d}(w, k, get_{d}(x, at + get_i8(y, at + k, 0), -1), 0)
                set_i8(r, k, k, 0)
            call_by_address(operand(p, 0), (w, r, n, 0,))
            begin = 0
            last = -1
            falls = 0
            last_value = get_{d}(w, get_i8(r, 0, 0), 0)
            for k in range(n):
                value = get_{d}(w, get_i8(r, k, 0), 0)
                own = get_i8(y, at + get_i8(r, k, 0), 0)
                if value < last_value:
                    return {NO_RESULT}
                if {same}:
                    falls = 1 if own < last else falls
                else:
                    if falls == 1:
                        call_by_address(operand(p, 5), (r + begin * 8, k - begin, 0,))
                    begin = k
                    falls = 0
                set_i8(r, k, own, 0)
                last = own
                last_value = value
            if falls == 1:
                call_by_address(operand(p, 5), (r + begin * 8, n - begin, 0,))
            for k in range(n):
                set_i8(y, at + k, get_i8(r, k, 0), 0)
            continue
"""
