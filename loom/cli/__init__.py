"""The ``loom`` command.

Settings come from ``LOOM_*`` variables; results go to standard output, everything else to standard
error. Exit codes: 0 done, 1 it failed or found something wrong, 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from loom.installation import Installation
    from loom.settings import Settings

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    args = _parser().parse_args(argv)
    try:
        return int(args.run(args))
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read our output has had enough; keep the interpreter from flushing into it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except ModuleNotFoundError as missing:
        if missing.name in ("loom", None) or str(missing.name).startswith("loom."):
            raise
        _tell(f"{missing.name} is not installed: pip install 'loom-memory[server]'")
        return 1
    except Exception as error:
        from loom.cli.errors import explain

        text = explain(error)
        if text is None:
            raise
        _tell(text)
        return 1


def _tell(text: str) -> None:
    print(f"loom: {text}", file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="loom",
        description="Memory for AI agents, kept in PostgreSQL.",
        epilog="Settings are LOOM_* environment variables, for example LOOM_DATABASE_URL.",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def command(name: str, run: Any, text: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=text, description=text)
        made.set_defaults(run=run)
        return made

    command("up", _up, "Run database, API and worker together until Ctrl-C.")
    demo = command("demo", _demo, "Show a session on a database of its own, then remove it.")
    demo.add_argument("--keep", action="store_true", help="stay up until Ctrl-C")
    serve = command("serve", _serve, "Run the API.")
    serve.add_argument("--socket", type=int, help=argparse.SUPPRESS)
    worker = command("worker", _worker, "Run a worker.")
    worker.add_argument("--once", action="store_true", help="do what is due now, then end")
    for each in (serve, worker):
        each.add_argument("--lifeline", type=int, help=argparse.SUPPRESS)

    migrate = command("migrate", _migrate, "Bring the database's schema up to date.")
    ways = migrate.add_mutually_exclusive_group()
    ways.add_argument("--status", action="store_true", help="show it; exit 1 if it is not current")
    ways.add_argument("--dry-run", action="store_true", help="show what would be applied")
    reindex = command("reindex", _reindex, "Build the index of words anew if most of it is old.")
    reindex.add_argument("--always", action="store_true", help="whatever is in it")
    command("doctor", _doctor, "Look for what is wrong; exit 1 if something is.")
    psql = command("psql", _psql, "Open psql as the migration login.")
    psql.add_argument("--print-dsn", action="store_true", help="print the connection string only")
    psql.add_argument("arguments", nargs="*", help="arguments for psql, after --")
    _token_parser(commands)
    _embeddings_parser(commands)
    return parser


def _token_parser(commands: Any) -> None:
    text = "Make, list and revoke tokens."
    verbs = commands.add_parser("token", help=text, description=text).add_subparsers(
        title="commands", metavar="COMMAND", required=True
    )
    mint = verbs.add_parser("mint", help="Make a token; its secret is the last line printed.")
    mint.set_defaults(run=_token_mint)
    mint.add_argument("--role", required=True, choices=("viewer", "writer", "admin"))
    mint.add_argument("--namespace", help="bind it to one namespace")
    mint.add_argument("--read-user", metavar="USER", help="pin it to one user")
    mint.add_argument("--session", help="bind it to one session of that user")
    mint.add_argument("--label", help="a name to know it by")
    mint.add_argument(
        "--ttl", type=_seconds, metavar="TIME", help="how long it is valid: 45m, 12h, 30d, 2w"
    )
    listing = verbs.add_parser("list", help="List an org's tokens.")
    listing.set_defaults(run=_token_list)
    revoke = verbs.add_parser("revoke", help="Revoke a token.")
    revoke.set_defaults(run=_token_revoke)
    revoke.add_argument("token_id", metavar="TOKEN_ID", help="as mint and list show it")
    for each in (mint, listing, revoke):
        each.add_argument("--org", required=True, help="the org the token belongs to")


def _embeddings_parser(commands: Any) -> None:
    text = "See and change the models that make vectors for search."
    verbs = commands.add_parser("embeddings", help=text, description=text).add_subparsers(
        title="commands", metavar="COMMAND", required=True
    )

    def verb(name: str, text: str) -> argparse.ArgumentParser:
        made: argparse.ArgumentParser = verbs.add_parser(name, help=text, description=text)
        made.set_defaults(run=_embeddings, verb=name)
        return made

    status = verb("status", "Show the models and how far each is.")
    use = verb("use", "Have vectors made of a model, and search by it when all texts have one.")
    use.add_argument("--at-once", action="store_true", help="search by it before that")
    for each in (status, use):
        each.add_argument("--watch", action="store_true", help="show progress until it is whole")
    retire = verb("retire", "Take a model out of use; its vectors stay.")
    index = verb("index", "Build a model's index while Loom is in use.")
    drop = verb("drop", "Remove a retired model with its vectors and its index.")
    for each in (use, retire, index, drop):
        each.add_argument("model", metavar="MODEL", help="as LOOM_EMBEDDING_MODEL names it")


def _seconds(text: str) -> int:
    match = re.fullmatch(r"([0-9]{1,10})([smhdw]?)", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no time such as 45m, 12h or 30d")
    return int(match[1]) * _UNITS[match[2] or "s"]


def _settings() -> Settings:
    from loom.settings import Settings

    return Settings.from_environment()


def _installation(settings: Settings) -> Installation:
    from loom.installation import Installation

    return Installation(settings, _tell)


def _up(args: argparse.Namespace) -> int:
    from loom.cli.launcher import up

    up(_settings(), lambda text: print(text, flush=True))
    return 0


def _demo(args: argparse.Namespace) -> int:
    from loom.cli.demo import demo

    demo(lambda text: print(text, flush=True), keep=args.keep)
    return 0


def _serve(args: argparse.Namespace) -> int:
    from loom.cli import processes

    return processes.serve(_settings(), _tell, given_socket=args.socket, lifeline=args.lifeline)


def _worker(args: argparse.Namespace) -> int:
    from loom.cli import processes

    return processes.work(_settings(), _tell, once=args.once, lifeline=args.lifeline)


def _migrate(args: argparse.Namespace) -> int:
    from loom.migrate import status

    with _installation(_settings()) as installation:
        if not (args.status or args.dry_run):
            report = installation.migrate()
            print("the schema is up to date" if report.changed else "nothing to do")
            return 0
        found = status(installation.migration_dsn)
        if args.dry_run:
            found.refuse_unless_ours()
    if args.status:
        print(f"server     PostgreSQL {found.server_version // 10000}")
        print("applied    " + (", ".join(found.applied) or "nothing"))
    print("pending    " + (", ".join(found.pending) or "nothing"))
    if args.status and (found.unknown or found.changed):
        print("not ours   " + ", ".join((*found.unknown, *found.changed)))
    print("functions  " + ("current" if found.functions_current else "to be applied"))
    return 0 if args.dry_run or found.current else 1


def _reindex(args: argparse.Namespace) -> int:
    from loom.cli.reindex import reindex

    with _installation(_settings()) as installation:
        return reindex(installation, always=args.always)


def _doctor(args: argparse.Namespace) -> int:
    from loom.doctor import examine, table

    settings = _settings()
    with _installation(settings) as installation:
        logins = installation.logins
        named = [
            ("migration", logins.migration),
            ("gateway", logins.gateway_dsn),
            ("worker", logins.worker_dsn),
        ]
        known = [(name, dsn) for name, dsn in named if dsn]
        findings = list(
            examine(
                known,
                settings.auth,
                has_model=settings.has_model,
                embedding_model=settings.embedding_model,
            )
        )
    print(table(findings))
    return 1 if any(finding.level == "failure" for finding in findings) else 0


def _psql(args: argparse.Namespace) -> int:
    with _installation(_settings()) as installation:
        if args.print_dsn:
            print(installation.migration_dsn)
            return 0
        from loom.cli.operator import psql

        return psql(installation, args.arguments)


def _token_mint(args: argparse.Namespace) -> int:
    from loom.cli.operator import call

    with _installation(_settings()) as installation:
        token = call(
            installation,
            "token.mint",
            org=args.org,
            role=args.role,
            namespace=args.namespace,
            read_user_id=args.read_user,
            session_id=args.session,
            label=args.label,
            ttl_seconds=args.ttl,
        )
    secret = token.pop("token")
    for name, value in token.items():
        if value is not None:
            print(f"{name:12}  {value}")
    print("The secret is shown this once:")
    print(secret)
    return 0


def _token_list(args: argparse.Namespace) -> int:
    from loom.cli.operator import pages, table

    with _installation(_settings()) as installation:
        tokens = list(pages(installation, "token.list", org=args.org))
    columns = ("token_id", "role", "namespace", "read_user_id", "session_id", "label")
    print(table(tokens, (*columns, "created_at", "expires_at", "revoked_at", "last_used_at")))
    return 0


def _token_revoke(args: argparse.Namespace) -> int:
    from loom.cli.operator import call

    with _installation(_settings()) as installation:
        answer = call(installation, "token.revoke", org=args.org, token_id=args.token_id)
    if not answer["found"]:
        _tell(f"{args.org} has no token {args.token_id}")
        return 1
    print(f"revoked at {answer['revoked_at']}")
    return 0


def _embeddings(args: argparse.Namespace) -> int:
    from loom.cli import embeddings

    with _installation(_settings()) as installation:
        if args.verb == "status":
            return embeddings.status(installation, _tell, watch=args.watch)
        if args.verb == "use":
            return embeddings.use(
                installation, _tell, args.model, at_once=args.at_once, watch=args.watch
            )
        run = {"retire": embeddings.retire, "index": embeddings.index, "drop": embeddings.drop}
        return run[args.verb](installation, _tell, args.model)
