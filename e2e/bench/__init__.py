"""The benchmark of the main job: Kwicket beside bare loops of patches, in one run on one plane.

And what takes planes to be measured: a backlog, a handover from cluster to cluster.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))  # where pytest finds `support`
