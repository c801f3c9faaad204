"""Tests of the SDK: against a server that answers by script, and against a real one."""
