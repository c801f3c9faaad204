"""A load in all planes while parts of the system are killed and connections break, and a count of
what became of what was acknowledged.

`python -m tests.chaos` runs it for ten minutes; the tests for seconds. docs/reliability.md says
what is injected and what is counted.
"""
