"""Restores: a cluster that went back to an older backup grants nothing until it has a word.

Where clusters share the ledger, it does not go back with one of them, and remembers how far that
one was: what its Pool's status has shown. So an operator that was not there notices, too.
"""

from kwicket.core.pools import GO_ON_ABOVE, Shown
from kwicket.engine.desk import Desk
from kwicket.engine.intake import Intake
from kwicket.engine.sharing import Sharing
from kwicket.ports.backlog import Remembered
from kwicket.ports.cluster import Cluster


class WentBackError(Exception):
    """The cluster was restored from an older backup; an administrator must say how to go on."""

    def __init__(self, desk: Desk, above: int) -> None:
        word = desk.book.rules.pool.above
        too_high = f"; {word} is too high to be believed" if word > desk.word else ""
        super().__init__(
            f"the cluster or this ledger went back to a backup from before token {desk.doubt}, or"
            f" before what happened since then{too_high}: look at what runs, then let the pool go"
            f" on, with kubectl annotate pool {desk.name} --overwrite {GO_ON_ABOVE}={above}"
        )


async def compared(
    desk: Desk, before: Remembered, cluster: Cluster, sharing: Sharing, intake: Intake
) -> Shown:
    """What the Pool's status shows now, compared with what the other clusters' ledger remembers.

    A desk whose cluster went back is in doubt then, without a word; so is one that was when an
    earlier process ended. `before` was read first, so that within one life of the cluster it is
    never ahead. Raises UnavailableError.
    """
    shown = await cluster.shown(desk.name)
    fell = shown.uid == before.shown.uid and shown.token < before.shown.token
    known = before.doubt or (before.highest if fell else 0)
    if known:
        if desk.word <= known:
            await sharing.doubt(desk, known)
        for uid in desk.distrust(known):
            intake.consider(uid)
    return shown
