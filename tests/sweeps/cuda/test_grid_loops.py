"""How work is shared out between threads."""

import pytest

from linad.sweeps.cuda.grid_loops import ALONE, PARTIAL_RESULTS, pieces_of, strided


@pytest.mark.parametrize("kept", [1, 7, 10**5])
@pytest.mark.parametrize("terms", [1, ALONE, ALONE + 1, 10**6])
def test_pieces(terms, kept):
    pieces = pieces_of(terms, kept)
    assert 1 <= pieces <= max(terms, 1)
    assert pieces == 1 or pieces * kept <= PARTIAL_RESULTS
    assert pieces > 1 or terms <= ALONE or 2 * kept > PARTIAL_RESULTS


def test_a_range_is_shared():
    source = "def kernel(p, start, stop):\n    for i in range(start, stop):\n        pass\n"
    made = strided(source + "    return 0\n")
    assert made.startswith("def kernel(p, start, stop, thread, threads):\n")
    assert "for i in range(start + thread, stop, threads):" in made
    assert strided(made) == made


def test_without_a_range_the_first_thread_works():
    made = strided(
        "def kernel(p, start, stop):\n    set_i8(operand(p, 0), 0, 1, 0)\n    return 0\n"
    )
    assert "    if thread == 0:\n        set_i8(operand(p, 0), 0, 1, 0)\n    return 0\n" in made


@pytest.mark.parametrize(
    "body",
    [
        "    for i in range(start, stop):\n        pass\n",
        "    for i in range(start, stop):\n        call_by_address(operand(p, 0), (p,))\n",
        "    for i in range(start, stop):\n        pass\n" * 2,
    ],
)
def test_other_kernels_are_refused(body):
    with pytest.raises(ValueError, match="one loop over its range"):
        strided("def kernel(p, start, stop):\n" + body)
