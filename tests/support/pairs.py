"""Rows of choices in which every choice meets every other: far fewer than all combinations."""

import itertools
from collections.abc import Iterator, Sequence

type Row = tuple[str, ...]
type Pairs = set[frozenset[str]]


def covering(main: Sequence[Row], others: Sequence[Sequence[str]]) -> list[Row]:
    """Each row of `main`, with a choice of each of `others`, some rows more than once, so that any
    two choices that may meet do so in some row. All choices differ; the order is always the same.
    """
    apart = set(_all_pairs(main, others))
    rows = [_filled(row, others, apart) for row in main]
    chosen = set(itertools.chain(*others))
    while apart:
        two = min(apart, key=sorted)
        fitting = next(row for row in main if two - chosen <= set(row))
        rows.append(_filled(fitting, others, apart, two))
    return rows


def met(row: Row) -> Pairs:
    """The pairs of choices that meet in a row."""
    return {frozenset(two) for two in itertools.combinations(row, 2)}


def _all_pairs(main: Sequence[Row], others: Sequence[Sequence[str]]) -> Iterator[frozenset[str]]:
    for row in main:
        yield from met(row)
    sets = [sorted(set(itertools.chain(*main))), *others]
    for some, more in itertools.combinations(sets, 2):
        yield from map(frozenset, itertools.product(some, more))


def _filled(
    row: Row, others: Sequence[Sequence[str]], apart: Pairs, two: frozenset[str] = frozenset()
) -> Row:
    """The row with the choices that bring most together that is apart, which then is no longer."""
    for choices in others:
        wanted = [choice for choice in choices if choice in two] or choices
        gains = {choice: len(met((*row, choice)) & apart) for choice in wanted}
        row = (*row, max(gains, key=gains.__getitem__))
    apart -= met(row)
    return row
