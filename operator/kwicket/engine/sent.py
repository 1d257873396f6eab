"""Sent: the starts of a pool that nobody has answered, and what may still become of them.

It outlives the pool's desk: a Pool that is deleted and made again calls back nothing that was sent.
"""

from collections.abc import Set

from msgspec import Struct

from kwicket.ports.clock import Clock

LONGEST_WAY = 75.0
"""Seconds after which a start that was sent is not applied any more: an API server ends a request
after 60."""


class Start(Struct, frozen=True):
    """One that this operator has sent."""

    uid: str
    token: int
    at: float
    """The last time, by the monotonic clock."""


class Sent:
    """By token; what is settled is forgotten."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._doubtful: set[int] = set()
        self._on_their_way: dict[int, float] = {}
        self._own: dict[int, Start] = {}

    def sending(self, uid: str, token: int) -> Start | None:
        """Notes that a start is sent now; the one of this token before it that is unanswered."""
        before = self._own.get(token)
        self._own[token] = Start(uid, token, self._clock.monotonic())
        return before

    def answered(self, token: int, before: Start | None) -> None:
        """Notes an answer to the last start; it says nothing of the one `before` it."""
        self._own.pop(token, None)
        if before is not None:
            self._own[token] = before

    def unanswered(self, token: int, *, failed: bool) -> None:
        """Notes that a start may have reached its Job; one that has not `failed` may do so yet."""
        self._doubtful.add(token)
        if not failed:
            self._on_their_way[token] = self._clock.monotonic()

    def may_have_arrived(self, token: int) -> bool:
        """Whether a start of this token may have reached its Job although no answer said so."""
        return token in self._doubtful

    def may_arrive(self, token: int) -> bool:
        """Whether a start of this token may still be on its way to its Job."""
        sent = self._on_their_way.get(token)
        return sent is not None and self._remaining(sent) > 0

    def settled(self, token: int) -> None:
        """Notes that a grant is on its Job, or was given up since nothing can bring it there."""
        self._doubtful.discard(token)
        self._on_their_way.pop(token, None)
        self._own.pop(token, None)

    def doubt(self, tokens: Set[int], known: Set[int]) -> None:
        """Notes, once for each, that somebody else may have sent the starts of a page's grants.

        `tokens` of the page; `known` are those of which this was noted before.
        """
        now = self._clock.monotonic()
        self._doubtful = set(tokens - known) | (tokens & self._doubtful)
        self._on_their_way = {token: self._on_their_way.get(token, now) for token in tokens}

    def own(self) -> list[tuple[Start, float]]:
        """This operator's own that may still be on their way, and for how many seconds."""
        left = ((start, self._remaining(start.at)) for start in self._own.values())
        young = [(start, seconds) for start, seconds in left if seconds > 0]
        self._own = {start.token: start for start, _ in young}
        return young

    def forget_doubts(self) -> None:
        """The grants under way are this operator's no more; what it has sent stays sent."""
        self._doubtful.clear()
        self._on_their_way.clear()

    def _remaining(self, sent: float) -> float:
        return sent + LONGEST_WAY - self._clock.monotonic()
