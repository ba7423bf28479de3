import time

import pytest

from curta import terminal


@pytest.mark.parametrize(("seconds", "told"), [(0.0, ""), (0.2, "counting ...\n")])
def test_what_takes_long_is_said_where_there_is_no_terminal(
    seconds: float, told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(terminal, "QUIET_SECONDS", 0.05)
    with terminal.spinning("counting"):
        time.sleep(seconds)
    time.sleep(0.1)
    assert capsys.readouterr().err == told
