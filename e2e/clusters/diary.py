"""What processes of Jobs write themselves, whichever API server is away: that they begin and end.

One file for all clusters. Each process appends a line when it has begun and one before it ends, so
what the file says ran at once did, and no moment is missed.
"""

from collections.abc import Iterable
from itertools import accumulate
from pathlib import Path

SCRIPT = """
cd "$0"
echo "+ $1 $2" >> lines
for seat in free/$1/*; do
    if mv "$seat" kept/$1/ 2> /dev/null; then
        while [ -e "kept/$1/${seat##*/}" ]; do sleep 0.05; done
        break
    fi
done
sleep 0.3
echo "- $1 $2" >> lines
"""


class Diary:
    """In a folder that must be empty. Processes can be kept from ending."""

    def __init__(self, folder: Path, clusters: Iterable[str]) -> None:
        self._folder = folder
        self._lines = folder / "lines"
        self._lines.touch()
        for cluster in clusters:
            for name in ("free", "kept"):
                (folder / name / cluster).mkdir(parents=True)

    def work(self, cluster: str, job: str) -> list[str]:
        """The command of a Job that runs for 0.3 s unless it is kept."""
        return ["sh", "-c", SCRIPT, str(self._folder), cluster, job]

    def keep(self, cluster: str, count: int) -> None:
        """Has the next processes of a cluster, so many, run until they are let go."""
        for number in range(count):
            (self._folder / "free" / cluster / str(number)).touch()

    def kept(self, cluster: str) -> int:
        """How many run until they are let go."""
        return len(list((self._folder / "kept" / cluster).iterdir()))

    def let_go(self, cluster: str) -> None:
        """Lets those end that are kept, and keeps no others."""
        for name in ("free", "kept"):
            for seat in (self._folder / name / cluster).iterdir():
                seat.unlink(missing_ok=True)

    @property
    def peak(self) -> int:
        """The most that ran at once, ever."""
        return max(accumulate((1 if line[0] == "+" else -1 for line in self._written()), initial=0))

    @property
    def ran(self) -> list[str]:
        """Who began, as `CLUSTER JOB`, in that order."""
        return [line[2:] for line in self._written() if line[0] == "+"]

    @property
    def ended(self) -> list[str]:
        """Who ended, in that order."""
        return [line[2:] for line in self._written() if line[0] == "-"]

    def _written(self) -> list[str]:
        return self._lines.read_text().splitlines()
