"""Settings: the `LOOM_*` environment variables as one typed, frozen object.

Every field says what it is for in `metadata["doc"]`, from which the settings page is made. A value
that cannot be read stops the process with a `SettingsError` that names the variable; the value
itself is never repeated, since it may hold a password.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from loom import settings_values as values

PREFIX = "LOOM_"

Auth = Literal["required", "open"]


class SettingsError(ValueError):
    """A setting cannot be used. `variable` names it; the text says what is wanted."""

    def __init__(self, variable: str, problem: str) -> None:
        super().__init__(f"{variable}: {problem}")
        self.variable = variable
        self.problem = problem


def default_data_dir() -> Path:
    """The data folder of an installation that names none.

    In a checkout its `.loom`, so that every command means the server of `make run`; for an
    installed package `$XDG_DATA_HOME/loom`.
    """
    checkout = Path(__file__).resolve().parent.parent
    if (checkout / "Makefile").is_file() and (checkout / "scripts/make-venv").is_file():
        return checkout / ".loom"
    base = os.environ.get("XDG_DATA_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".local/share") / "loom"


_WEEK = 604_800
_PERIOD = values.whole(1, _WEEK)

LLM_MAX_TOKENS: Mapping[str, int] = MappingProxyType(
    {
        "structured_profile": 32,
        "user_profile": 1024,
        "profile_consolidation": 1024,
        "ask": 1024,
        "night_weaving": 4096,
    }
)
"""What a model may write, by the purpose of the call. For a structured profile its schema's own
estimate comes on top."""


def _about(parse: Callable[[str], Any], doc: str) -> dict[str, Any]:
    return {"parse": parse, "doc": doc}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What an installation can be told. Field `port` is the variable `LOOM_PORT`, and so on."""

    database_url: str | None = field(
        default=None,
        repr=False,
        metadata=_about(
            values.text,
            "The migration login: a libpq URL or key=value string of a PostgreSQL 15 or newer. It "
            "applies the schema, mints the first token of an org and binds services. Unset: Loom "
            "runs its own PostgreSQL in the data folder.",
        ),
    )
    gateway_database_url: str | None = field(
        default=None,
        repr=False,
        metadata=_about(
            values.text,
            "The API's login (`loom_gateway`). Unset: the migration login's server and database, "
            "with the password that `loom migrate` keeps in the data folder where one is needed.",
        ),
    )
    worker_database_url: str | None = field(
        default=None,
        repr=False,
        metadata=_about(
            values.text, "The worker's login (`loom_worker`). Unset: found like the API's."
        ),
    )
    data_dir: Path = field(
        default_factory=default_data_dir,
        metadata=_about(
            values.folder,
            "The folder that holds the embedded PostgreSQL's data and the generated passwords. "
            "Unset: `.loom` in the checkout; for an installed package `loom` under "
            "`$XDG_DATA_HOME`, or under `~/.local/share`.",
        ),
    )
    host: str = field(
        default="127.0.0.1", metadata=_about(values.text, "The address the API listens on.")
    )
    port: int = field(
        default=7777,
        metadata=_about(
            values.whole(0, 65535), "The port the API listens on; 0 takes any free one."
        ),
    )
    auth: Auth = field(
        default="required",
        metadata=_about(
            values.one_of("required", "open"),
            "`required`: every operation needs a token. `open`: a request without a token acts as "
            "admin; only for development, and only on a loopback address.",
        ),
    )
    read_connections: int = field(
        default=4,
        metadata=_about(
            values.whole(1, 200),
            "The most database connections the API opens for operations that read.",
        ),
    )
    write_connections: int = field(
        default=16,
        metadata=_about(
            values.whole(1, 200),
            "The most database connections the API opens for operations that write. Durable "
            "writes wait for the disk together, so 16 to 32 serve best.",
        ),
    )
    worker_poll_seconds: float = field(
        default=5.0,
        metadata=_about(
            values.seconds(0.05, 3600),
            "Seconds between the worker's looks at what is due, when nothing wakes it earlier.",
        ),
    )
    worker_concurrency: int = field(
        default=2,
        metadata=_about(
            values.whole(1, 64), "How many pieces of work one worker process does at a time."
        ),
    )
    memory_attribute_tagging: bool = field(
        default=True,
        metadata=_about(
            values.switch,
            "`on`: memory rows whose value speaks of a protected attribute (health, religion and "
            "so on, by word lists) are tagged `attribute:<name>` as they are written. It is put "
            "into the database by what migrates it, `loom migrate` or `loom up`.",
        ),
    )
    structured_profile_memory_limit: int = field(
        default=100,
        metadata=_about(
            values.whole(1, 1000),
            "How many of a user's facts one build of a structured profile reads, the most "
            "confident and newest first. Like all `LOOM_STRUCTURED_PROFILE_*` it holds for all "
            "workers together, and is put into the database by what migrates it.",
        ),
    )
    structured_profile_max_users_per_pass: int = field(
        default=20,
        metadata=_about(
            values.whole(1, 100_000),
            "The most structured profiles one pass builds, over all namespaces.",
        ),
    )
    structured_profile_max_pass_seconds: int = field(
        default=600,
        metadata=_about(
            values.whole(10, 86_400),
            "How long a pass may run. In the second half it takes no more users: what is under way "
            "has that time to finish.",
        ),
    )
    structured_profile_interval_seconds: int = field(
        default=60,
        metadata=_about(_PERIOD, "Seconds between the end of a pass and the next, at the most."),
    )
    structured_profile_idle_interval_seconds: int = field(
        default=600,
        metadata=_about(
            _PERIOD,
            "The same after a pass that found nothing to build. What falls due before is still "
            "built at once.",
        ),
    )
    structured_profile_cooldown_seconds: int = field(
        default=600,
        metadata=_about(
            values.whole(0, _WEEK),
            "Seconds after a build before another change of the user's facts is built. A deletion "
            "and a change of the schema do not wait for it.",
        ),
    )
    structured_profile_scan_max_age_seconds: int = field(
        default=600,
        metadata=_about(
            _PERIOD,
            "The longest a deletion waits where the build before was for a deletion too and did "
            "not wait for its cooldown. Loom keeps no list of users that could age: whose build is "
            "due is found at once.",
        ),
    )
    structured_profile_backoff_base_seconds: int = field(
        default=300,
        metadata=_about(
            _PERIOD, "Seconds a user waits after a failed build; each further failure doubles them."
        ),
    )
    structured_profile_backoff_cap_seconds: int = field(
        default=21_600,
        metadata=_about(_PERIOD, "The longest wait after failed builds, in seconds."),
    )
    structured_profile_refusal_retry_seconds: int = field(
        default=21_600,
        metadata=_about(
            _PERIOD,
            "Seconds after which a build is tried again that its row refused (pinned, locked, "
            "`high`, blacklisted) or that was cut off, when nothing has changed before.",
        ),
    )
    structured_profile_lease_seconds: int = field(
        default=300,
        metadata=_about(
            values.whole(60, 3600),
            "Seconds a worker has for one build. Its call of the model gives up 30 seconds before "
            "the end; a worker that died keeps its user that long.",
        ),
    )
    profile_consolidation_enabled: bool = field(
        default=False,
        metadata=_about(
            values.switch,
            "`on`: the worker folds each user's preferences and decisions into a profile section "
            "of text, `consolidated_profile`, with a call of the model for a change. Like all "
            "`LOOM_PROFILE_CONSOLIDATION_*` it holds for all workers together, and is put into the "
            "database by what migrates it.",
        ),
    )
    profile_consolidation_cooldown_seconds: int = field(
        default=600,
        metadata=_about(
            values.whole(0, _WEEK),
            "Seconds after a fold before another change of the user's preferences and decisions is "
            "folded. A deletion does not wait for it.",
        ),
    )
    profile_consolidation_memory_limit: int = field(
        default=100,
        metadata=_about(
            values.whole(1, 1000),
            "How many of a user's preferences and decisions one fold reads, the most confident and "
            "newest first.",
        ),
    )
    profile_consolidation_max_users_per_pass: int = field(
        default=20,
        metadata=_about(
            values.whole(1, 100_000), "The most users that one pass folds, over all namespaces."
        ),
    )
    night_weaving_default: bool = field(
        default=False,
        metadata=_about(
            values.switch,
            "Whether looms are woven at night where neither they nor their namespaces say: `on` or "
            "`off`. Like all `LOOM_NIGHT_WEAVING_*` it holds for all workers together, and is put "
            "into the database by what migrates it.",
        ),
    )
    night_weaving_quiet_minutes: int = field(
        default=5,
        metadata=_about(
            values.whole(0, 1440),
            "Minutes without a turn before a loom is woven, where neither it nor its namespace "
            "says. 0: none.",
        ),
    )
    night_weaving_interval_seconds: int = field(
        default=60,
        metadata=_about(
            _PERIOD,
            "Seconds between a worker's looks for looms that are due, while it finds none. What is "
            "asked for by `looms.weave` is found at once.",
        ),
    )
    night_weaving_lease_seconds: int = field(
        default=600,
        metadata=_about(
            values.whole(60, 3600),
            "Seconds a worker has for one weaving; one that died keeps its loom that long.",
        ),
    )
    night_weaving_max_retire_share: float = field(
        default=0.2,
        metadata=_about(
            values.share,
            "The most of a loom's threads that weavings may retire in a day, from 0 to 1.",
        ),
    )
    model_base_url: str | None = field(
        default=None,
        repr=False,
        metadata=_about(
            values.url,
            "The OpenAI-compatible endpoint that builds structured profiles and folds and answers "
            "`memory.ask`, up to the `/v1`. Unset, or without `LOOM_MODEL`: no model is called, "
            "builds wait, `memory.ask` is refused, and all else works.",
        ),
    )
    model_api_key: str | None = field(
        default=None,
        repr=False,
        metadata=_about(
            values.header_text,
            "The key that is sent to that endpoint. Unset: none. It is never logged.",
        ),
    )
    model_credentials: Mapping[str, str] = field(
        default_factory=dict,
        repr=False,
        metadata=_about(
            values.named_keys,
            "Keys for that endpoint by name, as `team-a=key,team-b=key`: night weaving takes the "
            "one that the run behind a loom's last turn names, and `LOOM_MODEL_API_KEY` where it "
            "names none. `acme/team-a=key` is for runs of the org `acme` alone, a name without an "
            "org for every org's. They are never logged, and never in the database.",
        ),
    )
    model: str | None = field(
        default=None,
        metadata=_about(values.model_name, "The model's name, as the endpoint knows it."),
    )
    model_timeout_seconds: float = field(
        default=60.0,
        metadata=_about(
            values.seconds(1, 3600),
            "The longest one answer of the model may take, refused formats included. A build's "
            "lease may leave it less.",
        ),
    )
    model_daily_token_cap: int | None = field(
        default=None,
        metadata=_about(
            values.whole(1, 10**15),
            "How many tokens of a model an org may use in a day (UTC); `loom migrate` puts it into "
            "the database. At the cap its builds wait. Unset: as many as it takes.",
        ),
    )
    embedding_base_url: str | None = field(
        default=None,
        repr=False,
        metadata=_about(
            values.url,
            "The OpenAI-compatible endpoint that makes embeddings for search, up to the `/v1`. A "
            "local model needs none.",
        ),
    )
    embedding_api_key: str | None = field(
        default=None,
        repr=False,
        metadata=_about(
            values.header_text,
            "The key that is sent to that endpoint. Unset: none. It is never logged.",
        ),
    )
    embedding_model: str | None = field(
        default=None,
        metadata=_about(
            values.model_name,
            "The embedding model's name, as its endpoint knows it, or `local:use-multilingual-v3` "
            "for the one that runs inside Loom (`loom-memory[local-embeddings]`). The first one is "
            "put into the database by what migrates it; to change it later, see "
            "[search](search.md). "
            "Unset: no embeddings are made, and search is by text alone.",
        ),
    )
    llm_max_tokens_overrides: Mapping[str, int] = field(
        default_factory=dict,
        metadata=_about(
            values.tokens_by_purpose(*LLM_MAX_TOKENS),
            "Other caps on what the model may write, by the purpose of the call, such as "
            "`structured_profile=64`. By default 32 tokens beyond a schema's own estimate for "
            "`structured_profile`, 1024 for `user_profile`, `profile_consolidation` and `ask` "
            "(`memory.ask`), 4096 for `night_weaving`.",
        ),
    )
    log_level: str = field(
        default="info",
        metadata=_about(
            values.one_of("debug", "info", "warning", "error"),
            "The least level that is logged. Logs are JSON lines on standard error.",
        ),
    )

    @property
    def model_at(self) -> tuple[str, str] | None:
        """The endpoint and the name of the model to call; None when there is none."""
        if self.model_base_url is None or self.model is None:
            return None
        return self.model_base_url, self.model

    @property
    def has_model(self) -> bool:
        """Whether there is a model to call."""
        return self.model_at is not None

    def llm_max_tokens(self, purpose: str) -> int:
        """The purpose's cap on what the model may write."""
        return self.llm_max_tokens_overrides.get(purpose, LLM_MAX_TOKENS[purpose])

    @classmethod
    def from_environment(cls, env: Mapping[str, str] = os.environ) -> Settings:
        """Read the settings from `env`; an empty variable counts as unset.

        Raises `SettingsError` for the first variable that cannot be read.
        """
        read: dict[str, Any] = {}
        for setting in fields(cls):
            name = variable(setting.name)
            text = env.get(name, "").strip()
            if not text:
                continue
            try:
                read[setting.name] = setting.metadata["parse"](text)
            except ValueError as problem:
                raise SettingsError(name, str(problem)) from None
        settings = cls(**read)
        if settings.auth == "open" and not is_loopback(settings.host):
            raise SettingsError(
                "LOOM_AUTH",
                '"open" makes every caller an admin, so it needs a loopback address in LOOM_HOST',
            )
        return settings


def variable(name: str) -> str:
    """The environment variable of a field."""
    return PREFIX + name.upper()


def is_loopback(host: str) -> bool:
    """Whether `host` (a name or an address, without a port) can only mean this machine."""
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if bare.lower() == "localhost":
        return True
    try:
        address = ipaddress.ip_address(bare)
    except ValueError:
        return False
    # IPv4 as an IPv6 socket shows it, which not every Python takes for what it is.
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback
