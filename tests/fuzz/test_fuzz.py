"""A sample of random programs; ``tox -e fuzz`` goes on."""

import numpy as np
import pytest

from fuzz.checks import DifferenceError, Trial, check, difference
from fuzz.deep_words import DEEP
from fuzz.limits import LIMITS, changed, drawn, holders
from fuzz.odd_words import ODD
from fuzz.people_words import PEOPLE
from fuzz.plain_words import AROUND, PLAIN
from fuzz.program import Program
from fuzz.smaller import smaller
from fuzz.writer import write

SAMPLE = 8
"""Programs in the default run; about ten a second."""


@pytest.mark.parametrize(
    "words", [PLAIN, PEOPLE, ODD, DEEP], ids=["plain", "people", "odd", "deep"]
)
@pytest.mark.parametrize(
    "seed",
    [*range(SAMPLE), *[pytest.param(s, marks=pytest.mark.full) for s in range(SAMPLE, 200)]],
)
def test_random_programs(seed, words, kernels):
    check(write(seed, words=words))


@pytest.mark.rest
@pytest.mark.parametrize(
    "seed",
    [*range(SAMPLE), *[pytest.param(s, marks=pytest.mark.full) for s in range(SAMPLE, 200)]],
)
def test_random_programs_at_small_limits(seed, kernels):
    with changed(drawn(seed)):
        check(write(1000 + seed, words=(PLAIN, PEOPLE)[seed % 2]))


def test_limits_are_those_of_linad():
    for module, table in LIMITS.items():
        for name, values in table.items():
            held = [getattr(holder, known_as) for holder, known_as in holders(module, name)]
            assert len({type(v) for v in (*held, *values)}) == 1
            assert held[0] not in values


def test_a_program_of_a_seed_is_always_the_same():
    assert write(3) == write(3)
    assert len({write(seed) for seed in range(30)}) == 30


def draws(points, changes=(), body=("y = x * helper(x)",), result="y"):
    return Program(AROUND, body, result, ("x", "a", "n"), points, changes)


POINTS = tuple([(f"values({k}, (3,))", f"values({k}, (2,))", "1") for k in range(3)])


def test_a_difference_is_found_and_made_small(kernels):
    # What a program reads from outside in a way that nobody can follow.
    program = draws(
        POINTS,
        tuple([f"SE = {k}.0" for k in (2, 3)]),
        (
            "k = globals().get(''.join(['S', 'E']), 1.0)",
            "z = a + 1",
            "if a[0] > -5:\n    z = z + 1\n    y = x * k",
        ),
    )
    found = difference(program)
    assert found is not None
    small = smaller(program)
    assert "z = a + 1" not in small.body
    assert "if a[0] > -5:\n    y = x * k" in small.body
    with pytest.raises(DifferenceError):
        exec(small.script(), {})


def test_what_changes_between_calls_is_seen(kernels):
    changes = ("def helper(v):\n    return v + 1.0", "helper = np.sin")
    trial = check(draws(POINTS, changes))
    assert trial.asked > 10
    assert not trial.refused


def test_rounding_in_single_precision_excuses_what_cancels_alone():
    def cancels(point):
        (v,) = point
        return [1e4 * (v / 7) * 7 - 1e4 * v]  # 0, but for rounding

    x = np.linspace(0.5, 2.0, 9, dtype=np.float32)
    trial = Trial(draws(POINTS))
    trial.single = True
    assert np.any(abs(cancels([x])[0]) > 1e-4)
    trial.rounded([0 * x], cancels([x]), "", cancels, [x].copy)
    with pytest.raises(DifferenceError):
        trial.rounded([1.01e4 * x], [1e4 * x], "", lambda point: [1e4 * point[0]], [x].copy)


def test_a_jump_beside_the_point_is_no_difference_and_a_wrong_number_is():
    trial, x = Trial(draws(POINTS)), np.array([1.0, 2.0])

    def rounded(point):
        return {"": np.round(point[0] * 0.5)}  # half a unit, rounded to even, is up to the last bit

    assert rounded([x])[""][0] == 0
    trial.agree({"": np.array([1.0, 1.0])}, rounded([x]), rounded, [x])
    with pytest.raises(DifferenceError):
        trial.agree({"": np.array([0.0, 2.0])}, rounded([x]), rounded, [x])
