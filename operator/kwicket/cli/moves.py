"""A move of this cluster's pools to PostgreSQL or back, and what is said of it."""

from collections.abc import Mapping, Sequence

import click

from kwicket.kube import quiet
from kwicket.kube.client import Client
from kwicket.kube.leaders import leads
from kwicket.kube.quiet import Signs, at_work
from kwicket.ports.objects import Missing
from kwicket_storage.clusters import Cluster
from kwicket_storage.connections import Connections
from kwicket_storage.kubernetes import PATH, KubernetesLedger
from kwicket_storage.memberships import Kept, Membership, Memberships
from kwicket_storage.moving import Absent, Copied, Disturbed, Left, Raised, copied, withdrawn
from kwicket_storage.postgres import PostgresLedger, pools

type Outcome = Copied | Raised | Absent | Disturbed


class Move:
    """Of one cluster. Each method raises ClickException if it can't be, or UnavailableError."""

    def __init__(
        self, client: Client, connections: Connections, cluster: Cluster, members: Memberships
    ) -> None:
        self._client = client
        self._connections = connections
        self._cluster = cluster.name
        self._members = members
        self._kubernetes = KubernetesLedger(client)
        self._postgres = PostgresLedger(connections, cluster)

    async def wait(self) -> None:
        """Returns once no operator of the cluster can change anything any more."""
        click.echo(
            f"looking for {quiet.QUIET:.0f} s whether an operator is at work,"
            " or anything is on its way that one has sent"
        )
        who = await at_work(self._signs)
        if who is not None:
            raise click.ClickException(
                f"{who}, and try again: that takes {quiet.QUIET:.0f} s from its end on"
            )

    async def there(self, chosen: Sequence[str]) -> None:
        """Copies to PostgreSQL the pools that are chosen, or all that have a Ledger."""
        names = _names(chosen, sorted(await self._ledgers()), "Kubernetes has no Ledger")
        for name in names:
            _say(await copied(name, self._kubernetes, self._postgres))

    async def back(self, chosen: Sequence[str]) -> None:
        """Copies back the pools that are chosen, or all that this cluster shares.

        It shares them no more then. Nobody goes by the Ledger of one that it shared, but by that of
        one with which it has moved already, of which only the rest is done.
        """
        shared = await self._members.all()
        _refuse(await self._members.otherwise(), chosen)
        known = await pools(self._connections) if chosen else sorted(shared)
        for name in _names(chosen, known, "PostgreSQL has no pool"):
            one = shared.get(name)
            if one is None or not one.moved:
                await self._copy_back(name, one)
            if one is not None:
                await self._part(one)

    async def _copy_back(self, pool: str, one: Membership | None) -> None:
        highest = 0 if one is None else one.highest
        anew = one is not None
        _say(await copied(pool, self._postgres, self._kubernetes, highest=highest, anew=anew))

    async def _part(self, one: Membership) -> None:
        kept = await self._members.end(one)
        if kept is None:
            raise click.ClickException(f"pool {one.pool}: {_DISTURBED}")
        await withdrawn(one.pool, self._postgres)
        click.echo(f"pool {one.pool}: {_kept(kept, one.pool, self._cluster)}")

    async def _signs(self) -> Signs:
        members = await self._members.all()
        return Signs(
            leads=await leads(self._client),
            ledgers=await self._ledgers(),
            alive={name: f"{one.teller} {one.alive}" for name, one in members.items()},
        )

    async def _ledgers(self) -> dict[str, str]:
        """The resourceVersion of each."""
        found = await self._client.get(PATH)
        if isinstance(found, Missing):
            raise click.ClickException(
                "the API server knows no Ledgers: is Kwicket installed there?"
            )
        all_metadata = (body["metadata"] for body in found.body["items"])
        return {metadata["name"]: metadata["resourceVersion"] for metadata in all_metadata}


_DISTURBED = "somebody writes it; stop all operators of this cluster"


def _names(chosen: Sequence[str], known: Sequence[str], none: str) -> Sequence[str]:
    """Those that are chosen, or all."""
    unknown = sorted(set(chosen) - set(known))
    if unknown:
        raise click.ClickException(f"{none} {', '.join(unknown)}: nothing was copied")
    if not (chosen or known):
        click.echo("there is no pool to copy")
    return sorted(set(chosen)) or known


def _refuse(otherwise: Mapping[str, str], chosen: Sequence[str]) -> None:
    """If this cluster shares any of those that are chosen, or of all, by another name."""
    found = {pool: name for pool, name in otherwise.items() if not chosen or pool in chosen}
    if found:
        said = ", ".join(f"{pool} as {name!r}" for pool, name in sorted(found.items()))
        raise click.ClickException(f"this cluster shares {said}: say that name by --cluster")


def _kept(kept: Kept, pool: str, cluster: str) -> str:
    if not kept:
        return f"{cluster} shares it no more"
    forget = f"kwicket ledger forget --pool {pool} --cluster {cluster}"
    said = f"{kept.jobs} Jobs of {cluster} run, or may, and keep their slots in PostgreSQL"
    if kept.untold:
        said += ", and it has not told of all that run, so that nothing is granted there"
    return f"{said}; when they have ended, run {forget}"


def _say(outcome: Outcome) -> None:
    match outcome:
        case Copied(pool, version, left):
            click.echo(f"pool {pool}: copied at token {version}")
            for one in left:
                click.echo(f"pool {pool}: {_left(one)}")
        case Raised(pool, version):
            click.echo(f"pool {pool}: was there, and goes on above token {version}")
        case Absent(pool):
            click.echo(f"pool {pool}: gone meanwhile")
        case Disturbed(pool):
            raise click.ClickException(f"pool {pool}: {_DISTURBED}")


def _left(one: Left) -> str:
    return (
        f"{one.grants} grants and {one.reservations} reservations of {one.cluster} are left out:"
        " they stay in PostgreSQL, where their slots are held"
    )
