"""A process that takes a share in the server of a data folder and keeps it until told to go.

`python -m tests.embedded.sharer FOLDER [LOGIN ...]` prints one line of JSON about the server, or
`{"error": …}`, waits for its standard input to end, gives the share back and prints `gone`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from loom.embedded import EmbeddedError, EmbeddedServer


def main() -> None:
    embedded = EmbeddedServer(Path(sys.argv[1]), logins=sys.argv[2:])
    try:
        server = embedded.acquire()
    except EmbeddedError as error:
        print(json.dumps({"error": str(error)}), flush=True)
        return
    facts = {"pid": server.pid, "dsn": server.dsn(), "socket_dir": str(server.socket_dir)}
    print(json.dumps(facts), flush=True)
    sys.stdin.read()
    embedded.release()
    print("gone", flush=True)


if __name__ == "__main__":
    main()
