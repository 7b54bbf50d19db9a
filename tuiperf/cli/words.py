"""The command line that asks for a test: the grammar read backwards."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Any

from tuiperf.cli.grammar import OPTIONS, Option
from tuiperf.engine.spec import DEFAULT_PORT, DEFAULT_UDP_RATE_BPS, ClientSpec, TestSpec

_BYTES = ("total_bytes", "total_blocks", "window_bytes", "block_bytes", "connect_timeout_ms")
_RATES = ("rate_bps", "fq_rate_bps")


def command_of(spec: ClientSpec) -> str:
    """The command that runs this test, as it can be pasted into a shell."""
    return shlex.join(["tuiperf", "run", *words_of(spec)])


def words_of(spec: ClientSpec) -> list[str]:
    """HOST and the options that `tuiperf run` needs for this test, recording left out."""
    return [target_of(spec), *option_words(spec)]


def target_of(spec: ClientSpec) -> str:
    """HOST or HOST:PORT."""
    if spec.port == DEFAULT_PORT:
        return spec.host
    host = f"[{spec.host}]" if ":" in spec.host else spec.host
    return f"{host}:{spec.port}"


def option_words(spec: ClientSpec) -> list[str]:
    """The options alone, in the grammar's order; those that have their default are left out."""
    usual = usual_spec(spec)
    told = {"end.port"}
    words: list[str] = []
    for option in OPTIONS:
        groups = {target.partition(".")[0] for target in option.targets}
        if not groups or not groups <= {"test", "client", "end"} or told & set(option.targets):
            continue
        if option.role == "server":
            continue
        found = _words(option, spec, usual)
        if found:
            words += found
            told |= set(option.targets)
    return words


def usual_spec(spec: ClientSpec) -> ClientSpec:
    """The spec that names nothing but this one's host, port and protocol."""
    test = TestSpec()
    if spec.test.udp:
        test = replace(test, protocol="udp", rate_bps=DEFAULT_UDP_RATE_BPS, block_bytes=0)
    if spec.test.limited:
        test = replace(test, time_s=0)
    return ClientSpec(host=spec.host, port=spec.port, test=test)


def _words(option: Option, spec: ClientSpec, usual: ClientSpec) -> list[str]:
    """The words for one option; none where it has its default, or cannot say it."""
    values = [_value(spec, target) for target in option.targets]
    name = next((each for each in option.names if not each.startswith("--")), option.name)
    if option.targets == ("test.protocol",):
        return [name] if spec.test.udp else []
    if values == [_value(usual, target) for target in option.targets]:
        return []
    if not option.argument:
        wanted = option.value if len(values) > 1 else (option.value,)
        return [name] if tuple(values) == tuple(wanted) else []
    fields = [target.partition(".")[2] for target in option.targets]
    text = _text(fields, values)
    return [name, text] if text else []


def _value(spec: ClientSpec, target: str) -> Any:
    group, _, name = target.partition(".")
    return getattr(spec.test if group == "test" else spec, name)


def _text(fields: list[str], values: list[Any]) -> str:
    """An argument as it would be typed."""
    if fields[0] == "bind_host":
        host, device = values
        return f"{host}%{device}" if host and device else str(host)
    first = _number(fields[0], values[0])
    return f"{first}/{values[1]}" if len(values) > 1 and values[1] else first


def _number(name: str, value: Any) -> str:
    if name in _BYTES:
        return _in_steps(value, 1024)
    if name in _RATES:
        return _in_steps(value, 1000)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _in_steps(value: int, step: int) -> str:
    """A count with the largest suffix that keeps it whole: 256K, 500M."""
    suffix = ""
    for letter in "KMGT":
        if not value or value % step:
            break
        value //= step
        suffix = letter
    return f"{value}{suffix}"
