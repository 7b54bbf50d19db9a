"""JSON messages: what is written, and how much is forgiven when reading."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuiperf.engine.framing import (
    MAX_JSON_VALUES,
    MAX_RESULTS_BYTES,
    FrameError,
    check_length,
    encode_json_frame,
    parse_json_frame,
)


class TestWriting:
    def test_compact_text_behind_a_big_endian_length(self) -> None:
        assert encode_json_frame({"tcp": True, "omit": 0}) == b'\0\0\0\x15{"tcp":true,"omit":0}'

    def test_text_is_utf8_and_undecodable_bytes_go_out_as_they_came(self) -> None:
        assert encode_json_frame({"title": "é\udcff"})[4:] == b'{"title":"\xc3\xa9\xff"}'

    def test_half_a_surrogate_pair_does_not_stop_a_message(self) -> None:
        assert encode_json_frame({"title": "\ud800"})[4:] == b'{"title":"?"}'

    def test_what_no_peer_can_read_is_not_written(self) -> None:
        with pytest.raises(ValueError, match="JSON"):
            encode_json_frame({"x": float("nan")})


class TestLength:
    def test_up_to_the_limit(self) -> None:
        assert check_length(b"\0\0\x20\0", 8192) == 8192
        assert check_length(b"\0\xff\xff\xff", MAX_RESULTS_BYTES) == 2**24 - 1

    @pytest.mark.parametrize(
        ("header", "words"),
        [
            (b"\0\0\0\0", "empty"),
            (b"\0\0\x20\x01", "8193 bytes was announced, 8192 is the limit"),
            (b"\xff\xff\xff\xff", "4294967295 bytes"),
        ],
    )
    def test_beyond(self, header: bytes, words: str) -> None:
        with pytest.raises(FrameError, match=words):
            check_length(header, 8192)


class TestReading:
    @pytest.mark.parametrize(
        ("body", "document"),
        [
            (b'{"time":1}', {"time": 1}),
            (b'\xef\xbb\xbf {"time":1}', {"time": 1}),
            (b'{"time":1}\0{"time":2}', {"time": 1}),
            (b'{"time":1} trailing } garbage', {"time": 1}),
            (b'\r\n\t{"time":1}\n', {"time": 1}),
            (b'{"title":"a\xff\nb"}', {"title": "a\ufffd\nb"}),
            (b'{"title":"\\ud83d\\ude00 \\ud800!"}', {"title": "\U0001f600 ?!"}),
            (b"[]", {}),
            (b'[{"time":1}]', {}),
        ],
    )
    def test_text_around_and_inside_is_forgiven(self, body: bytes, document: Any) -> None:
        assert parse_json_frame(body) == document

    @pytest.mark.parametrize(
        ("number", "value"),
        [
            ("18446744073709551615", -1),
            ("9223372036854775808", -(2**63)),
            ("9223372036854775807", 2**63 - 1),
            ("-1", -1),
            ("18446744073709551616", 2.0**64),
            ("1" + "0" * 400, None),
            ("1e999", None),
            ("nan", None),
            ("-nan", None),
            ("NaN", None),
            ("inf", None),
            ("-inf", None),
            ("Infinity", None),
            ("-Infinity", None),
            ("1.5", 1.5),
        ],
    )
    def test_numbers(self, number: str, value: Any) -> None:
        body = f'{{"a":{number},"b":[{number}],"title":"-nan \\" inf"}}'.encode()
        document = parse_json_frame(body)
        assert document == {"a": value, "b": [value], "title": '-nan " inf'}
        assert type(document["a"]) is type(value)

    def test_keys_get_the_protocols_spelling(self) -> None:
        body = b'{"mss":1,"TOS":2,"Time":3,"Streams":[{"ID":1,"Bytes":2,"Other":3},4],"New":5}'
        assert parse_json_frame(body) == {
            "MSS": 1,
            "TOS": 2,
            "time": 3,
            "streams": [{"id": 1, "bytes": 2, "Other": 3}, 4],
            "New": 5,
        }

    def test_the_servers_own_report_keeps_its_spelling(self) -> None:
        body = b'{"server_output_json":{"start":{"test_start":{"tos":0,"TIME":1}}}}'
        assert parse_json_frame(body) == json.loads(body)

    def test_the_first_of_equal_keys_wins(self) -> None:
        assert parse_json_frame(b'{"time":1,"TIME":2,"time":3}') == {"time": 1}

    @pytest.mark.parametrize(
        ("body", "words"),
        [
            (b"", "not valid JSON"),
            (b"\0", "not valid JSON"),
            (b"{", "not valid JSON"),
            (b'{"a":1', "not valid JSON"),
            (b'{"a":"' + b'\\"' * 50_000, "not valid JSON"),
            (b'{"a":nano}', "not valid JSON"),
            (b"true", "not a JSON object"),
            (b"null", "not a JSON object"),
            (b"-nan", "not a JSON object"),
            (b'{"a":' * 10_000 + b"1" + b"}" * 10_000, "nested too deeply"),
            (b"[" * 10_000, "nested too deeply"),
            (b"[" * 120 + b"]" * 120, "nested too deeply"),
            (b"[" + b"[]," * MAX_JSON_VALUES + b"[]]", f"more than {MAX_JSON_VALUES} values"),
        ],
        ids=range(13),
    )
    def test_what_cannot_be_read_is_one_clear_error(self, body: bytes, words: str) -> None:
        with pytest.raises(FrameError, match=words):
            parse_json_frame(body)

    def test_deep_enough_for_any_report(self) -> None:
        body = b'{"a":' + b"[" * 90 + b"]" * 90 + b"}"
        assert parse_json_frame(body) == json.loads(body)

    @given(st.binary(max_size=200))
    def test_nothing_else_is_ever_raised(self, body: bytes) -> None:
        try:
            assert isinstance(parse_json_frame(body), dict)
        except FrameError as error:
            assert str(error)

    @given(
        st.dictionaries(
            st.text().map(lambda key: f"x-{key}"),
            st.recursive(
                st.none() | st.booleans() | st.text() | st.integers(-(2**63), 2**63 - 1),
                lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
                max_leaves=20,
            ),
        )
    )
    def test_what_is_written_is_read_back(self, document: dict[str, Any]) -> None:
        assert parse_json_frame(encode_json_frame(document)[4:]) == document
