"""JSON as iperf3's library (cJSON) prints it, safe to show and always valid."""

from __future__ import annotations

import json
import math
from typing import Any

MAX_DEPTH = 100
_EXACT = 2**63


def dump(document: dict[str, Any]) -> str:
    """The document as text, without the last line's end.

    Tabs, `"key":<TAB>value`, arrays inline; whole numbers without a point, others with 15 or, where
    that is not exact, 17 significant digits; what no finite number is becomes null.
    """
    return _value(document, 0)


def compact(document: dict[str, Any]) -> str:
    """The same on one line, without blanks."""
    return _compact(document, 0)


def _compact(value: Any, depth: int) -> str:
    if depth > MAX_DEPTH:
        return "null"
    if isinstance(value, dict):
        members = (
            f"{_string(str(key))}:{_compact(item, depth + 1)}" for key, item in value.items()
        )
        return "{" + ",".join(members) + "}"
    if isinstance(value, (list, tuple)):
        return f"[{','.join(_compact(item, depth + 1) for item in value)}]"
    return _value(value, depth)


def _value(value: Any, depth: int) -> str:
    if depth > MAX_DEPTH:
        return "null"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, dict):
        return _object(value, depth + 1)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_value(item, depth + 1) for item in value)}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return _number(value)
    return "null"


def _object(members: dict[str, Any], depth: int) -> str:
    tabs = "\t" * depth
    lines = [f"{tabs}{_string(str(key))}:\t{_value(item, depth)}" for key, item in members.items()]
    inside = ",\n".join(lines)
    return "{\n" + (f"{inside}\n" if lines else "") + "\t" * (depth - 1) + "}"


def _number(value: float) -> str:
    if isinstance(value, int) and abs(value) < _EXACT:
        return str(value)
    try:
        number = float(value)
    except OverflowError:
        return "null"
    if not math.isfinite(number):
        return "null"
    if number == math.trunc(number) and abs(number) < _EXACT:
        return str(int(number))
    text = f"{number:.15g}"
    exact = math.isclose(float(text), number, rel_tol=2**-52, abs_tol=0.0)
    return text if exact else f"{number:.17g}"


def _string(text: str) -> str:
    """A JSON string in which no control byte and no broken character is left as it is."""
    quoted = json.dumps(text, ensure_ascii=False)
    if quoted.isprintable():
        return quoted
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in quoted)
