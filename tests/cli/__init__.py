"""Tests of the `loom` command, most of them with real processes."""
