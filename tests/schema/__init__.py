"""Tests of the schema: applier, lint, snapshot, row-level security."""
