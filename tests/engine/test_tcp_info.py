"""struct tcp_info: right values from recorded answers, whatever their length."""

from __future__ import annotations

import socket
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuiperf.engine import tcp_info

# getsockopt(TCP_INFO) of a loopback connection that had sent 5.1 MB; Linux 6.18, little-endian.
RECORDED = bytes.fromhex(
    "010000000007aa00e01c030000000000cbff00001802000000000000000000000000000000000000"
    "000000002c00000000000000340000002c000000ffff0000d7ff0000f3020000db050000ffffff7f"
    "0a000000cbff00000300000000000000d7ff000001000000b9e15b6700000000ffffffffffffffff"
    "e1d14d000000000000000000000000006b0000003b00000000000000010000000000000069000000"
    "c048173f0f000000401f000000000000000000000000000000000000000000006a00000000000000"
    "b5584e0000000000d586000000000000010000000000000000000000003412000000010000000000"
    "00000000000000000000000000000000000000000000000000000000000000000000000000000000"
)

SENDER = {
    "state": 1,
    "snd_wscale": 10,
    "rcv_wscale": 10,
    "delivery_rate_app_limited": 0,
    "timestamps": 1,
    "sack": 1,
    "wscale": 1,
    "ecn": 0,
    "ecn_seen": 0,
    "rto_us": 204000,
    "snd_mss_bytes": 65483,
    "pmtu_bytes": 65535,
    "rtt_us": 755,
    "rttvar_us": 1499,
    "snd_ssthresh_packets": None,
    "snd_cwnd_packets": 10,
    "total_retrans_packets": 1,
    "pacing_rate_bytes_per_s": 1734074809,
    "max_pacing_rate_bytes_per_s": None,
    "bytes_acked_bytes": 5100001,
    "segs_out_packets": 107,
    "min_rtt_us": 1,
    "delivery_rate_bytes_per_s": 65483000000,
    "busy_time_us": 8000,
    "rwnd_limited_us": 0,
    "delivered_packets": 106,
    "bytes_sent_bytes": 5134517,
    "bytes_retrans_bytes": 34517,
    "dsack_dups_packets": 1,
    "snd_wnd_bytes": 1192960,
    "rcv_wnd_bytes": 65536,
    "total_rto_events": 0,
    "received_ce_bytes": 0,
}


def test_recorded_values() -> None:
    decoded = tcp_info.decode(RECORDED)
    assert {name: decoded[name] for name in SENDER} == SENDER


# The lengths kernels have had, the last field each has, and the first it lacks.
LENGTHS = [
    (104, "total_retrans_packets", "pacing_rate_bytes_per_s"),
    (120, "max_pacing_rate_bytes_per_s", "bytes_acked_bytes"),
    (136, "bytes_received_bytes", "segs_out_packets"),
    (144, "segs_in_packets", "notsent_bytes"),
    (160, "data_segs_out_packets", "delivery_rate_bytes_per_s"),
    (192, "sndbuf_limited_us", "delivered_packets"),
    (200, "delivered_ce_packets", "bytes_sent_bytes"),
    (224, "reord_seen_events", "rcv_ooopack_packets"),
    (232, "snd_wnd_bytes", "rcv_wnd_bytes"),
    (240, "rehash_events", "total_rto_events"),
    (248, "total_rto_time_ms", "received_ce_packets"),
    (276, "received_ce_bytes", None),
]


@pytest.mark.parametrize(("length", "last", "lacking"), LENGTHS)
def test_older_kernels(length: int, last: str, lacking: str | None) -> None:
    whole = tcp_info.decode(RECORDED)
    decoded = tcp_info.decode(RECORDED[:length])
    ends = {field.name: field.end for field in tcp_info.FIELDS}
    assert decoded == {name: whole[name] if ends[name] <= length else None for name in whole}
    assert ends[last] == length
    if lacking:
        assert decoded[lacking] is None
        assert tcp_info.decode(b"\1" * 280)[lacking] is not None


def test_a_field_cut_in_the_middle_is_unknown() -> None:
    assert tcp_info.decode(RECORDED[:231])["snd_wnd_bytes"] is None
    assert tcp_info.decode(RECORDED[:7])["delivery_rate_app_limited"] is None


def test_a_longer_tail_is_ignored() -> None:
    assert tcp_info.decode(RECORDED[:276] + b"\xff" * 236) == tcp_info.decode(RECORDED)


def test_values_that_mean_unset() -> None:
    data = bytearray(RECORDED)
    struct.pack_into("=I", data, 76, 0x7FFFFFFE)
    struct.pack_into("=Q", data, 112, 1_250_000)
    struct.pack_into("=I", data, 148, 0xFFFFFFFF)
    decoded = tcp_info.decode(bytes(data))
    assert decoded["snd_ssthresh_packets"] == 0x7FFFFFFE
    assert decoded["max_pacing_rate_bytes_per_s"] == 1_250_000
    assert decoded["min_rtt_us"] is None


@given(st.binary(max_size=520))
def test_any_bytes(data: bytes) -> None:
    decoded = tcp_info.decode(data)
    assert set(decoded) == {field.name for field in tcp_info.FIELDS}
    for field in tcp_info.FIELDS:
        value = decoded[field.name]
        if field.end > len(data):
            assert value is None
        elif not field.bits:
            (number,) = struct.unpack_from("=" + field.format, data, field.offset)
            assert value == (None if field.unset and number >= field.unset else number)
        else:
            assert value is not None
            assert 0 <= value < 1 << field.bits


def test_names_are_unique_and_carry_units() -> None:
    names = [field.name for field in tcp_info.FIELDS]
    assert len(names) == len(set(names))
    units = ("_us", "_ms", "_bytes", "_packets", "_events", "_bytes_per_s")
    assert all(f.name.endswith(units) for f in tcp_info.FIELDS if f.format in "HIQ")


def test_a_live_socket() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket() as client:
        client.connect(listener.getsockname())
        server, _ = listener.accept()
        with server:
            client.sendall(b"x" * 1000)
            assert server.recv(1000, socket.MSG_WAITALL) == b"x" * 1000
            sent, received = tcp_info.read(client), tcp_info.read(server)
    assert sent is not None and received is not None
    assert sent["state"] == 1
    assert sent["bytes_sent_bytes"] == 1000
    assert received["bytes_received_bytes"] == 1000
    assert sent["snd_wscale"] == received["rcv_wscale"]


def test_a_socket_that_is_no_tcp() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        assert tcp_info.read(sock) is None


def test_a_closed_socket_is_an_error() -> None:
    sock = socket.socket()
    sock.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        tcp_info.read(sock)
