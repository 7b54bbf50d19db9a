from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuiperf.report.cjson import dump


def test_layout() -> None:
    document = {
        "rows": [{"a": 1, "b": True}, {"a": 2.5, "b": False}],
        "none": [],
        "words": ["x", "y"],
        "empty": {},
        "null": None,
    }
    assert dump(document) == (
        "{\n"
        '\t"rows":\t[{\n'
        '\t\t\t"a":\t1,\n'
        '\t\t\t"b":\ttrue\n'
        "\t\t}, {\n"
        '\t\t\t"a":\t2.5,\n'
        '\t\t\t"b":\tfalse\n'
        "\t\t}],\n"
        '\t"none":\t[],\n'
        '\t"words":\t["x", "y"],\n'
        '\t"empty":\t{\n'
        "\t},\n"
        '\t"null":\tnull\n'
        "}"
    )


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (0.0, "0"),
        (-0.0, "0"),
        (2.0, "2"),
        (1.000522, "1.000522"),
        (1.0005220174789429, "1.0005220174789429"),
        (0.99999499320983887, "0.999994993209839"),  # 15 digits are within a rounding of it
        (10480289.105902344, "10480289.105902344"),
        (40039693.2214745, "40039693.2214745"),
        (2.4e-05, "2.4e-05"),
        (2**63 - 1, "9223372036854775807"),
        (1e30, "1e+30"),
        (math.nan, "null"),
        (math.inf, "null"),
        (-math.inf, "null"),
        (10**400, "null"),
        (True, "true"),
    ],
)
def test_numbers(number: float, text: str) -> None:
    assert dump({"n": number}) == '{\n\t"n":\t' + text + "\n}"


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ('say "hi"\\', '"say \\"hi\\"\\\\"'),
        ("a\tb\n", '"a\\tb\\n"'),
        ("\x00\x1b\x7f\x9b", '"\\u0000\\u001b\\u007f\\u009b"'),
        ("größe → 日本", '"größe → 日本"'),
        ("\udc80", '"\\udc80"'),
    ],
)
def test_strings(text: str, quoted: str) -> None:
    assert dump({"s": text}) == '{\n\t"s":\t' + quoted + "\n}"


def test_a_document_nested_without_end_is_cut_not_fatal() -> None:
    nested: dict[str, object] = {}
    for _ in range(5000):
        nested = {"x": nested}
    assert json.loads(dump(nested))


_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), _json, max_size=5))
def test_what_is_written_reads_back(document: dict[str, object]) -> None:
    assert json.loads(dump(document)) == document


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_read_back_within_one_rounding(number: float) -> None:
    read = json.loads(dump({"n": number}))["n"]
    assert read == pytest.approx(number, rel=2**-51, abs=0)
