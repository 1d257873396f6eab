"""`python -m kwicket`."""

from kwicket.cli import main

main()
