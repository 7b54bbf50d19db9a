"""Logins between ours and iperf3 3.12, which pads with PKCS#1, both ways; and in which it fails."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests import made_keys
from tests.cli.servers import OurCli
from tests.interop.iperf3 import iperf3_client, iperf3_server
from tests.made_keys import Keys

PKCS1 = "--use-pkcs1-padding"
SHORT = ("-n", "1M", "-C", "cubic")


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    return made_keys.make(tmp_path_factory.mktemp("keys"), {"ann": "secret"})


def of_client(keys: Keys) -> tuple[str, ...]:
    return ("--username", "ann", "--rsa-public-key-path", keys.public)


def of_server(keys: Keys) -> tuple[str, ...]:
    return ("--rsa-private-key-path", keys.private, "--authorized-users-path", keys.users)


def test_our_client_logs_in_at_a_stock_server(
    keys: Keys, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("IPERF3_PASSWORD", "secret")
    with iperf3_server(*of_server(keys)) as server:
        done = OurCli.client(server.port, *SHORT, *of_client(keys), PKCS1)
        assert done.code == 0 and done.document["end"]["sum_received"]["bytes"] == 1 << 20
        monkeypatch.setenv("IPERF3_PASSWORD", "wrong")
        done = OurCli.client(server.port, *SHORT, *of_client(keys), PKCS1)
        assert done.code == 1 and "test authorization failed" in done.document["error"]


def test_a_stock_client_logs_in_at_our_server(keys: Keys, monkeypatch: pytest.MonkeyPatch) -> None:
    with OurCli.server(*of_server(keys), PKCS1) as server:
        monkeypatch.setenv("IPERF3_PASSWORD", "secret")
        done = iperf3_client(server.port, *SHORT, *of_client(keys))
        assert not done.error and done.total("sum_sent") >= 1 << 20
        monkeypatch.setenv("IPERF3_PASSWORD", "wrong")
        assert "authorization failed" in iperf3_client(server.port, *SHORT, *of_client(keys)).error
        assert "authorization failed" in iperf3_client(server.port, *SHORT).error


@pytest.mark.parametrize("padding", [(), (PKCS1,)])
def test_ours_with_either_padding(
    keys: Keys, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, padding: tuple[str, ...]
) -> None:
    monkeypatch.setenv("IPERF3_PASSWORD", "secret")
    record = tmp_path / "run"
    with OurCli.server(*of_server(keys), *padding) as server:
        words = (*SHORT, *of_client(keys), *padding, "--record", str(record))
        assert OurCli.client(server.port, *words).code == 0
    text = gzip.decompress(record.read_bytes()).decode()
    assert json.loads(text.splitlines()[0])["spec"]["auth_token"] == ""
    assert "authtoken" not in text
