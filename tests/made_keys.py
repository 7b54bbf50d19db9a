"""Keys and users made for tests of logins."""

from __future__ import annotations

import functools
import hashlib
import tempfile
from pathlib import Path
from typing import NamedTuple

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa


class Keys(NamedTuple):
    """Names of files: both keys, and the users."""

    public: str
    private: str
    users: str


def make(folder: Path, passwords: dict[str, str]) -> Keys:
    """Write a new pair of keys and a users' file."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = serialization.Encoding.PEM
    private = key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo)
    lines = (
        f"{user},{hashlib.sha256(f'{{{user}}}{password}'.encode()).hexdigest()}\n"
        for user, password in passwords.items()
    )
    texts = {"public": public, "private": private, "users": "".join(lines).encode()}
    for name, text in texts.items():
        (folder / name).write_bytes(text)
    return Keys(*(str(folder / name) for name in texts))


@functools.cache
def usual() -> Keys:
    """One pair for a whole process of tests."""
    return make(Path(tempfile.mkdtemp()), {"ann": "secret"})
