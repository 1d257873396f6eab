"""Logs: one JSON object a line, whoever logs and whatever is in it."""

import json
import logging
import os
import subprocess
import sys
import threading
from datetime import datetime
from typing import Any

import pytest
import structlog

from kwicket.cli.lines import MOST_WAITING, Lines
from kwicket.cli.logs import LEVELS, configure_logs


def lines(capfd: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    for handler in logging.getLogger().handlers:
        handler.flush()
    text = capfd.readouterr().out
    assert text.isascii()
    return [json.loads(line) for line in text.splitlines()]


def test_ours_and_those_of_libraries_look_alike(capfd: pytest.CaptureFixture[str]) -> None:
    configure_logs("info")
    structlog.get_logger("kwicket.test").info("granted", job="team/x-1", token=42)
    logging.getLogger("kopf.test").warning("watch %s ended", "pools")
    ours, theirs = lines(capfd)
    for line in (ours, theirs):
        assert datetime.fromisoformat(line.pop("time")).tzinfo is not None
    assert ours == {
        "level": "info",
        "logger": "kwicket.test",
        "message": "granted",
        "job": "team/x-1",
        "token": 42,
    }
    assert theirs == {"level": "warning", "logger": "kopf.test", "message": "watch pools ended"}


@pytest.mark.parametrize("level", LEVELS)
def test_what_is_below_the_level_is_not_said(capfd: pytest.CaptureFixture[str], level: str) -> None:
    configure_logs(level)
    for other in LEVELS:
        getattr(structlog.get_logger("kwicket.test"), other)(other)
        getattr(logging.getLogger("library"), other)(other)
    said = [line["message"] for line in lines(capfd)]
    assert said == [other for other in LEVELS[LEVELS.index(level) :] for _ in range(2)]


def test_hostile_text_stays_inside_its_line(capfd: pytest.CaptureFixture[str]) -> None:
    text = 'one\ntwo\r\x1b[31mred\x00 "quoted" \u2028 \ud800 \u202e'
    configure_logs("info")
    structlog.get_logger("kwicket.test").info("said", text=text)
    logging.getLogger("library").info(text)
    assert [line.get("text", line["message"]) for line in lines(capfd)] == [text, text]


def test_an_exception_is_part_of_its_line(capfd: pytest.CaptureFixture[str]) -> None:
    configure_logs("info")
    try:
        raise ValueError("broken")
    except ValueError:
        logging.getLogger("library").exception("it failed")
    [line] = lines(capfd)
    assert line["exception"].endswith("ValueError: broken")


def test_a_value_that_is_no_json_is_said_somehow(capfd: pytest.CaptureFixture[str]) -> None:
    configure_logs("info")
    structlog.get_logger("kwicket.test").info("odd", value={1, 2}, other=object())
    [line] = lines(capfd)
    assert line["value"]


def test_a_reader_that_hangs_stops_nobody_and_is_told_what_it_has_missed() -> None:
    """Row 40 of the fault matrix: far more is said than a pipe holds, and then than may wait."""
    reading, writing = os.pipe()
    handler = Lines(writing)
    record = logging.LogRecord("test", logging.INFO, "", 0, "x" * 200, None, None)
    most = MOST_WAITING + 1000
    for _ in range(most):
        handler.emit(record)
    threading.Thread(target=_close, args=(handler, writing)).start()
    with os.fdopen(reading) as pipe:
        read = pipe.read().splitlines()
    confessions = [line for line in read if "lost" in line]
    lost = sum(int(confession.split()[0]) for confession in confessions)
    assert lost > 0
    assert len(read) == most - lost + len(confessions)


def _close(handler: Lines, writing: int) -> None:
    """Once all has been written, for which the handler itself waits a second at most."""
    while handler._waiting.unfinished_tasks:
        handler.flush()
    handler.close()
    os.close(writing)


def test_the_end_does_not_wait_for_a_reader_that_hangs() -> None:
    script = (
        "import logging; from kwicket.cli.logs import configure_logs; configure_logs('info');"
        "[logging.info('x' * 1000) for _ in range(200)]"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as process:  # noqa: S603
        assert process.wait(30) == 0
