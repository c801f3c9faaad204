"""The pages of `docs/` that are made from the product: operations, errors, settings; and a table in
`docs/reliability.md`, from the tests.

`make docs` writes them, `make check` fails while one is not current. Everything comes from what the
server runs on: the comments of the SQL functions, the types in `loom.types`, the OpenAPI
description, the error table and the settings. No database is needed.
"""
