"""Safeguards, each left out by one line: the fault bench must notice.

The last one is about what is too large for the webhook, which no operator sees: its tests notice.
"""

from pathlib import Path

from .mutant import CORE, Kind, Mutant

ENGINE = Path("operator/kwicket/engine")
KUBE = Path("operator/kwicket/kube")
STORAGE = Path("storage/kwicket_storage")


def _of(room: Path, name: str, mistake: str, place: str, text: str, edit: str) -> Mutant:
    return Mutant(name, mistake, Kind.SAFEGUARD, place, text, edit, room)


SAFEGUARDS = (
    _of(
        KUBE,
        "no-precondition",
        "a start is written whatever has become of the Job",
        "objects.grant_patch",
        '"resourceVersion": order.job.version',
        '"resourceVersion": None',
    ),
    _of(
        CORE,
        "token-again",
        "a Job that is put back starts with a token that was given",
        "slots.Slots.start",
        "self.version = token = self.version + 1",
        "self.version = token = self.version + (not ticket.deliveries)",
    ),
    _of(
        KUBE,
        "by-name",
        "a Job that is made again under its name is the one that was deleted",
        "known.Known.keep",
        "key = self._key(value)",
        'key = str(getattr(value, "name", ""))',
    ),
    _of(
        ENGINE,
        "early-grant",
        "grants before the lists are complete",
        "recovery.Recovery._read_and_list",
        "await self._lists.since(desk, page)",
        "pass",
    ),
    _of(
        KUBE,
        "wall-clock",
        "a follower compares the leader's stamp with its own wall clock",
        "elector.Elector._free",
        "return self._clock.monotonic() >= self._seen_at + duration",
        'return self._clock.now() >= __import__("kwicket.kube.objects").kube.objects'
        ".milliseconds_of(self._seen.renewed) + duration * 1000",
    ),
    _of(
        STORAGE,
        "no-epoch",
        "the ledger is written over whoever has written it meanwhile",
        "kubernetes.KubernetesLedger.commit",
        "page.stamp)",
        "(await self.read(page.pool) or page).stamp)",
    ),
    _of(
        CORE,
        "free-on-delete",
        "a Job that is deleted frees its slot, whatever its pods do",
        "release.standing",
        "return Holds() if live else Unproved()",
        "return Over()",
    ),
    _of(
        CORE,
        "float-turns",
        "turns are counted in floating point",
        "turns.Turns.take",
        "tenant.tag = self.virtual_time + cost",
        "tenant.tag = self.virtual_time + cost * 1.0",
    ),
    _of(
        ENGINE,
        "empty-start",
        "a pool that is taken over begins with all its slots free",
        "desk.Desk.occupy",
        "self.book.occupy(lease)",
        "self.book.occupy(lease) if self.page else None",
    ),
    _of(
        ENGINE,
        "unknown-is-no",
        "a commit without an answer counts as one that was not made",
        "desk.Desk.adopt",
        "self.pending = {intent.lease.uid: intent for intent in page.state.intents}",
        "self.pending = {}",
    ),
    _of(
        KUBE,
        "410-is-empty",
        "a list that breaks off with 410 counts as complete",
        "reflector.Reflector._ask",
        "if not answer.ok:",
        "if answer.status == 410: return Page(wire.ListMetadata(str(self._reached)), [])\n"
        "        if not answer.ok:",
    ),
    _of(
        KUBE / "webhook",
        "no-most",
        "a review may be as long as its sender likes",
        "server._read",
        "if len(body) > LONGEST:",
        "if len(body) < 0:",
    ),
)
"""The twelve of the reliability reference, in its order."""

JUDGED_BY_TESTS = {"no-most": "tests/kube/webhook/test_server.py"}
"""Those that only an ordinary test can notice, and where it is."""
