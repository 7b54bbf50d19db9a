"""Logins as iperf3 has them: a client's token, and a server's check of it against its users.

The token is `user`, `pwd` and `ts` in three lines, encrypted with the server's public RSA key and
written in base64 (iperf3's iperf_auth.c). Padding is OAEP with SHA-1, or PKCS#1 v1.5 as up to 3.16.
The cipher is the `cryptography` package's, asked for only when it is needed.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from tuiperf.engine.errors import EngineError

PASSWORD_VARIABLE = "IPERF3_PASSWORD"  # the name, not a password
USUAL_SKEW_S = 10
MAX_SKEW_S = 2**31 - 1
MAX_USERS_BYTES = 16 * 1024 * 1024
MAX_KEY_BYTES = 1024 * 1024
CLIENT_CODE, SERVER_CODE, USERS_CODE = 22, 23, 35

_PLAIN = re.compile(rb"user: (\S+)\npwd:  (\S+)\nts:   (\d{1,15})")
_NOBODY = "0" * 64


@dataclass(frozen=True)
class LoginSettings:
    """What the options of either end say; "" for what is not given."""

    username: str = ""
    public_key: str = ""  # the names of files
    private_key: str = ""
    users: str = ""
    skew_s: int = USUAL_SKEW_S
    pkcs1: bool = False

    def check(self) -> None:
        """Raise EngineError 22 or 23 where one option is given and its companion is not."""
        if bool(self.username) != bool(self.public_key):
            raise EngineError.from_code(CLIENT_CODE)
        if bool(self.private_key) != bool(self.users):
            raise EngineError.from_code(SERVER_CODE)

    @property
    def of_client(self) -> bool:
        return bool(self.username)

    @property
    def of_server(self) -> bool:
        return bool(self.private_key)


NO_LOGIN = LoginSettings()


# ---------------------------------------------------------------------- the client


def make_token(settings: LoginSettings, password: str, wall_time_s: float) -> str:
    """The token that proves to be `settings.username` at this moment.

    Raises EngineError 22 for a key that is none, and for words that a server could not read.
    """
    for what, word in (("user name", settings.username), ("password", password)):
        if not word or any(each.isspace() or each == "\0" for each in word):
            raise _client_error(f"a {what} must not be empty or hold blanks")
    key = _load_key(settings.public_key, "load_pem_public_key", CLIENT_CODE)
    plain = f"user: {settings.username}\npwd:  {password}\nts:   {int(wall_time_s)}"
    try:
        secret = key.encrypt(plain.encode("utf-8", "surrogateescape"), _padding(settings.pkcs1))
    except ValueError:
        raise _client_error("user name and password are too long for this key") from None
    return base64.b64encode(secret).decode("ascii")


def ask_password() -> str:
    """The password from the environment, or from the user at a terminal, who types it unseen.

    Raises EngineError 22 where there is neither.
    """
    password = os.environ.get(PASSWORD_VARIABLE)
    if password is not None:
        return password
    if sys.stdin is None or not sys.stdin.isatty():
        raise _client_error(f"no terminal to ask for the password, and no {PASSWORD_VARIABLE}")
    getpass = import_module("getpass")
    try:
        return str(getpass.getpass("Password: "))
    except EOFError:
        raise _client_error("no password was given") from None


def _client_error(hint: str) -> EngineError:
    return EngineError.from_code(CLIENT_CODE, hint=hint)


# ---------------------------------------------------------------------- the server


class Doorkeeper:
    """Says of a token whether its bearer may test. The users' file is read at each question.

    Raises EngineError 23 for a key that is none, 35 for a users' file that cannot be read.
    """

    def __init__(
        self, settings: LoginSettings, wall_time_s: Callable[[], float] = time.time
    ) -> None:
        self._key = _load_key(settings.private_key, "load_pem_private_key", SERVER_CODE)
        self._padding = _padding(settings.pkcs1)
        self._users = Path(settings.users).absolute()  # a daemon leaves the directory
        self._skew_s = settings.skew_s
        self._wall_time_s = wall_time_s
        try:
            self._read_users()
        except OSError as error:
            hint = f"'{settings.users}': {error.strerror}"
            raise EngineError.from_code(USERS_CODE, hint=hint) from None

    def admits(self, token: str) -> bool:
        """Whether this token is a known user's, with the right password, made just now."""
        found = self._open(token)
        if found is None:
            return False
        user, password, made_s = found
        try:
            users = self._read_users()
        except OSError:
            return False
        given = hashlib.sha256(b"{" + user + b"}" + password).hexdigest()
        known = hmac.compare_digest(given, users.get(user, _NOBODY))
        return known and user in users and abs(self._wall_time_s() - made_s) <= self._skew_s

    def _open(self, token: str) -> tuple[bytes, bytes, int] | None:
        try:
            plain = self._key.decrypt(base64.b64decode(token, validate=True), self._padding)
        except (ValueError, binascii.Error):
            return None
        found = _PLAIN.fullmatch(plain)
        return (found[1], found[2], int(found[3])) if found else None

    def _read_users(self) -> dict[bytes, str]:
        """Each user's hash: SHA-256 of `{user}password` in hexadecimal digits."""
        with self._users.open("rb") as file:
            text = file.read(MAX_USERS_BYTES)
        users: dict[bytes, str] = {}
        for line in text.splitlines():
            user, comma, digest = line.strip().partition(b",")
            if comma and not user.startswith(b"#"):
                users.setdefault(user, digest.strip().decode("ascii", "replace"))
        return {user: digest for user, digest in users.items() if digest.isascii()}


# ---------------------------------------------------------------------- the cipher


def _cipher(module: str) -> Any:
    try:
        return import_module(f"cryptography.hazmat.primitives.{module}")
    except ImportError:
        hint = "needs the package cryptography: pip install 'tuiperf[auth]'"
        raise EngineError(0, f"a login {hint}") from None


def _padding(pkcs1: bool) -> Any:
    padding = _cipher("asymmetric.padding")
    if pkcs1:
        return padding.PKCS1v15()
    sha1 = _cipher("hashes").SHA1
    return padding.OAEP(padding.MGF1(sha1()), sha1(), None)


def _load_key(path: str, loader: str, code: int) -> Any:
    """The RSA key in a PEM file; `loader` names the function that reads this kind."""
    load = getattr(_cipher("serialization"), loader)
    try:
        with Path(path).open("rb") as file:
            text = file.read(MAX_KEY_BYTES)
    except OSError as error:
        raise EngineError.from_code(code, hint=f"'{path}': {error.strerror}") from None
    try:
        key = load(text, None) if code == SERVER_CODE else load(text)
    except TypeError:
        hint = f"'{path}' is protected by a password"
        raise EngineError.from_code(code, hint=hint) from None
    except Exception as error:
        if not _is_bad_key(error):
            raise
        raise EngineError.from_code(code, hint=f"'{path}' holds no RSA key in PEM form") from None
    if not hasattr(key, "encrypt" if code == CLIENT_CODE else "decrypt"):
        raise EngineError.from_code(code, hint=f"'{path}' holds a key that is not RSA")
    return key


def _is_bad_key(error: Exception) -> bool:
    """What cryptography raises for a file that holds no key it knows."""
    unsupported = import_module("cryptography.exceptions").UnsupportedAlgorithm
    return isinstance(error, (ValueError, unsupported))
