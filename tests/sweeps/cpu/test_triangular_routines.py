"""Triangular systems, compiled: vectors, matrices and stacks, in every layout."""

import numpy as np
import pytest
from compiled_runs import check_compiled, labels, poisoned

import linad
from linad.core.primitive import Primitive
from linad.sweeps.program import KernelStoppedError

solve_triangular = Primitive.registry["solve_triangular"]
RNG = np.random.default_rng(2)
A = np.tri(4) * RNG.uniform(0.5, 1.5, (4, 4)) + np.eye(4)


def lower(a, b, unit=False):
    return solve_triangular(a, b, lower=True, unit=unit)


@pytest.mark.parametrize(
    "columns, routine", [(1, "trsv"), (3, "trsm")], ids=["one column", "several"]
)
def test_the_routine_fits_the_right_side(columns, routine):
    assert routine in check_compiled(lower, A, RNG.standard_normal((4, columns)))


def test_one_matrix_and_a_stack_of_columns():
    done = check_compiled(lower, A, RNG.standard_normal((5, 4, 1)))
    assert done.count("trsm") == 1


def test_upper_triangles_by_views():
    b = RNG.standard_normal((4, 2))
    for view in (lambda a: a.T, lambda a: a[::-1, ::-1]):
        check_compiled(
            lambda a, b, view=view: solve_triangular(view(a), b, lower=False, unit=False), A, b
        )


def test_a_zero_on_the_diagonal_stops_the_run():
    _, tape = linad.trace(lower, A, np.ones((4, 1)))
    program = poisoned(tape)
    program.run([A, np.ones((4, 1))])
    with pytest.raises(KernelStoppedError):
        program.run([A * (1 - np.eye(4)), np.ones((4, 1))])
    assert "check diagonal" in labels(program)


def test_a_unit_diagonal_is_not_read():
    check_compiled(lambda a, b: lower(a, b, unit=True), A * (1 - np.eye(4)), np.ones((4, 2)))
