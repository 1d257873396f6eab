"""The oracle: each Job is charged by the time that it will really run, known at its start.

No operator can know it; it shows what guesses cost. The one place outside of the core that reaches
into the parts of a book.
"""

from msgspec.structs import replace

from kwicket.core.book import Book
from kwicket.core.state import Intent


def charge_truly(book: Book, intent: Intent, runs: int) -> None:
    """Settles the charge of a Job that has just started as if it had ended `runs` ms later.

    Nothing is left to settle at its end. A pool that charges starts has no such charge.
    """
    charges = book.slots.charges
    charge = charges.token(intent.lease.token)
    if charge is None:
        return
    truth = charge.slots * runs
    charges.correct(charge.tenant, charge.amount, truth)
    charges.open(replace(charge, amount=truth))
