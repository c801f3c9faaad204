"""`python -m tests.chaos [seconds] [seed]`: a run on an installation of its own."""

from __future__ import annotations

import sys
import time

from tests.chaos.run import chaos


def main(arguments: list[str]) -> int:
    """Run and report; 1 when anything was lost, doubled or skipped."""
    seconds = float(arguments[0]) if arguments else 60.0
    seed = int(arguments[1]) if len(arguments) > 1 else time.time_ns() % 1_000_000
    print(f"chaos for {seconds:g} seconds, seed {seed}", flush=True)
    result = chaos(seconds, seed)
    print(result.report())
    return 0 if result.verdict.clean and not result.workload.statuses[500] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
