"""The fault bench: real operators in virtual time on a model of a cluster, seed by seed."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # where pytest finds `support`
