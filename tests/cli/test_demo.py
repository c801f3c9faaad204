"""``loom demo``: a session on a database of its own, and nothing left of it."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path

import httpx2
import pytest

from tests.cli.processes import Process, children, running, started, until
from tests.model_endpoint import ModelEndpoint, profile, server_error

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")

# The caller's own settings are nothing to the demo.
OTHERS = {"LOOM_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none", "LOOM_AUTH": "required"}


def folder(demo: Process) -> Path:
    line = demo.wait_for("with its data in")
    return Path(line.rpartition(" ")[2].strip())


def answers(said: str, call: str) -> list[str]:
    """What stands in the line after each line with this call."""
    lines = said.splitlines()
    return [lines[place + 1] for place, line in enumerate(lines) if call in line]


def test_it_shows_a_session_and_leaves_nothing_behind() -> None:
    with started("demo", env=OTHERS) as demo:
        made = folder(demo)
        assert demo.ended() == 0, demo.said
    said = demo.said
    assert not made.exists()
    assert '    <working-memory block="state">ticket 4812' in said
    assert "customer: user, rules: namespace" in said
    first, second = answers(said, '"if_match_sha256"')
    assert json.loads(first.split(" ", 3)[3].replace(", …", "")) == {"version": 3}
    assert "409 STALE_WRITE" in second
    assert '"current_version": 3' in second
    batch = re.findall(r"^    → (\d+)", said, re.MULTILINE)
    assert batch == ["200", "404", "200"]
    replayed = answers(said, "Idempotency-Key")
    assert len(replayed) == 2
    assert replayed[0] == replayed[1]
    assert said.count("40 EUR paid back") == 3  # sent twice, stored once
    assert "a stand-in" in said
    (profile,) = answers(said, "profile.structured")
    assert '"status": "ready"' in profile
    assert '"timezone": "Europe/Berlin", "languages": ["en", "de"]' in profile
    assert '"preferred_name": "Sam"' in profile


def test_the_readme_shows_its_end() -> None:
    readme = (Path(__file__).resolve().parents[2] / "README.md").read_text()
    (shown,) = re.findall(r"^```text\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    with started("demo", env=OTHERS) as demo:
        assert demo.ended() == 0, demo.said
    assert fixed(shown) in fixed(demo.said)


def fixed(said: str) -> str:
    """What was said without what is another each time."""
    return re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|20\d\d-[\d:.T-]+Z", "…", said)


def test_it_asks_the_model_of_the_environment_where_there_is_one() -> None:
    known = {"preferred_name": "Samantha", "timezone": None, "languages": None}
    with ModelEndpoint(profile(known)) as endpoint:
        model = {"LOOM_MODEL_BASE_URL": endpoint.url, "LOOM_MODEL": "small"}
        with started("demo", env={**OTHERS, **model, "LOOM_MODEL_API_KEY": "k"}) as demo:
            assert demo.ended() == 0, demo.said
    assert endpoint.requests[0].headers["authorization"] == "Bearer k"
    assert "asks the model (small)" in demo.said
    assert '"preferred_name": "Samantha"' in answers(demo.said, "profile.structured")[0]


def test_a_model_that_gives_no_answer_is_shown_as_it_is() -> None:
    with ModelEndpoint(server_error()) as endpoint:
        model = {"LOOM_MODEL_BASE_URL": endpoint.url, "LOOM_MODEL": "small"}
        with started("demo", env={**OTHERS, **model}) as demo:
            assert demo.ended() == 0, demo.said
    assert '"status": "pending"' in answers(demo.said, "profile.structured")[0]
    assert '"last_error": "MODEL_ERROR"' in demo.said


def test_kept_it_stays_up_until_it_is_told_to_stop() -> None:
    with started("demo", "--keep", env=OTHERS) as demo:
        made = folder(demo)
        url = re.findall(r"http://[\d.:]+", demo.wait_for("It stays up at"))[0]
        body = {"org": "demo", "namespace": "support", "agent": "triage", "block_key": "log"}
        answer = httpx2.post(f"{url}/v1/working_memory.get", json=body, trust_env=False).json()
        assert answer["content"] == "mail sent\n40 EUR paid back"
        body = {"org": "demo", "namespace": "support", "user_id": "u-42", "query": "tea"}
        answer = httpx2.post(f"{url}/v1/memory.ask", json=body, trust_env=False).json()
        assert answer["detail"]["reason"] == "MODEL_ERROR"  # the stand-in fills in profiles alone
        assert "Traceback" not in demo.said
        processes = children(demo.process.pid)
        assert processes
        assert demo.stop(signal.SIGTERM) == 0
    assert not made.exists()
    until("all have ended", lambda: not any(running(pid) for pid in processes))
