"""Long budgets for the differential test: seeded histories, without Hypothesis."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # where pytest finds `support`
