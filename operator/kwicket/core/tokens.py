"""Which tokens a pool believes in: what others wrote must not carry its version out of its range.

A pool goes on above the highest token that it finds on its Jobs, in its status and in its ledger,
so that tokens rise even if the ledger is lost. Whatever may raise a version asks here first.
"""

HEADROOM = 100 * 365 * 24 * 3600 * 1000
"""How far above the milliseconds since 1970 a token is believed: a hundred years of them.

A ledger begins at these milliseconds, so no clock that is wrong by less than a century makes a
token that is not believed, and a pool that goes on from the highest one has nearly all of its
range left.
"""


def believable(token: int, now: int, version: int) -> bool:
    """Whether a pool that was at this version, `now` in milliseconds since 1970, may go on from it.

    What it has given itself is believed in any case, however fast it grants.
    """
    return token <= max(now + HEADROOM, version)
