"""Writes while parts of the system are killed, and a count of what became of them.

`python -m tests.chaos` runs it for a minute; the tests for ten seconds.
"""
