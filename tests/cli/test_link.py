"""`tuiperf link` as its user runs it: on real devices in namespaces, in text and JSON."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import pytest

from tests.cli.commands import environment, on_a_terminal, tuiperf
from tests.evidence.spaces import Space, narrow, routed_path, send, spaces, wire
from tests.rules.linkmade import CARD
from tuiperf.cli import link, link_cable, link_store
from tuiperf.cli.printer import Printer
from tuiperf.cli.values import UsageError
from tuiperf.evidence import cable_test, interfaces, route
from tuiperf.evidence.cable_test import Pair, Reflection
from tuiperf.evidence.interfaces import Interface
from tuiperf.evidence.route import Route

FAR = "10.2.0.2"
LOOPBACK = Interface(1, "lo", loopback=True)
COMMAND = (sys.executable, "-m", "tuiperf", "link")


@pytest.fixture(scope="module")
def path() -> Iterator[tuple[Space, Space, Space]]:
    with routed_path(middle_mtu=1400) as path:
        yield path


def run_in(space: Space, home: Path, *words: str) -> tuple[int, str, str]:
    """Run the command in a namespace; its exit code, output and errors."""

    def work() -> tuple[int, str, str]:
        done = subprocess.run(
            [*COMMAND, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            env=environment(home),
            timeout=60,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    return space.do(work)


def document_of(space: Space, home: Path, *words: str) -> tuple[int, dict[str, Any]]:
    code, out, err = run_in(space, home, "--json", *words)
    assert err == ""
    found: dict[str, Any] = json.loads(out)
    return code, found


def ids(found: dict[str, Any]) -> list[str]:
    return [each["id"] for each in found["verdicts"]]


def test_the_path_to_a_host(path: tuple[Space, Space, Space], tmp_path: Path) -> None:
    code, found = document_of(path[0], tmp_path, FAR, "--quick")
    facts = found["facts"]
    assert facts["route"]["device"] == "a0"
    assert facts["route"]["gateway"] == "10.1.0.2"
    assert facts["path_mtu"]["mtu_bytes"] == 1400
    assert facts["port"]["state"] == "refused"
    assert facts["link"]["speed_mbps"] is None, "a veth's speed is invented"
    assert ids(found) == ["mtu-differs", "virtual-link", "port-not-ready"]
    assert code == found["exit_code"] == 1


def test_hops_and_counters_take_their_time(
    path: tuple[Space, Space, Space], tmp_path: Path
) -> None:
    _, found = document_of(path[0], tmp_path, FAR)
    hops = [hop["address"] for hop in found["facts"]["hops"]["hops"]]
    assert hops == ["10.1.0.2", FAR]
    window = found["facts"]["window"]
    assert window["seconds"] >= 4.9
    assert window["nic"]["tx_packets"] > 0, "the check's own probes"


def test_the_plain_page(path: tuple[Space, Space, Space], tmp_path: Path) -> None:
    code, out, err = run_in(path[0], tmp_path, FAR, "--quick", "--plain")
    lines = out.splitlines()
    assert (code, err) == (1, "")
    assert lines[0] == f"tuiperf  Link check, {FAR} by a0"
    assert any(line.startswith(" ▲ MTU ") and "1500 here, 1400 on path" in line for line in lines)
    assert any("nothing listens on TCP port 5201" in line for line in lines)
    assert max(map(len, lines)) <= 79


def test_plain_ascii(path: tuple[Space, Space, Space], tmp_path: Path) -> None:
    _, out, _ = run_in(path[0], tmp_path, "--quick", "--plain", "--ascii")
    assert out.isascii()
    assert "Link check, a0" in out, "without a word: the way out"


def test_an_iperf3_server_is_known(path: tuple[Space, Space, Space], tmp_path: Path) -> None:
    here, _, far = path
    port = _free_port(far)
    server = far.do(
        lambda: subprocess.Popen(
            ["iperf3", "-s", "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
    )
    try:
        found: dict[str, Any] = {}
        for _ in range(50):
            _, found = document_of(here, tmp_path, f"{FAR}:{port}", "--quick")
            if found["facts"]["port"]["state"] == "open":
                break
            time.sleep(0.1)
    finally:
        server.terminate()
        server.wait(10)
    assert found["facts"]["port"]["server"] == "an iperf3 server"
    assert "port-not-ready" not in ids(found)


def _free_port(space: Space) -> int:
    def work() -> int:
        with socket.create_server(("0.0.0.0", 0)) as listener:
            return int(listener.getsockname()[1])

    return space.do(work)


def test_a_link_that_is_down(tmp_path: Path) -> None:
    with spaces(2) as (here, there):
        wire(here, there, "10.0.0.1/24", "10.0.0.2/24")
        there.ip("link set w1 down")
        code, found = document_of(here, tmp_path, "w0", "--quick")
        here.ip("link set w0 down")
        off_code, off = document_of(here, tmp_path, "w0", "--quick")
    assert (code, found["verdicts"][0]["id"]) == (2, "no-carrier")
    assert (off_code, off["verdicts"][0]["kind"]) == (2, "switched-off")


def test_nothing_to_look_at(tmp_path: Path) -> None:
    with spaces(1) as (here,):
        alone = run_in(here, tmp_path, "--quick")
        nowhere = run_in(here, tmp_path, "198.51.100.1", "--quick")
        unknown = run_in(here, tmp_path, "no-such-thing.invalid", "--quick")
    for code, out, _ in (alone, nowhere, unknown):
        assert code == 68
        assert "Cannot tell: " in out
        assert "Traceback" not in out
    assert "network is unreachable" in nowhere[1]


def test_before_and_after_recabling(tmp_path: Path) -> None:
    with spaces(2) as (here, there):
        wire(here, there, "10.0.0.1/24", "10.0.0.2/24")
        saved = run_in(here, tmp_path, "save", "rack-3", "w0", "--quick")
        same = run_in(here, tmp_path, "diff", "rack-3", "--quick")
        replaced = run_in(here, tmp_path, "save", "rack-3", "w0", "--quick")
        here.ip("link set w0 mtu 1400")
        there.ip("link set w1 down")
        code, out, _ = run_in(here, tmp_path, "diff", "rack-3", "--quick")
        as_json = run_in(here, tmp_path, "diff", "rack-3", "--quick", "--json")
    assert saved[0] == 0
    assert "later: tuiperf link diff rack-3" in saved[2]
    assert (same[0], "nothing has changed" in same[1]) == (0, True)
    assert "in place of the one of " not in saved[2]
    assert "in place of the one of " in replaced[2]
    assert code == 2
    assert "carrier" in out
    assert "yes → no" in out
    assert "1500 → 1400" in out
    changed = json.loads(as_json[1])
    assert changed["since"]["subject"] == "w0"
    assert {each["what"] for each in changed["changes"]} >= {"carrier", "MTU"}


def test_long_differences_fit_the_page(tmp_path: Path) -> None:
    with spaces(2) as (here, there):
        wire(here, there, "10.0.0.1/24", "10.0.0.2/24")
        run_in(here, tmp_path, "save", "one", "lo", "--quick")
        code, out, _ = run_in(here, tmp_path, "diff", "one", "w0", "--quick")
    assert code == 1
    assert "lo → w0" in out
    assert "offloads" in out
    assert max(map(len, out.splitlines())) <= 79


def _watching(space: Space, home: Path, *words: str) -> subprocess.Popen[str]:
    return space.do(
        lambda: subprocess.Popen(
            [*COMMAND, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            env=environment(home),
        )
    )


def test_the_watch_tells_of_a_pulled_cable(tmp_path: Path) -> None:
    with spaces(2) as (here, there):
        wire(here, there, "10.0.0.1/24", "10.0.0.2/24")
        watching = _watching(here, tmp_path, "w0", "--quick", "--watch", "--json")
        assert watching.stdout is not None
        first = json.loads(watching.stdout.readline())
        time.sleep(0.3)  # the watch opens its sockets after the check is told
        there.ip("link set w1 down")
        down = _next_change(watching.stdout)
        there.ip("link set w1 up")
        back = _next_change(watching.stdout)
        watching.send_signal(signal.SIGINT)
        _, err = watching.communicate(timeout=20)
    assert first["check"]["facts"]["device"]["name"] == "w0"
    assert (down["what"], down["level"]) == ("carrier", "fault")
    assert (back["what"], back["level"]) == ("carrier", "ok")
    assert (watching.returncode, err) == (2, "")


def _next_change(lines: IO[str]) -> dict[str, Any]:
    """The next one of the interface: this host's receive path is busy with others' work."""
    while True:
        change: dict[str, Any] = json.loads(lines.readline())["change"]
        if not change["what"].startswith("softnet"):
            return change


@pytest.mark.parametrize("as_json", [False, True])
def test_the_watch_tells_of_drops_in_its_own_queue(as_json: bool, tmp_path: Path) -> None:
    text = r"[56]\d dropped before they were sent \(tbf\) in \d\.\d s"
    with spaces(2) as (here, there):
        wire(here, there, "10.0.0.1/24", "10.0.0.2/24")
        narrow(here, "w0")
        words = ["w0", "--quick", "--watch", "--expect", "1G/full", *["--json"] * as_json]
        watching = _watching(here, tmp_path, *words)
        assert watching.stdout is not None
        while not re.match(r'watching w0|\{"check"', line := watching.stdout.readline()):
            assert line
        time.sleep(0.3)
        for _ in range(3):  # a look that comes while packets are sent parts their number
            here.do(lambda: send("10.0.0.2", 60))
            told = watching.stdout.readline()
            while "softnet" in told:
                told = watching.stdout.readline()
            if re.search(text, told):
                break
        watching.send_signal(signal.SIGINT)
        rest, _ = watching.communicate(timeout=20)
    if as_json:
        change = json.loads(told)["change"]
        assert (change["what"], change["level"]) == ("qdisc_drops", "look")
        assert abs(change["time_s"] - time.time()) < 60
        told = f"00:00:00.0  ▲ w0: {change['text']}\n"
    assert re.fullmatch(rf"\d\d:\d\d:\d\d\.\d  ▲ w0: {text}\n", told)
    assert "expect" not in rest, "drops say nothing new about speed and duplex"


def test_the_watch_holds_every_change_against_what_is_expected(tmp_path: Path) -> None:
    with spaces(2) as (here, there):
        wire(here, there, "10.0.0.1/24", "10.0.0.2/24")
        there.ip("link set w1 down")
        words = ["w0", "--quick", "--watch", "--json", "--expect", "1G/full"]
        watching = _watching(here, tmp_path, *words)
        assert watching.stdout is not None
        watching.stdout.readline()
        time.sleep(0.3)
        there.ip("link set w1 up")
        told = [_next_change(watching.stdout) for _ in range(2)]
        watching.send_signal(signal.SIGINT)
        watching.communicate(timeout=20)
    assert [(each["what"], each["level"]) for each in told] == [
        ("carrier", "ok"),
        ("expected", "fault"),
    ]
    assert "which has no speed of its own" in told[1]["text"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--expect", "fast"], "'fast' is no speed"),
        (["--expect", ""], "'' is no speed"),
        (["--expect", "1"], "'1' is no speed"),
        (["--nonsense"], "unrecognized arguments: --nonsense"),
        (["-p", "99999"], "'99999' is no port number"),
        (["a", "b"], "unrecognized arguments: b"),
        (["save"], "the following arguments are required: NAME"),
        (["save", "../etc/passwd"], "is no name"),
        (["diff", "never-kept"], "no check was kept as 'never-kept'"),
        (["--quick", "save", "before"], "'save' comes first: tuiperf link save …"),
        (["eth0", "cable-test"], "'cable-test' comes first"),
        (["--tui", "--json"], "exclude each other"),
        (["-4", "-6"], "not allowed with argument"),
        (["[::1"], "is no address"),
        (["x" * 300], "neither an interface nor a host"),
    ],
)
def test_words_that_cannot_be_followed(words: list[str], complaint: str, tmp_path: Path) -> None:
    done = tuiperf(tmp_path, "link", *words)
    assert done.returncode == 64
    assert complaint in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


def test_help_fits_the_terminal(tmp_path: Path) -> None:
    done = tuiperf(tmp_path, "link", "--help")
    assert done.returncode == 0
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "cable-test" in done.stdout


def test_the_screen_opens_and_leaves_its_page(tmp_path: Path) -> None:
    code, out = on_a_terminal(tmp_path, "link", "lo", "--quick", once=b"checked", press=b"q")
    assert code == 0
    assert "tuiperf  Link check, lo" in out.split("\x1b[?1049l")[-1].replace("\x1b[0m", "").replace(
        "\x1b[1;34m", ""
    ).replace("\x1b[1m", "")


class TestKept:
    def test_files_of_another_make(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
        folder = link_store.directory()
        folder.mkdir(parents=True)
        for text, why in (
            ("{", "it is no kept check"),
            ("[]", "it is no kept check"),
            ('{"facts": {}, "form": 99}', "another version"),
            ("[" * 100_000, "it is no kept check"),
            ('{"facts": {}, "form": 1, "when_s": 1e300}', "it does not say when"),
            ('{"facts": {}, "form": 1, "when_s": NaN}', "it does not say when"),
            ('{"facts": {}, "form": 1}', "it does not say when"),
        ):
            (folder / "x.json").write_text(text, encoding="ascii")
            with pytest.raises(UsageError, match=why):
                link_store.load("x")

    def test_a_place_that_cannot_be_written(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from tests.rules.linkmade import check

        monkeypatch.setenv("XDG_STATE_HOME", "/proc/nowhere")
        with pytest.raises(UsageError, match="cannot keep 'x'"):
            link_store.save("x", check())

    @pytest.mark.parametrize("name", ["", ".", "a/b", "a b", "-x", "x" * 65, "a\n"])
    def test_names(self, name: str) -> None:
        with pytest.raises(UsageError):
            link_store.check_name(name)


class TestCable:
    """The cable test's manners; no device here can be tested."""

    @pytest.fixture(autouse=True)
    def _a_card(self, monkeypatch: pytest.MonkeyPatch) -> None:
        card = replace(CARD, index=99_999, name="eth7")
        monkeypatch.setattr(interfaces, "read", lambda gaps: (LOOPBACK, card))
        monkeypatch.setattr(cable_test, "ssh_peer", lambda: "")
        monkeypatch.setattr(cable_test, "may_test", lambda: True)

    def run(
        self, capsys: pytest.CaptureFixture[str], name: str = "eth7", **how: Any
    ) -> tuple[int, str]:
        given: dict[str, Any] = {"sure": False, "as_json": False, "ask": lambda question: True}
        code = link_cable.run(name, Printer(sys.stdout, sys.stderr), **{**given, **how})
        shown = capsys.readouterr()
        return code, shown.out + shown.err

    def test_it_asks_first(self, capsys: pytest.CaptureFixture[str]) -> None:
        asked: list[str] = []

        def no(question: str) -> bool:
            asked.append(question)
            return False

        code, _ = self.run(capsys, ask=no)
        assert code == 64
        assert asked == ["The test takes eth7's link down for some seconds. Go on?"]

    def test_with_nobody_to_ask_it_does_nothing(self, capsys: pytest.CaptureFixture[str]) -> None:
        code, said = self.run(capsys, ask=None)
        assert (code, "there is nobody to ask here" in said) == (64, True)

    def test_never_over_the_cable_of_this_shell(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(cable_test, "ssh_peer", lambda: "192.0.2.9")
        way = Route("192.0.2.9", "eth7", 99_999)
        monkeypatch.setattr(route, "towards", lambda address, gaps: way)
        code, said = self.run(capsys)
        assert (code, "this SSH session comes over eth7" in said) == (64, True)

    def test_a_shell_whose_way_is_not_known(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(cable_test, "ssh_peer", lambda: "nonsense")
        assert link_cable.carries_this_shell("eth7")

    def test_a_card_that_has_none(self, capsys: pytest.CaptureFixture[str]) -> None:
        code, said = self.run(capsys)
        assert (code, "has no cable test" in said) == (69, True)

    def test_an_interface_that_is_not_there(self, capsys: pytest.CaptureFixture[str]) -> None:
        code, said = self.run(capsys, "nothing9")
        assert (code, "there is no interface 'nothing9' here" in said) == (68, True)

    def test_what_has_no_cable(self, capsys: pytest.CaptureFixture[str]) -> None:
        code, said = self.run(capsys, "lo", ask=None)
        assert (code, "lo has no cable of its own" in said) == (69, True)

    def test_without_the_right_nothing_is_asked(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(cable_test, "may_test", lambda: False)
        code, said = self.run(capsys, ask=None)
        assert (code, "needs root (CAP_NET_ADMIN)" in said) == (77, True)

    @pytest.mark.parametrize("as_json", [False, True])
    def test_reflections(
        self, as_json: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        samples = (Reflection("A", 9.6, 46), Reflection("A", 12.3, -310), Reflection("B", 9.6, 90))
        monkeypatch.setattr(cable_test, "reflections", lambda interface: samples)
        code, said = self.run(capsys, as_json=as_json, tdr=True)
        assert code == 0
        if as_json:
            assert len(json.loads(said)["reflections"]) == 3
        else:
            assert said.splitlines()[1:] == [
                "  pair A   -310 mV at 12.3 m, as of a short or a crushed cable",
                "  pair B    +90 mV at 9.6 m, as of an open end or a loose plug",
            ]

    def test_without_the_right(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(interface: str) -> tuple[Pair, ...]:
            raise PermissionError(1, "Operation not permitted")

        monkeypatch.setattr(cable_test, "run", refuse)
        code, said = self.run(capsys)
        assert (code, "needs root (CAP_NET_ADMIN)" in said) == (77, True)

    @pytest.mark.parametrize("as_json", [False, True])
    def test_a_result(
        self, as_json: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pairs = (Pair("A", "ok", 20.0), Pair("C", "open", 12.34))
        monkeypatch.setattr(cable_test, "run", lambda interface: pairs)
        code, said = self.run(capsys, as_json=as_json)
        assert code == 2
        if as_json:
            assert json.loads(said)["pairs"][1] == {
                "name": "C",
                "state": "open",
                "distance_m": 12.34,
            }
        else:
            assert said.splitlines()[1:] == [
                "  pair A  pins 1-2  ok",
                "  pair C  pins 4-5  open at 12.3 m",
            ]

    def test_no_result_in_time(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(cable_test, "run", lambda interface: ())
        assert self.run(capsys)[0] == 70


def test_importing_it_loads_nothing_heavy() -> None:
    code = "import tuiperf.cli.link, tuiperf.cli.link_page, sys; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    ).stdout.split()
    assert not {"textual", "rich", "psutil", "pyroute2"} & set(loaded)
    assert link.USAGE_CODE == 64
