"""``python -m loom.cli``: what the launcher starts its children with."""

from __future__ import annotations

import sys

from loom.cli import main

sys.exit(main())
