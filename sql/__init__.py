"""The schema as data: migrations, functions, grants and lint queries, applied by loom.migrate."""
