"""Runs that start anew when more code is adopted."""

import pytest

from linad.core import adopted
from linad.errors import InternalError


def test_code_that_is_new_in_each_run(monkeypatch):
    """An error says so; what asks for the next run stays inside."""
    monkeypatch.setattr(adopted, "WATCHERS", [object()])
    runs = []

    @adopted.repeated
    def always():
        runs.append(1)
        raise adopted.RunAgain(None)

    with pytest.raises(InternalError, match="after 64 runs"):
        always()
    assert len(runs) == 64


def test_the_error_of_the_last_run(monkeypatch):
    monkeypatch.setattr(adopted, "WATCHERS", [object()])

    @adopted.repeated
    def always():
        raise adopted.RunAgain(KeyError("k"))

    with pytest.raises(KeyError):
        always()
