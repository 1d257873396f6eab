"""When a lease lapses, and when it is looked at again."""

from typing import Any

import pytest

from kwicket.core.lapse import Cause, Lapse, Watched, lapse, next_look, watch
from kwicket.core.leases import OnLapse, Terms, pause
from kwicket.core.release import Holds, Lapsed, Over, Unproved, standing
from support.builders import job_seen, pod_seen

TERMS = Terms(duration=300_000, start_within=600_000)
GRANTED = {"suspended": False, "token": 7}
SILENT = {"gone-1", "gone-2"}


def granted(**fields: Any) -> Any:
    return job_seen(**(GRANTED | fields))


def pod(name: str = "a", **fields: Any) -> Any:
    defaults: dict[str, Any] = {"token": 7, "node": "node-1"}
    return pod_seen(name=name, **(defaults | fields))


def watched(*moments: tuple[float, Any, list[Any]]) -> Watched | None:
    """What is known after the Job and its pods were seen at these moments."""
    known = None
    for now, job, pods in moments:
        known = watch(known, job, pods, SILENT, now)
    return known


def lapsed(now: float, *moments: tuple[float, Any, list[Any]], terms: Terms = TERMS) -> Any:
    known = watched(*moments)
    return known and lapse(known, terms, now)


NOT_STARTED = Lapse(Cause.NOT_STARTED, OnLapse.REDELIVER, 600_000)


@pytest.mark.parametrize("pods", [[], [pod(phase="Pending", node="")], [pod(phase="Pending")]])
def test_a_job_of_which_nothing_starts_lapses_after_start_within(pods: list[Any]) -> None:
    assert lapsed(699, (100, granted(), pods)) is None
    assert lapsed(700, (100, granted(), pods)) == NOT_STARTED


def test_a_pod_that_has_started_keeps_it_from_lapsing() -> None:
    assert lapsed(9999, (100, granted(), [pod(started=True)])) is None


def test_what_has_started_once_has_started_though_its_pod_is_gone_or_pending_again() -> None:
    seen = (100, granted(), [pod(started=True)])
    assert lapsed(9999, seen, (200, granted(), [])) is None
    assert lapsed(9999, seen, (200, granted(), [pod(phase="Pending")])) is None


def test_one_started_pod_is_enough() -> None:
    pods = [pod("a", phase="Pending"), pod("b", started=True)]
    assert lapsed(9999, (100, granted(parallelism=2), pods)) is None


def test_a_pod_of_an_earlier_grant_is_no_start_of_this_one() -> None:
    left = pod(token=6, started=True, node="gone-1")
    assert lapsed(700, (100, granted(), [left])) == NOT_STARTED


def test_each_grant_has_its_own_time_to_start() -> None:
    first, second = granted(), granted(token=8)
    assert lapsed(700, (100, first, []), (500, second, [])) is None
    assert lapsed(1100, (100, first, []), (500, second, [])) == NOT_STARTED


def on(*nodes: str, **fields: Any) -> list[Any]:
    return [pod(f"p-{n}", node=node, started=True, **fields) for n, node in enumerate(nodes)]


def test_a_job_on_silent_nodes_lapses_after_the_duration() -> None:
    seen = (100, granted(), on("gone-1", "gone-2"))
    assert lapsed(399, seen) is None
    assert lapsed(400, seen) == Lapse(
        Cause.NODES_SILENT, OnLapse.REDELIVER, 300_000, ("gone-1", "gone-2")
    )


def test_one_node_that_is_heard_of_is_a_sign_of_life() -> None:
    assert lapsed(9999, (100, granted(), on("gone-1", "node-1"))) is None


def test_silence_is_counted_from_the_last_sign_of_life() -> None:
    both, left = on("gone-1", "node-1"), on("gone-1")
    moments = (100, granted(), both), (5000, granted(), left)
    assert lapsed(5299, *moments) is None
    assert lapsed(5300, *moments) is not None


def test_silence_with_a_break_is_counted_anew() -> None:
    moments = [(100, granted(), on("gone-1")), (300, granted(), on("node-1"))]
    moments.append((350, granted(), on("gone-1")))
    assert lapsed(649, *moments) is None
    assert lapsed(650, *moments) is not None


def test_silence_goes_on_on_other_nodes() -> None:
    moments = (100, granted(), on("gone-1", "gone-2")), (300, granted(), on("gone-2"))
    assert lapsed(400, *moments) is not None


def test_pods_that_have_ended_are_not_listened_to() -> None:
    assert lapsed(9999, (100, granted(), on("gone-1", phase="Failed"))) is None


def test_a_pod_without_a_node_gives_no_sign_of_life() -> None:
    """The replacement of a pod on a silent node can't be placed."""
    pods = [*on("gone-1"), pod("b", phase="Pending", node="")]
    assert lapsed(400, (100, granted(), pods)) is not None
    alone = [pod("b", phase="Pending", node="")]
    assert lapsed(9999, (50, granted(), [pod(started=True)]), (100, granted(), alone)) is None


def test_pods_of_an_earlier_grant_are_not_listened_to() -> None:
    left, new = pod("old", token=6, node="gone-1"), pod("new", node="node-1", started=True)
    assert lapsed(9999, (100, granted(), [left, new])) is None
    assert lapsed(9999, (100, granted(), [left, pod("new", started=True, node="")])) is None


@pytest.mark.parametrize("job", [None, granted(suspended=True), granted(deleting=True)])
def test_what_a_job_left_on_silent_nodes_lapses_too(job: Any) -> None:
    assert lapsed(399, (100, job, on("gone-1"))) is None
    assert lapsed(400, (100, job, on("gone-1"))) is not None
    waiting = pod("b", phase="Pending", node="")
    assert lapsed(9999, (100, job, [*on("gone-1"), waiting])) is None
    assert lapsed(9999, (100, job, on("node-1"))) is None


def test_what_was_silent_while_it_ran_is_silent_once_it_is_suspended() -> None:
    moments = (100, granted(), on("gone-1")), (350, granted(suspended=True), on("gone-1"))
    assert lapsed(400, *moments) is not None


def test_the_silence_of_an_earlier_grant_is_not_that_of_a_new_one() -> None:
    again = granted(token=8)
    suspended = granted(suspended=True)
    moments = (100, granted(), on("gone-1")), (400, suspended, on("gone-1"))
    after = (500, again, [*on("gone-1"), pod("new", token=8, node="gone-2", started=True)])
    assert lapsed(799, *moments, after) is None
    assert lapsed(800, *moments, after) is not None


@pytest.mark.parametrize(
    ("job", "pods"),
    [
        (job_seen(), []),
        (granted(suspended=True), []),
        (granted(suspended=True), on("gone-1", phase="Failed")),
        (granted(ended=True), on("gone-1")),
        (granted(suspended=True, ended=True), on("gone-1")),
        (None, []),
    ],
)
def test_nothing_is_watched_where_nothing_may_lapse(job: Any, pods: list[Any]) -> None:
    assert watched((100, job, pods)) is None


@pytest.mark.parametrize(
    ("job", "pods", "now", "moment"),
    [
        (granted(), [], 100, 700),
        (granted(), on("node-1"), 100, None),
        (granted(), on("gone-1"), 100, 400),
        (granted(), [pod(phase="Pending", node="gone-1")], 100, 400),
        (granted(), [pod(phase="Pending", node="gone-1")], 400, 700),
        (granted(), [], 700, None),
        (None, on("gone-1"), 100, 400),
        (None, on("node-1"), 100, None),
    ],
)
def test_it_is_looked_at_again_when_it_may_lapse(
    job: Any, pods: list[Any], now: float, moment: float | None
) -> None:
    known = watched((100, job, pods))
    assert known is not None
    assert next_look(known, TERMS, now) == moment


SILENCE = Lapse(Cause.NODES_SILENT, OnLapse.REDELIVER, 300_000, ("gone-1",))
HELD = Lapse(Cause.NODES_SILENT, OnLapse.HOLD, 300_000, ("gone-1",))


@pytest.mark.parametrize(
    ("job", "lapse", "expected"),
    [
        (granted(), SILENCE, Lapsed(SILENCE)),
        (granted(), HELD, Lapsed(HELD)),
        (granted(), NOT_STARTED, Lapsed(NOT_STARTED)),
        (granted(suspended=True), SILENCE, Unproved()),
        (granted(suspended=True), HELD, Holds()),
        (granted(suspended=True, settled=False), SILENCE, Holds()),
        (granted(deleting=True), SILENCE, Unproved()),
        (granted(deleting=True), HELD, Holds()),
        (None, SILENCE, Unproved()),
        (None, HELD, Holds()),
        (granted(ended=True), SILENCE, Over()),
    ],
)
def test_a_job_whose_lease_has_lapsed_stands(job: Any, lapse: Lapse, expected: Any) -> None:
    assert standing(job, on("gone-1"), lapse) == expected


def test_a_pod_that_an_earlier_grant_left_behind_does_not_keep_the_slot_of_a_later_one() -> None:
    left = pod("old", token=6, node="gone-1")
    done = pod("new", phase="Succeeded")
    assert standing(granted(completions=1), [left, done]) == Over()
    assert standing(granted(completions=1), [pod("old"), done]) == Holds()


def test_a_job_rests_for_ten_seconds_doubling_to_ten_minutes() -> None:
    assert [pause(n) for n in range(9)] == [0, 10, 20, 40, 80, 160, 320, 600, 600]
    assert pause(10**9) == 600
