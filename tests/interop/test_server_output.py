"""--get-server-output answered by our server: text and JSON, to a stock client and to ours."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from tests.cli.servers import COMMAND, OurCli
from tests.interop.iperf3 import iperf3_client, iperf3_path, iperf3_server

ASKED = ("-t", "1", "-C", "cubic", "-b", "20M", "--get-server-output")
CLIENTS = {"ours": COMMAND, "stock": [iperf3_path()]}


def document(who: str, port: int, *more: str) -> dict[str, Any]:
    client = OurCli.client if who == "ours" else iperf3_client
    return client(port, *ASKED, *more).document


@pytest.mark.parametrize("who", CLIENTS)
def test_text_with_what_the_sender_knows_in_reverse(who: str) -> None:
    with OurCli.server() as server:
        asked = (*ASKED, "-R", "-c", "127.0.0.1", "-p", str(server.port))
        done = subprocess.run(
            [*CLIENTS[who], *asked], capture_output=True, text=True, timeout=30, check=True
        )
        tail = done.stdout.partition("\nServer output:\n")[2]
        lines = tail.splitlines()
        assert lines[0].startswith("Accepted connection from 127.0.0.1, port ")
        assert lines[2].split()[-2:] == ["Retr", "Cwnd"]
        assert lines[3].split()[-1] in ("KBytes", "MBytes")
        assert any(line.split()[-1:] == ["sender"] for line in lines)
        assert "\n".join(lines[: lines.index("")]) in server.text


@pytest.mark.parametrize("who", CLIENTS)
def test_text_in_json(who: str) -> None:
    with OurCli.server() as server:
        text = document(who, server.port)["server_output_text"]
        assert text.startswith("Accepted connection") and text.endswith("receiver\n")
        assert "server_output_text" not in OurCli.client(server.port, "-n", "1").document


@pytest.mark.parametrize("form", ["-J", "--json-stream"])
@pytest.mark.parametrize("who", CLIENTS)
def test_a_document_with_round_trips_in_reverse(who: str, form: str) -> None:
    with OurCli.server(form) as server:
        theirs = document(who, server.port, "-R")["server_output_json"]
    row = theirs["intervals"][0]["streams"][0]
    assert row["sender"] is True and row["rtt"] > 0 and row["snd_cwnd"] > 0
    assert theirs["end"]["sum_sent"]["bytes"] > 1_000_000


def test_the_document_has_the_members_of_a_stock_servers() -> None:
    with iperf3_server("-J") as stock, OurCli.server("-J") as ours:
        theirs = document("ours", stock.port)["server_output_json"]
        mine = document("ours", ours.port)["server_output_json"]
    assert list(mine) == list(theirs)
    assert set(theirs["start"]) <= set(mine["start"])
    assert set(theirs["end"]) <= set(mine["end"])
