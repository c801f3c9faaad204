"""Tests of the set-up: environment, Makefile, CI script, package."""
