"""`kwicket ledger copy`: a pool that moves to PostgreSQL and back, with no operator at work."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from msgspec.structs import replace

from kwicket.cli import moves
from kwicket.core.leases import Lease
from kwicket.core.starts import Start
from kwicket.core.state import Reservation, State
from kwicket.kube import quiet
from kwicket.kube.schemas import admitted
from kwicket.ports.backlog import News
from kwicket.ports.errors import UnavailableError
from kwicket.ports.ledger import Page
from kwicket_storage.backlog import PostgresBacklog
from kwicket_storage.clusters import Cluster
from kwicket_storage.connections import Connections
from kwicket_storage.encoding import decoded, encoded
from kwicket_storage.postgres import PostgresLedger
from kwicket_storage.schema import migrate
from support.api_server import LEASES, LEDGERS, ApiServer
from support.backlog_contract import Share, foreign, joined, opened
from support.builders import fairness, intent, ticket
from support.commands import run_ledger as run
from support.databases import Database

OWN, THEIRS = intent("a-1", token=20), intent("w-1", token=21)
FOREIGN = replace(THEIRS, lease=foreign(THEIRS.lease, "west"))
RUNNING = intent("r-1", token=19).lease
SILENT = """
    UPDATE kwicket.members SET since = now() - interval '2 minutes',
        alive = now() - CASE cluster WHEN 'east' THEN interval '2 minutes' ELSE interval '0' END
"""


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """What would be waited for is so after half a second."""
    monkeypatch.setattr(quiet, "QUIET", 0.5)
    monkeypatch.setattr(quiet, "LOOK", 0.05)


@pytest.fixture
async def connections(empty: Database) -> AsyncIterator[Connections]:
    await migrate(empty.url)
    made = Connections(empty.url)
    yield made
    await made.close()


@pytest.fixture
async def administrator(empty: Database, connections: Connections) -> AsyncIterator[Any]:
    """A connection of a superuser."""
    connection = await asyncpg.connect(empty.url)
    yield connection
    await connection.close()


@pytest.fixture
def east(connections: Connections) -> Share:
    """What the operator of this cluster worked with."""
    return shared(connections, "east")


@pytest.fixture
def west(connections: Connections) -> Share:
    """What the operator of another cluster works with."""
    return shared(connections, "west")


@pytest.fixture
def there(url: Path, known: Path, connections: Connections) -> tuple[str | Path, ...]:
    """The words of a copy to PostgreSQL."""
    place = ("--cluster", "east", "--kubeconfig", known, "--postgres", url)
    return ("copy", "--from", "kubernetes", "--to", "postgres", *place)


@pytest.fixture
def back(there: tuple[str | Path, ...]) -> tuple[str | Path, ...]:
    """The words of the way back."""
    return ("copy", "--from", "postgres", "--to", "kubernetes", *there[5:])


def shared(connections: Connections, name: str, identity: str = "") -> Share:
    ledger = PostgresLedger(connections, Cluster(name))
    return Share(ledger, PostgresBacklog(connections, Cluster(name), identity or f"of {name}"))


def put(api: ApiServer, state: State, pool: str = "gpus") -> None:
    api.put(LEDGERS, {"metadata": {"name": pool}, "spec": encoded(state)})


def stored(api: ApiServer, pool: str = "gpus") -> State:
    """What the Ledger says, which the API server would take."""
    body = api.objects[LEDGERS]["", pool]
    [flaws] = [admitted("Ledger", {"metadata": {"name": pool}, "spec": body["spec"]})[1]]
    assert flaws == []
    return decoded(body["spec"])


def reserved(job: str, tenant: str, prefix: str = "") -> Reservation:
    return Reservation(f"{prefix}{job}", f"{prefix}team/{job}", tenant, "", 4, 1, 1)


async def page(share: Share, pool: str = "gpus") -> State:
    found = await share.ledger.read(pool)
    assert found is not None
    return found.state


async def test_a_pool_is_copied_with_its_turn_and_its_tokens(
    there: tuple[str | Path, ...], east: Share
) -> None:
    copied = await run(*there)
    assert copied.exit_code == 0, copied.output
    assert "pool gpus: copied at token 7" in copied.stdout
    assert await page(east) == State(7, fairness(3))


async def test_a_pool_that_is_there_keeps_its_turn_and_goes_on_above_both(
    there: tuple[str | Path, ...], east: Share, api: ApiServer
) -> None:
    await run(*there)
    put(api, State(90, fairness(5)))
    copied = await run(*there)
    assert "pool gpus: was there, and goes on above token 90" in copied.stdout
    assert await page(east) == State(90, fairness(3))


async def test_starts_count_for_rates_wherever_the_pool_goes_on(
    there: tuple[str | Path, ...], east: Share, api: ApiServer
) -> None:
    """Two that are alike are two; one that both ledgers know is one."""
    first, second, third = (Start(at, "alice", "") for at in (1, 2, 3))
    await opened(east, "gpus", State(1, starts=(first, first, third)))
    put(api, State(7, starts=(first, second)))
    for _ in range(2):
        await run(*there)
        assert (await page(east)).starts == (first, first, second, third)


async def test_only_the_pools_that_are_named_are_copied(
    there: tuple[str | Path, ...], east: Share, api: ApiServer
) -> None:
    put(api, State(8), "tapes")
    put(api, State(9), "disks")
    copied = await run(*there, "--pool", "tapes", "--pool", "gpus")
    assert copied.exit_code == 0, copied.output
    assert await east.ledger.read("disks") is None
    assert (await page(east, "tapes")).version == 8


async def test_a_pool_that_is_not_there_is_said_before_any_is_copied(
    there: tuple[str | Path, ...], back: tuple[str | Path, ...], east: Share
) -> None:
    for words, said in ((there, "Kubernetes has no Ledger"), (back, "PostgreSQL has no pool")):
        refused = await run(*words, "--pool", "gpus", "--pool", "spus")
        assert refused.exit_code == 1
        assert f"{said}" in refused.output
        assert "spus: nothing was copied" in refused.output
    assert await east.ledger.read("gpus") is None


@pytest.mark.parametrize(
    ("name", "namespace", "said"),
    [
        (
            "kwicket",
            "elsewhere",
            "kwicket-1 leads in namespace elsewhere: kubectl -n elsewhere scale deployment kwicket",
        ),
        (
            "kwicket-unelected",
            "kwicket-system",
            "kwicket-1 works in namespace kwicket-system without an election: end that process",
        ),
    ],
)
async def test_nothing_is_copied_while_an_operator_is_at_work(
    there: tuple[str | Path, ...], east: Share, api: ApiServer, name: str, namespace: str, said: str
) -> None:
    lease = {"metadata": {"name": name, "namespace": namespace}}
    held = {"holderIdentity": "kwicket-1", "leaseDurationSeconds": 30}
    api.put(LEASES, lease | {"spec": held | {"renewTime": "then"}})
    copying = asyncio.create_task(run(*there))
    await asked_for_leases(api)
    api.put(LEASES, lease | {"spec": held | {"renewTime": "now"}})
    refused = await copying
    assert refused.exit_code == 1
    assert said in refused.output
    assert await east.ledger.read("gpus") is None


async def test_nothing_is_copied_while_one_without_any_lease_writes(
    there: tuple[str | Path, ...], east: Share, api: ApiServer
) -> None:
    copying = asyncio.create_task(run(*there))
    await asked_for_leases(api)
    put(api, State(8))
    refused = await copying
    assert "somebody writes the Ledger gpus: end all operators of this cluster" in refused.output
    assert await east.ledger.read("gpus") is None


async def test_nothing_is_copied_back_while_the_cluster_gives_signs_of_life(
    back: tuple[str | Path, ...], east: Share, api: ApiServer
) -> None:
    await joined(east, "gpus")
    await opened(east, "gpus", State(30))
    copying = asyncio.create_task(run(*back))
    await asked_for_leases(api)
    await east.backlog.beat("gpus", "rules")
    refused = await copying
    assert "an operator of this cluster gives signs of life in pool gpus" in refused.output
    assert stored(api).version == 7


async def test_other_clusters_may_go_on_meanwhile(
    back: tuple[str | Path, ...], east: Share, west: Share, api: ApiServer
) -> None:
    for one in (east, west):
        await joined(one, "gpus")
    before = await opened(west, "gpus", State(30))
    copying = asyncio.create_task(run(*back))
    await asked_for_leases(api)
    await west.backlog.beat("gpus", "rules")
    assert isinstance(await west.ledger.commit(before, State(31)), Page)
    assert (await copying).exit_code == 0
    assert stored(api).version == 31


async def test_the_way_back_brings_the_turn_that_the_cluster_went_by_last(
    back: tuple[str | Path, ...], east: Share, api: ApiServer
) -> None:
    """The Ledger is of before the pool moved: what it has under way is long over."""
    put(api, State(90, fairness(3), intents=(intent("old", token=90),), starts=(first_start(),)))
    await joined(east, "gpus")
    await opened(east, "gpus", State(30, fairness(5), intents=(OWN,)))
    copied = await run(*back)
    assert copied.exit_code == 0, copied.output
    assert "pool gpus: copied at token 90" in copied.stdout
    assert stored(api) == State(90, fairness(5), intents=(OWN,), starts=(first_start(),))


async def test_what_is_of_other_clusters_stays_where_its_slots_are_held(
    back: tuple[str | Path, ...], east: Share, west: Share, api: ApiServer
) -> None:
    for one in (east, west):
        await joined(one, "gpus")
    reservations = (reserved("b-1", "bob"), reserved("c-1", "carol", "west/"))
    await opened(east, "gpus", State(30, intents=(OWN, FOREIGN), reservations=reservations))
    copied = await run(*back)
    assert copied.exit_code == 0, copied.output
    assert "pool gpus: 1 grants and 1 reservations of west are left out: they stay in" in (
        copied.stdout
    )
    assert (stored(api).intents, stored(api).reservations) == ((OWN,), reservations[:1])
    left = await page(west)
    assert (left.intents, left.reservations) == ((THEIRS,), (reserved("c-1", "carol"),))


async def test_tokens_go_on_above_those_that_any_cluster_knows_of(
    back: tuple[str | Path, ...], east: Share, api: ApiServer
) -> None:
    await joined(east, "gpus")
    await opened(east, "gpus", State(30))
    await east.backlog.tell("gpus", News(), 44)
    await run(*back)
    assert stored(api).version == 44


async def test_who_has_moved_back_shares_the_pool_no_more(
    back: tuple[str | Path, ...], east: Share, west: Share
) -> None:
    await joined(east, "gpus", News(waiting=(ticket("a-2"),)))
    await joined(west, "gpus")
    await opened(west, "gpus", State(30))
    before = (await west.backlog.hear("gpus", 0)).upto
    copied = await run(*back)
    assert "pool gpus: east shares it no more" in copied.stdout
    heard = await west.backlog.hear("gpus", before)
    assert [one.cluster for one in heard.members] == ["west"]
    assert heard.left == ("east/a-2",)
    assert "there is no pool to copy" in (await run(*back)).stdout


async def test_what_runs_keeps_its_slots_until_the_cluster_is_forgotten(
    back: tuple[str | Path, ...], url: Path, east: Share, west: Share, administrator: Any
) -> None:
    await joined(east, "gpus", News(running=(RUNNING,)))
    await joined(west, "gpus")
    await opened(west, "gpus", State(30))
    copied = await run(*back)
    assert copied.exit_code == 0, copied.output
    assert "pool gpus: 1 Jobs of east run, or may, and keep their slots" in copied.stdout
    assert "kwicket ledger forget --pool gpus --cluster east" in copied.stdout
    assert (await west.backlog.hear("gpus", 0)).running == (foreign(RUNNING),)
    assert not await east.backlog.beat("gpus", "rules")
    await administrator.execute(SILENT)
    forgotten = await run("forget", "--postgres", url, "--pool", "gpus", "--cluster", "east")
    assert forgotten.exit_code == 0, forgotten.output
    assert (await west.backlog.hear("gpus", 0)).running == ()


@pytest.mark.parametrize(("seconds", "code", "running"), [(60, 1, (RUNNING,)), (120, 0, ())])
async def test_a_cluster_is_forgotten_once_it_was_silent_for_long(
    url: Path,
    east: Share,
    west: Share,
    administrator: Any,
    seconds: int,
    code: int,
    running: tuple[Lease, ...],
) -> None:
    await joined(east, "gpus", News(running=(RUNNING,)))
    await joined(west, "gpus")
    await administrator.execute(
        SILENT.replace("THEN interval '2 minutes'", f"THEN interval '{seconds} s'")
    )
    forgotten = await run("forget", "--postgres", url, "--pool", "gpus", "--cluster", "east")
    assert forgotten.exit_code == code, forgotten.output
    heard = await west.backlog.hear("gpus", 0)
    assert heard.running == tuple(map(foreign, running))


async def test_the_last_cluster_that_shared_a_pool_is_forgotten_too(
    back: tuple[str | Path, ...], url: Path, east: Share, administrator: Any
) -> None:
    """Nobody else is there who could tell that it is silent."""
    await joined(east, "gpus", News(running=(RUNNING,)))
    await opened(east, "gpus", State(30))
    words = ("forget", "--postgres", url, "--pool", "gpus", "--cluster", "east")
    await administrator.execute(SILENT)
    assert (await run(*words)).exit_code == 1
    await run(*back)
    assert (await run(*words)).exit_code == 0
    assert await administrator.fetchval("SELECT count(*) FROM kwicket.members") == 0


async def test_a_way_back_that_broke_off_is_gone_to_its_end(
    back: tuple[str | Path, ...],
    east: Share,
    west: Share,
    api: ApiServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The Ledger is the one that the cluster goes by meanwhile, and stays as it is."""
    for one in (east, west):
        await joined(one, "gpus")
    await opened(east, "gpus", State(30, intents=(OWN, FOREIGN)))
    with monkeypatch.context() as broken:
        broken.setattr(moves, "withdrawn", unreached)
        assert (await run(*back)).exit_code == 1
    put(api, State(90))
    for _ in range(2):
        finished = await run(*back)
        assert finished.exit_code == 0, finished.output
        assert "pool gpus: 1 Jobs of east run, or may, and keep their slots" in finished.stdout
        assert "copied" not in finished.stdout
    assert stored(api) == State(90)
    assert (await page(west)).intents == (THEIRS,)
    assert (await west.backlog.hear("gpus", 0)).running == (foreign(OWN.lease),)


async def test_only_pools_that_the_cluster_shares_come_back_unless_they_are_named(
    back: tuple[str | Path, ...], east: Share, west: Share, api: ApiServer
) -> None:
    await joined(east, "gpus")
    await opened(east, "gpus", State(30))
    await joined(west, "tapes")
    await opened(west, "tapes", State(40, intents=(THEIRS,)))
    await run(*back)
    assert set(api.objects[LEDGERS]) == {("", "gpus")}
    copied = await run(*back, "--pool", "tapes")
    assert "1 grants and 0 reservations of west are left out" in copied.stdout
    assert stored(api, "tapes") == State(40)
    assert [one.cluster for one in (await west.backlog.hear("tapes", 0)).members] == ["west"]


async def test_a_name_of_another_cluster_is_refused(
    back: tuple[str | Path, ...], connections: Connections, api: ApiServer
) -> None:
    ledger = PostgresLedger(connections, Cluster("east"))
    other = Share(ledger, PostgresBacklog(connections, Cluster("east"), "of another"))
    await joined(other, "gpus")
    await opened(other, "gpus", State(30))
    refused = await run(*back)
    assert refused.exit_code == 1
    assert "pool gpus: another cluster shares it as 'east'" in refused.output
    assert stored(api).version == 7


async def test_a_cluster_that_the_others_know_by_another_name_is_told_which(
    back: tuple[str | Path, ...], connections: Connections, api: ApiServer, east: Share
) -> None:
    """Else it would go by its Ledger, and grant what it still shares."""
    for pool in ("gpus", "tapes"):
        await joined(east, pool)
        await opened(east, pool, State(30))
    wrong = tuple("west" if word == "east" else word for word in back)
    for chosen, said in (((), "gpus as 'east', tapes as 'east'"), (("--pool", "gpus"), "gpus as")):
        refused = await run(*wrong, *chosen)
        assert refused.exit_code == 1
        assert f"this cluster shares {said}" in refused.output
    assert stored(api).version == 7
    await joined(shared(connections, "west", "of east"), "gpus")
    assert (await run(*wrong, "--pool", "gpus")).exit_code == 0


async def test_a_database_without_the_schema_is_told_what_to_do(url: Path, known: Path) -> None:
    place = ("--cluster", "east", "--kubeconfig", known, "--postgres", url)
    refused = await run("copy", "--from", "kubernetes", "--to", "postgres", *place)
    assert refused.exit_code == 1
    assert "run kwicket ledger migrate first" in refused.output


async def unreached(*_: object) -> None:
    raise UnavailableError("not reached")


def first_start() -> Start:
    return Start(1, "alice", "")


async def asked_for_leases(api: ApiServer) -> None:
    """Until the command has looked once, and looks again."""
    await api.until(lambda: len(api.asked("GET", LEDGERS)) >= 2)
