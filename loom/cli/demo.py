"""``loom demo``: working memory and a structured profile on a database of its own, shown call by
call.

Everything that is shown is what the server answered: long hashes are shortened, and fields that
add nothing to the point are left out (``…``).
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import tempfile
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from loom.cli import stand_in
from loom.cli.launcher import up
from loom.cli.stand_in import StandIn
from loom.client import Answer, Body, Client
from loom.errors import LoomError
from loom.settings import PREFIX, Settings, variable

Say = Callable[[str], None]

_IDS = {"org": "demo", "namespace": "support", "agent": "triage"}
_RUN = {"run_id": "run-7"}
# What of a longer hash is shown.
_SHOWN = 12

_MODEL = tuple(variable(name) for name in ("model_base_url", "model_api_key", "model"))
BUILT_SECONDS = 90.0

PROFILE_SCHEMA = {
    "type": "object",
    "properties": {
        "preferred_name": {"type": "string", "description": "What the user asks to be called"},
        "timezone": {"type": "string", "description": "IANA time zone, e.g. Europe/Berlin"},
        "languages": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Languages they speak",
        },
    },
}
FACTS = {
    "preferred_name": "Sam",
    "timezone": "Europe/Berlin",
    "languages": ["en", "de"],
    "likes": "tea in the afternoon",
}


def demo(say: Say, *, keep: bool) -> None:
    """Start Loom on a temporary folder and a free port, show the session, stop, remove the folder.

    ``keep`` leaves it running until SIGINT or SIGTERM. The model is the environment's, or a
    stand-in. Raises what ``launcher.up`` raises, and a ``LoomError`` when the server does not
    answer as shown.
    """
    folder = Path(tempfile.mkdtemp(prefix="loom-demo-"))
    try:
        # PostgreSQL of root runs as another user, who must get through to the data.
        folder.chmod(0o755)
        model = _set_up(folder / "data")

        async def session(url: str) -> None:
            say(f"Loom is up: {url}, in open mode, with its data in {folder}\n")
            async with AsyncExitStack() as stack:
                if model is not None:
                    await stack.enter_async_context(model)
                client = await stack.enter_async_context(Client(url, ids=_IDS))
                await Walk(client, say).through()
                if keep:
                    say(f"It stays up at {url} (documentation: {url}/docs) until Ctrl-C.")
                    await asyncio.Event().wait()

        up(Settings.from_environment(), say, session)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    say(f"{folder} is removed.")


def _set_up(data_dir: Path) -> StandIn | None:
    """Give this process, and those it starts, the demo's settings and none of the caller's but the
    model; the stand-in, where the caller has none."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    ours = {"data_dir": data_dir, "host": "127.0.0.1", "port": port, "auth": "open"}
    for name in [name for name in os.environ if name.startswith(PREFIX)]:
        if name not in ("LOOM_PG_BIN", *_MODEL):
            del os.environ[name]
    model = None
    settings = Settings.from_environment()
    if not settings.model_base_url or not settings.model:
        model = StandIn(socket.create_server(("127.0.0.1", 0)))
        ours |= {"model_base_url": model.url, "model": stand_in.NAME, "model_api_key": ""}
    os.environ.update({variable(name): str(value) for name, value in ours.items()})
    # Log lines between the calls would hide them.
    os.environ[variable("log_level")] = "warning"
    return model


class Walk:
    """The session: each method is one thing that Loom does."""

    def __init__(self, client: Client, say: Say) -> None:
        self._client = client
        self._say = say
        self._steps = 0

    async def through(self) -> None:
        """All of it."""
        await self._note()
        await self._race()
        await self._layers()
        await self._batch()
        await self._again()
        await self._profile()

    async def _note(self) -> None:
        self._title("An agent writes down where it is, and goes on from there.")
        await self._call(
            "working_memory.set",
            {"block_key": "state", "content": "ticket 4812: refund, 40 EUR", **_RUN},
            "version value_length char_limit fill_ratio created",
        )
        await self._call(
            "working_memory.append",
            {"block_key": "state", "addition": "step 1 done: invoice found", **_RUN},
            "version value_length fill_ratio created",
        )
        self._say("  What it is told when it goes on:\n")
        await self._render(_RUN)

    async def _race(self) -> None:
        self._title("Two workers change the same text: the first wins, nothing is lost.")
        place = {"block_key": "state", **_RUN}
        read = await self._call("working_memory.get", place, "version content_sha256")
        for worker in ("7", "9"):
            text = f"{read['content']}\nlease: worker {worker}"
            seen = {"content": text, "if_match_sha256": read["content_sha256"]}
            await self._call("working_memory.set", {**place, **seen}, "version")

    async def _layers(self) -> None:
        self._title("What the namespace, the user and the run know, in one text.")
        for block_key, content, ids in (
            ("rules", "Never promise a refund before step 3.", {"agent": "-"}),
            ("customer", "Sam writes English & German.", {"user_id": "sam"}),
        ):
            body = {"block_key": block_key, "content": content, **ids}
            await self._call("working_memory.set", body, "version created")
        await self._call(
            "working_memory.set",
            {"block_key": "plan", "content": "ask Sam for the IBAN", "user_id": "sam", **_RUN},
            "version created",
        )
        answer = await self._render({"user_id": "sam", **_RUN, "layered": True})
        layers = ", ".join(f"{each['block_key']}: {each['layer']}" for each in answer["blocks"])
        self._say(f"  Where each comes from: {layers}\n")

    async def _batch(self) -> None:
        self._title("Several operations in one commit; a refused one leaves the others.")
        requests: list[dict[str, Any]] = [
            {"op": "working_memory.append", "block_key": "log", "addition": "mail sent"},
            {"op": "working_memory.replace", "block_key": "nowhere", "old": "a", "new": "b"},
            {"op": "working_memory.get", "block_key": "log"},
        ]
        for request in requests:
            request.update(namespace=_IDS["namespace"], agent=_IDS["agent"])
        answer = await self._client.call("batch", {"requests": requests})
        self._say("  batch")
        for request, result in zip(requests, answer["results"], strict=True):
            shown = {name: request[name] for name in request if name not in _IDS and name != "op"}
            told = result.get("result") or result["error"]
            self._say(f"    {request['op']} {_json(shown)}")
            self._say(f"    → {result['status']} {_picked(told, 'code message version content')}")
        self._say("")

    async def _again(self) -> None:
        self._title("The answer got lost, so the same write comes again: it counts once.")
        body = {"block_key": "log", "addition": "40 EUR paid back"}
        for _ in range(2):
            await self._call("working_memory.append", body, "version", key="refund-4812")
        await self._call("working_memory.get", {"block_key": "log"}, "version content")

    async def _profile(self) -> None:
        self._title("What a bot must know of its user before the first word, in your shape.")
        user = {"user_id": "u-42"}
        for memory_key, value in FACTS.items():
            body = {"memory_key": memory_key, "value": value, **user}
            await self._call("memory.set", body, "version created")
        wanted: Body = {"json_schema": PROFILE_SCHEMA}
        await self._call("profile_schema.set", wanted, "schema_sha256")
        model = os.environ[variable("model")]
        who = "a stand-in that takes facts word for word" if model == stand_in.NAME else model
        self._say(f"  The worker asks the model ({who}) and keeps what holds.\n")
        await self._built(user)
        fields = "status profile built_at version"
        asked: Body = {**user, "explain": True}
        answer = await self._call("profile.structured", asked, fields)
        self._say(f"  Why: {_picked(answer['explain'], 'source_count last_error sources')}\n")

    async def _built(self, user: Mapping[str, str]) -> None:
        """Wait until the user's profile is there, or a build has failed."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + BUILT_SECONDS
        while loop.time() < deadline:
            answer = await self._client.call("profile.structured", {**user, "explain": True})
            if answer["status"] == "ready" or answer["explain"]["last_error"]:
                return
            await asyncio.sleep(0.1)

    def _title(self, text: str) -> None:
        self._steps += 1
        self._say(f"{self._steps}. {text}\n")

    async def _render(self, body: Mapping[str, Any]) -> Answer:
        self._say(f"  working_memory.render {_json(body)}")
        answer = await self._client.call("working_memory.render", body)
        lines = answer["text"].splitlines()
        self._say("\n".join(("  → text:", *(f"    {line}" for line in lines), "")))
        return answer

    async def _call(
        self, op: str, body: Mapping[str, Any], fields: str, *, key: str | None = None
    ) -> Answer:
        """Make a call and show it with these fields of its answer; a refusal is shown too."""
        header = f"   (Idempotency-Key: {key})" if key else ""
        self._say(f"  {op} {_json(body)}{header}")
        try:
            answer = await self._client.call(op, body, idempotency_key=key)
        except LoomError as refusal:
            if refusal.status >= 500 or refusal.status == 0:
                raise
            self._say(f"  → {refusal.status} {refusal.code} {_json(refusal.fields)}\n")
            return {}
        self._say(f"  → {_picked(answer, fields)}\n")
        return answer


def _picked(answer: Answer, fields: str) -> str:
    """These fields of an answer, as far as it has them."""
    return _json({name: answer[name] for name in fields.split() if name in answer}, more=True)


def _json(value: Any, *, more: bool = False) -> str:
    text = json.dumps(_short(value), ensure_ascii=False)
    return text[:-1] + ", …}" if more else text


def _short(value: Any) -> Any:
    """The value with its hashes cut."""
    if isinstance(value, Mapping):
        return {
            name: f"{each[:_SHOWN]}…" if "sha256" in name and each else _short(each)
            for name, each in value.items()
        }
    if isinstance(value, list):
        return [_short(each) for each in value]
    return value
