"""Logins: what is in a token, whom a server lets in, and what is wrong with files and words."""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.hashes import SHA1
from hypothesis import given
from hypothesis import strategies as st

from tests import made_keys
from tests.made_keys import Keys
from tuiperf import login
from tuiperf.engine.errors import EngineError
from tuiperf.login import Doorkeeper, LoginSettings, make_token

NOW_S = 1_790_000_000
OAEP = padding.OAEP(padding.MGF1(SHA1()), SHA1(), None)


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    return made_keys.make(tmp_path_factory.mktemp("keys"), {"ann": "secret", "bob": "pass,word"})


def settings(keys: Keys, **changes: Any) -> LoginSettings:
    both = LoginSettings("ann", keys.public, keys.private, keys.users)
    return replace(both, **changes)


def admits(keys: Keys, token: str, now_s: float = NOW_S, **changes: Any) -> bool:
    return Doorkeeper(settings(keys, **changes), lambda: now_s).admits(token)


def sealed(keys: Keys, plain: bytes, how: padding.AsymmetricPadding = OAEP) -> str:
    public = serialization.load_pem_public_key(Path(keys.public).read_bytes())
    assert isinstance(public, rsa.RSAPublicKey)
    return base64.b64encode(public.encrypt(plain, how)).decode()


@pytest.mark.parametrize(("pkcs1", "how"), [(False, OAEP), (True, padding.PKCS1v15())])
def test_the_token_holds_three_lines(
    keys: Keys, pkcs1: bool, how: padding.AsymmetricPadding
) -> None:
    token = make_token(settings(keys, pkcs1=pkcs1), "secret", NOW_S + 0.9)
    private = serialization.load_pem_private_key(Path(keys.private).read_bytes(), None)
    assert isinstance(private, rsa.RSAPrivateKey)
    plain = private.decrypt(base64.b64decode(token, validate=True), how)
    assert plain == b"user: ann\npwd:  secret\nts:   1790000000"


@pytest.mark.parametrize("pkcs1", [False, True])
@pytest.mark.parametrize(("user", "password"), [("ann", "secret"), ("bob", "pass,word")])
def test_a_known_user_is_let_in(keys: Keys, pkcs1: bool, user: str, password: str) -> None:
    token = make_token(settings(keys, username=user, pkcs1=pkcs1), password, NOW_S)
    assert admits(keys, token, pkcs1=pkcs1)
    assert not admits(keys, token, pkcs1=not pkcs1)


@pytest.mark.parametrize(
    ("user", "password"), [("ann", "Secret"), ("bob", "secret"), ("eve", "secret"), ("#ann", "x")]
)
def test_others_are_not(keys: Keys, user: str, password: str) -> None:
    assert not admits(keys, make_token(settings(keys, username=user), password, NOW_S))


@pytest.mark.parametrize(
    ("apart_s", "skew_s", "within"),
    [
        (0, 10, True),
        (10, 10, True),
        (-10, 10, True),
        (11, 10, False),
        (-11, 10, False),
        (11, 60, True),
    ],
)
def test_clocks_may_be_apart_a_little(keys: Keys, apart_s: int, skew_s: int, within: bool) -> None:
    token = make_token(settings(keys), "secret", NOW_S)
    assert admits(keys, token, NOW_S + apart_s, skew_s=skew_s) is within


@pytest.mark.parametrize(
    "plain",
    [
        b"",
        b"user: ann\npwd:  secret",
        b"user: ann\npwd:  secret\nts:   soon",
        b"user: ann\npwd:  secret\nts:   1790000000\nmore",
        b"user: ann\npwd:  secret\nts:   " + b"9" * 40,
        b"\x00\xff" * 20,
    ],
)
def test_another_text_is_no_token(keys: Keys, plain: bytes) -> None:
    assert not admits(keys, sealed(keys, plain))


@given(
    token=st.text(max_size=400)
    | st.binary(max_size=300).map(lambda b: base64.b64encode(b).decode())
)
def test_anything_else_is_no_token(token: str) -> None:
    assert not admits(made_keys.usual(), token)


def test_the_users_file(keys: Keys, tmp_path: Path) -> None:
    digest = hashlib.sha256(b"{ann}secret").hexdigest()
    users = tmp_path / "users"
    token = make_token(settings(keys), "secret", NOW_S)
    for text, known in (
        (f"ann,{digest}", True),
        (f"# all\r\n\r\nnobody\r\n  ann,{digest}\r\n", True),
        (f"#ann,{digest}\n", False),
        (f"ann,{digest[:-1]}\n", False),
        ("ann,\xe9\n", False),
        ("", False),
    ):
        users.write_text(text, encoding="utf-8")
        assert admits(keys, token, users=str(users)) is known, text


def test_users_are_read_anew_for_each_client(keys: Keys, tmp_path: Path) -> None:
    users = tmp_path / "users"
    users.write_text("")
    token = make_token(settings(keys), "secret", NOW_S)
    keeper = Doorkeeper(settings(keys, users=str(users)), lambda: NOW_S)
    assert not keeper.admits(token)
    users.write_text(Path(keys.users).read_text())
    assert keeper.admits(token)
    users.unlink()
    assert not keeper.admits(token)


def code_of(call: Callable[[], object]) -> int:
    with pytest.raises(EngineError) as error:
        call()
    assert "\n" not in str(error.value)
    return error.value.code


def test_what_is_wrong_with_files(keys: Keys, tmp_path: Path) -> None:
    private = serialization.load_pem_private_key(Path(keys.private).read_bytes(), None)
    locked, curve = tmp_path / "locked", tmp_path / "curve"
    pem, pkcs8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    locked.write_bytes(
        private.private_bytes(pem, pkcs8, serialization.BestAvailableEncryption(b"x"))
    )
    other = ec.generate_private_key(ec.SECP256R1())
    curve.write_bytes(other.private_bytes(pem, pkcs8, serialization.NoEncryption()))
    for bad in (tmp_path / "none", tmp_path, Path(keys.users), Path(keys.public), locked, curve):
        assert code_of(partial(Doorkeeper, settings(keys, private_key=str(bad)))) == 23
    curve.write_bytes(
        other.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    for bad in (tmp_path / "none", Path(keys.users), Path(keys.private), curve):
        asked = settings(keys, public_key=str(bad))
        assert code_of(partial(make_token, asked, "secret", NOW_S)) == 22
    assert code_of(lambda: Doorkeeper(settings(keys, users=str(tmp_path / "none")))) == 35


@pytest.mark.parametrize(
    ("user", "password"),
    [("a n", "x"), ("ann", ""), ("ann", "two words"), ("ann", "x\n"), ("ann", "x" * 300)],
)
def test_words_that_a_server_could_not_read(keys: Keys, user: str, password: str) -> None:
    assert code_of(lambda: make_token(settings(keys, username=user), password, NOW_S)) == 22


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"username": "a"}, 22),
        ({"public_key": "f"}, 22),
        ({"users": "f"}, 23),
        ({"private_key": "f"}, 23),
    ],
)
def test_one_without_its_companion(given: dict[str, Any], code: int) -> None:
    assert code_of(LoginSettings(**given).check) == code


def test_the_password_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IPERF3_PASSWORD", "from here")
    assert login.ask_password() == "from here"


def test_no_terminal_and_no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("IPERF3_PASSWORD", raising=False)
    monkeypatch.setattr(sys, "stdin", None)
    assert code_of(login.ask_password) == 22


def test_without_the_package_one_line_says_what_to_install(keys: Keys) -> None:
    words = ["-c", "127.0.0.1", "--username", "ann", "--rsa-public-key-path", keys.public]
    code = (
        "import sys; sys.modules['cryptography'] = None;"
        "from tuiperf.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        env={"IPERF3_PASSWORD": "secret"},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "pip install 'tuiperf[auth]'" in line


def test_the_package_is_loaded_only_for_a_login() -> None:
    code = "import sys, tuiperf.cli.iperf3; print('cryptography' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
