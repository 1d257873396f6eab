"""Logs: one JSON object a line, whoever logs and whatever is in it."""

import json
import logging
from datetime import datetime
from typing import Any

import pytest
import structlog

from kwicket.cli.logs import LEVELS, configure_logs


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    text = capsys.readouterr().out
    assert text.isascii()
    return [json.loads(line) for line in text.splitlines()]


def test_ours_and_those_of_libraries_look_alike(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("info")
    structlog.get_logger("kwicket.test").info("granted", job="team/x-1", token=42)
    logging.getLogger("kopf.test").warning("watch %s ended", "pools")
    ours, theirs = lines(capsys)
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
def test_what_is_below_the_level_is_not_said(
    capsys: pytest.CaptureFixture[str], level: str
) -> None:
    configure_logs(level)
    for other in LEVELS:
        getattr(structlog.get_logger("kwicket.test"), other)(other)
        getattr(logging.getLogger("library"), other)(other)
    said = [line["message"] for line in lines(capsys)]
    assert said == [other for other in LEVELS[LEVELS.index(level) :] for _ in range(2)]


def test_hostile_text_stays_inside_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    text = 'one\ntwo\r\x1b[31mred\x00 "quoted" \u2028 \ud800 \u202e'
    configure_logs("info")
    structlog.get_logger("kwicket.test").info("said", text=text)
    logging.getLogger("library").info(text)
    assert [line.get("text", line["message"]) for line in lines(capsys)] == [text, text]


def test_an_exception_is_part_of_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("info")
    try:
        raise ValueError("broken")
    except ValueError:
        logging.getLogger("library").exception("it failed")
    [line] = lines(capsys)
    assert line["exception"].endswith("ValueError: broken")


def test_a_value_that_is_no_json_is_said_somehow(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("info")
    structlog.get_logger("kwicket.test").info("odd", value={1, 2}, other=object())
    [line] = lines(capsys)
    assert line["value"]
