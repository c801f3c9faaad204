"""`python -m tests.chaos [seconds] [seed] [folder]`: a run on an installation of its own.

The report is printed; the folder, `build/chaos` unless another is named, gets it and the figures.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from tests.chaos.run import chaos

SECONDS = 600.0
FOLDER = Path("build/chaos")


def main(arguments: list[str]) -> int:
    """Run and report; 1 when anything was lost, doubled, skipped or left."""
    seconds = float(arguments[0]) if arguments else SECONDS
    seed = int(arguments[1]) if len(arguments) > 1 else time.time_ns() % 1_000_000
    folder = Path(arguments[2]) if len(arguments) > 2 else FOLDER
    print(f"chaos for {seconds:g} seconds, seed {seed}", flush=True)
    result = chaos(seconds, seed)
    print(result.report())
    print(f"written to {result.write(folder).parent}")
    return 0 if result.clean else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
