"""The benchmark of the decision: the real core, in one process, without a cluster."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # where pytest finds `support`
