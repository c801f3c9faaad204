"""Tests of the SQL functions: a folder is a group of operations, a file is a function."""
