"""Tests of the benchmark: it does the same work through every door, and judges rightly."""
