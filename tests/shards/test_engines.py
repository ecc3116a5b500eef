"""Who is given which shards."""

import numpy as np

import linad
from linad.shards.engines import divided, shared_out
from linad.shards.report import Counts, Report


def test_shards_that_several_have_are_shared_out():
    held = [("a", "b")] * 4 + [("a",), ("a",), ()]
    assert shared_out(held) == ["b", "b", "a", "b", "a", "a", None]


def test_divided():
    assert divided(range(5), 2) == [[0, 1], [2, 3, 4]]
    assert divided(range(2), 5) == [[0], [1]]


def test_the_time_of_a_term_is_that_of_the_last_call():
    report = Report("f", 4, "here")
    assert report.latest is None
    report.note({"a": Counts(shards=4, seconds=8.0)})
    report.note({"a": Counts(shards=8, seconds=9.0), "b": Counts(shards=4, seconds=3.0)})
    assert report.latest == 0.5
    report.note({"a": Counts(shards=8, seconds=9.0)})
    assert report.latest == 0.5


def test_a_sum_tells_it_to_its_engine():
    F = linad.sum_of(lambda w, x: np.sum(w * x), [1.0, 2.0])
    F(np.ones(3))
    assert F.report().latest > 0
