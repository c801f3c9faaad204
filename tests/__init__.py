"""Tests of Loom. Support for them stands beside this file, tests in the folders."""
