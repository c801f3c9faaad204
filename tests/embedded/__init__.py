"""Tests of the embedded server: real servers in folders of the tests' own."""
