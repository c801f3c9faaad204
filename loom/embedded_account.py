"""The operating system account that the embedded server runs as, and where its files can be.

PostgreSQL refuses to run as root. An ordinary user runs it as itself. Root runs it as `nobody`
where `nobody` can reach programs and data; else in a user namespace in which root's own files
belong to a user that is not root; else from a copy in a place that `nobody` can reach. The
owner of an existing data folder decides, so that a folder is always served the same way.
"""

from __future__ import annotations

import os
import pwd
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from loom.postgres_binaries import Binaries, EmbeddedError, copy_into

# Root puts here what `nobody` cannot reach elsewhere; the first that works is taken.
REACHABLE_ROOTS = (Path("/var/lib/loom"), Path("/var/tmp/loom"))

# All that the server gets to see of the environment: no setting of PostgreSQL's own (an empty
# PGTZ alone breaks it) and no secret of ours.
_PASSED_ON = ("PATH", "HOME", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TMPDIR")


@dataclass(frozen=True)
class Account:
    """Who runs the server: ``uid`` and ``gid`` own its files as they are seen from outside.

    ``prefix`` is put before each command; ``os_users`` are the names under which the clients
    that may connect (root and the account itself) appear to the server.
    """

    uid: int
    gid: int
    prefix: tuple[str, ...]
    os_users: tuple[str, ...]

    def run(
        self, argv: Sequence[str], *, stderr: IO[bytes] | int = subprocess.PIPE
    ) -> subprocess.CompletedProcess[str]:
        """Run a command as this account, in its own session, and wait for it."""
        other = self.uid != os.geteuid()
        return subprocess.run(
            [*self.prefix, *argv],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            errors="replace",
            check=False,
            cwd="/",
            env=server_environment(),
            start_new_session=True,
            user=self.uid if other else None,
            group=self.gid if other else None,
            extra_groups=[] if other else None,
        )

    def own(self, path: Path, mode: int) -> None:
        """Give a file or folder to this account with the mode."""
        if os.geteuid() == 0:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)
        path.chmod(mode)

    def reaches(self, *, programs: Binaries, folder: Path) -> bool:
        """Whether this account can run the programs and enter the folder: it is tried."""
        return self.runs(programs) and self.enters(folder)

    def runs(self, programs: Binaries) -> bool:
        """Whether this account can run the server's programs: it is tried."""
        try:
            return self.run([programs.program("postgres"), "--version"]).returncode == 0
        except OSError:
            return False  # subprocess raises when even unshare cannot be started

    def enters(self, folder: Path) -> bool:
        """Whether this account can enter the folder: it is tried."""
        return self.run(["/bin/sh", "-c", 'cd -- "$1"', "sh", str(folder)]).returncode == 0


@dataclass(frozen=True)
class Placement:
    """The account, the programs it can run, and the server's home folder (data, socket, log)."""

    account: Account
    binaries: Binaries
    home: Path
    notice: str | None = None


def server_environment() -> dict[str, str]:
    """The environment of the server's processes, with a language that every machine has."""
    kept = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return kept | {"LC_ALL": "C"}


def place(data_dir: Path, binaries: Binaries) -> Placement:
    """Decide account, programs and home for a data folder, and make the home if it is missing.

    EmbeddedError when this user may not use the folder or no account can run the server.
    """
    home = data_dir / "postgres"
    if home.exists():
        return _placed_before(home.resolve(), binaries)
    if home.is_symlink():
        raise EmbeddedError(
            f"{home} points to {home.readlink()}, where the data was kept, and that is gone: "
            "bring it back, or remove the link to start with an empty database"
        )
    if os.geteuid() != 0:
        account = _own_account()
        _make_home(home, account)
        return Placement(account, binaries, home)
    return _place_for_root(home, binaries)


def _placed_before(home: Path, binaries: Binaries) -> Placement:
    owner = home.stat()
    if os.geteuid() != 0:
        if owner.st_uid != os.geteuid():
            raise EmbeddedError(
                f"{home} belongs to {_name(owner.st_uid)}: run as that user or as root, "
                "or name another folder in LOOM_DATA_DIR"
            )
        return Placement(_own_account(), binaries, home)
    account = _other_account(owner.st_uid, owner.st_gid) if owner.st_uid else namespace_account()
    if account is None or not account.enters(home):
        raise EmbeddedError(
            f"the server that owns {home} cannot be run: its account can no longer enter that "
            "folder, or this machine no longer allows user namespaces (unshare -U)"
        )
    if not account.runs(binaries):
        binaries = _reachable_copy(binaries, account)
    return Placement(account, binaries, home)


def _place_for_root(home: Path, binaries: Binaries) -> Placement:
    nobody = nobody_account()
    for account in (nobody, namespace_account()):
        if account and account.reaches(programs=binaries, folder=home.parent):
            _make_home(home, account)
            return Placement(account, binaries, home)
    if nobody is None:
        raise EmbeddedError("PostgreSQL cannot run as root, and this machine has no user nobody")
    if not nobody.runs(binaries):
        binaries = _reachable_copy(binaries, nobody)
    if nobody.enters(home.parent):
        _make_home(home, nobody)
        return Placement(nobody, binaries, home)
    elsewhere = _reachable_home(nobody)
    home.symlink_to(elsewhere)
    notice = f"the user nobody, who runs the server, cannot enter {home.parent}: data is kept in"
    return Placement(nobody, binaries, elsewhere, f"{notice} {elsewhere}")


def _own_account() -> Account:
    uid = os.geteuid()
    try:
        name = pwd.getpwuid(uid).pw_name
    except KeyError:
        raise EmbeddedError(
            f"the user id {uid} has no name on this machine (no line in /etc/passwd), "
            "and PostgreSQL needs one"
        ) from None
    return Account(uid, os.getegid(), (), ("root", name))


def _other_account(uid: int, gid: int) -> Account:
    name = _name(uid)
    # `nobody` is whoever has no other name: only root may come in there.
    return Account(uid, gid, (), ("root",) if name == "nobody" else ("root", name))


def nobody_account() -> Account | None:
    """The user `nobody`; None where there is none."""
    try:
        entry = pwd.getpwnam("nobody")
    except KeyError:
        return None
    return _other_account(entry.pw_uid, entry.pw_gid)


def namespace_account() -> Account | None:
    """Root in a user namespace of its own; None where the machine does not allow that."""
    unshare = shutil.which("unshare")
    try:
        entry = pwd.getpwnam("nobody")
    except KeyError:
        return None
    if unshare is None:
        return None
    # Root outside is `nobody` inside, and that is how root appears to the server. So do all
    # others, whom the socket's folder (0700, root's) keeps out.
    mapped = (f"--map-user={entry.pw_uid}", f"--map-group={entry.pw_gid}")
    account = Account(0, 0, (unshare, "-U", *mapped), ("root", "nobody"))
    return account if account.run(["/bin/true"]).returncode == 0 else None


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _make_home(home: Path, account: Account) -> None:
    home.mkdir(mode=0o700)
    account.own(home, 0o700)


def _reachable_copy(binaries: Binaries, account: Account) -> Binaries:
    for root in _reachable_roots(account):
        copied = copy_into(binaries, root)
        if account.runs(copied):
            return copied
    raise EmbeddedError(
        f"{binaries.folder} cannot be reached by {_name(account.uid)}, who runs the server, "
        f"and no copy could be made in {' or '.join(map(str, REACHABLE_ROOTS))}"
    )


def _reachable_home(account: Account) -> Path:
    for root in _reachable_roots(account):
        home = Path(tempfile.mkdtemp(prefix="data-", dir=root))
        account.own(home, 0o700)
        return home
    raise EmbeddedError(
        f"no folder that {_name(account.uid)} can reach for the data; "
        "name one in LOOM_DATA_DIR, e.g. /var/lib/loom"
    )


def _reachable_roots(account: Account) -> list[Path]:
    """Those of REACHABLE_ROOTS that could be made, are root's alone to write, and are entered."""
    good = []
    for root in REACHABLE_ROOTS:
        try:
            if not root.exists():
                root.mkdir()
                root.chmod(0o755)
        except OSError:
            continue  # a read-only or missing parent: the next root is tried
        found = root.lstat()
        safe = stat.S_ISDIR(found.st_mode) and found.st_uid == 0 and not found.st_mode & 0o022
        if safe and account.enters(root):
            good.append(root)
    return good
