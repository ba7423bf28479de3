import time

import pytest

from curta import terminal


@pytest.mark.parametrize(("quiet", "told"), [(60.0, ""), (0.01, "counting ...\n")])
def test_what_takes_long_is_said_where_there_is_no_terminal(
    quiet: float, told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(terminal, "QUIET_SECONDS", quiet)
    said, deadline = "", time.monotonic() + 30
    with terminal.spinning("counting"):
        while said != told and time.monotonic() < deadline:
            time.sleep(0.01)
            said += capsys.readouterr().err
    assert said + capsys.readouterr().err == told
