"""Who asks for a value says why, for a block."""

from linad.core.reasons import because, reason


def test_the_innermost_counts():
    assert reason() == ""
    with because("steps"):
        with because("an event"):
            assert reason() == "an event"
        assert reason() == "steps"
    assert reason() == ""
