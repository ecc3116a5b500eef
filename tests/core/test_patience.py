"""What takes long is said once, and where it is not asked for never."""

import linad
from linad.core import patience


def test_a_line_after_a_while(monkeypatch, capsys):
    now = [10.0]
    monkeypatch.setattr(patience.time, "perf_counter", lambda: now[0])
    with linad.config(progress=True):
        waiting = patience.Patience()
        now[0] += 0.9 * patience.SECONDS
        assert waiting.spent() is None
        now[0] += patience.SECONDS
        assert waiting.spent() > 1.8 * patience.SECONDS
        waiting.say("compiling")
        assert waiting.spent() is None
        waiting.again(60.0)
        assert waiting.spent() is None
        now[0] += 60.0
        assert waiting.spent() > 60.0
    assert capsys.readouterr().err.startswith("linad: compiling (linad.config(progress=False)")


def test_nothing_is_said(monkeypatch):
    monkeypatch.setattr(patience, "SECONDS", 0.0)
    with linad.config(progress=False):
        waiting = patience.Patience()
        waiting.again(0.0)
        assert waiting.spent() is None
