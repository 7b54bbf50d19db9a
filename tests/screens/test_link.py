"""The screen of the link check: its sizes, its choices, what changes while it stands."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.rules.linkmade import check, towards
from tests.screens.link_pages import HALF_WAY, TROUBLED, LinkBench, on_link_screen
from tuiperf.evidence.facts import LinkFacts
from tuiperf.evidence.watch import Change
from tuiperf.view.rows import ASCII

GOLDEN = Path(__file__).parent / "golden"
SIZES = {"link-120x35": (120, 35), "link-80x24": (80, 24), "link-60x20": (60, 20)}


async def text_of(bench: LinkBench) -> str:
    return bench.text()


@pytest.mark.parametrize("name", SIZES)
def test_the_page_at_every_size(name: str) -> None:
    shown = on_link_screen(text_of, size=SIZES[name])
    assert shown == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8").rstrip("\n")


def test_the_page_in_ascii() -> None:
    shown = on_link_screen(text_of, glyphs=ASCII)
    assert shown.isascii()
    assert shown == (GOLDEN / "link-ascii-80x24.txt").read_text(encoding="utf-8").rstrip("\n")


@pytest.mark.parametrize("size", [(59, 17), (40, 10), (20, 5), (10, 3), (1, 1)])
def test_small_terminals_get_what_fits(size: tuple[int, int]) -> None:
    shown = on_link_screen(text_of, size=size)
    assert len(shown.splitlines()) == size[1]
    assert all(len(line) <= size[0] for line in shown.splitlines())


def test_the_gravest_check_is_shown_until_the_reader_chooses() -> None:
    async def case(bench: LinkBench) -> tuple[str, str, str]:
        first = bench.screen.page.chosen
        await bench.press("j", "j")
        second = bench.screen.page.chosen
        await bench.press("g", "k")
        third = bench.screen.page.chosen
        assert first and second and third
        return first.name, second.name, third.name

    assert on_link_screen(case) == ("Interface drops", "Offloads", "Carrier and duplex")


def test_the_readers_choice_stays_when_more_becomes_known() -> None:
    async def case(bench: LinkBench) -> str:
        await bench.press("j")
        chosen = bench.screen.page.chosen
        bench.screen._inbox.append(TROUBLED)
        await bench.look()
        assert chosen is not None
        now = bench.screen.page.chosen
        assert now is not None
        return f"{chosen.name} {now.name}"

    first, _, second = on_link_screen(case, HALF_WAY).rpartition(" ")
    assert first.endswith(second)


def test_half_way_it_tells_how_far_it_is() -> None:
    shown = on_link_screen(text_of, HALF_WAY)
    assert "9 of 15 checked" in shown
    assert "checking" in shown


def test_the_details_alone_and_back() -> None:
    async def case(bench: LinkBench) -> tuple[str, str]:
        await bench.press("enter")
        alone = bench.text()
        await bench.press("escape")
        return alone, bench.text()

    alone, back = on_link_screen(case)
    assert "Checks" not in alone
    assert "0 dropped, 3 squeezed (softnet)" in alone
    assert "Checks" in back


def test_copy_gives_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    async def case(bench: LinkBench) -> tuple[str, str, list[str]]:
        await bench.press("y")
        command = bench.app.clipboard
        await bench.press("g", "y")
        return command, bench.app.clipboard, bench.toasts()

    command, page, toasts = on_link_screen(case)
    assert command == "ethtool -G eth0 rx 4096"
    assert page.startswith("tuiperf  Link check, lab-b (192.0.2.7) by eth0")
    (path,) = tmp_path.iterdir()
    assert path.read_text(encoding="utf-8") == page + "\n"
    assert toasts == [
        "Copied, if this terminal allows it: ethtool -G eth0 rx 4096",
        f"Copied, if this terminal allows it, and written into {path}",
    ]


def test_export_writes_the_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    async def case(bench: LinkBench) -> list[str]:
        await bench.press("e")
        return bench.toasts()

    (toast,) = on_link_screen(case, replace(towards(), host="../../lab b"))
    (path,) = tmp_path.iterdir()
    assert str(path) in toast
    assert json.loads(path.read_text(encoding="utf-8"))["exit_code"] == 0


def test_export_where_nothing_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/proc")

    async def case(bench: LinkBench) -> list[str]:
        await bench.press("e")
        return bench.toasts()

    (toast,) = on_link_screen(case)
    assert toast.startswith("Not exported: ")


def test_a_change_is_told_with_its_time() -> None:
    change = Change(1_700_000_000.0, "carrier", "fault", "carrier lost")
    clock = time.strftime("%H:%M:%S", time.localtime(change.time_s))

    async def case(bench: LinkBench) -> tuple[str, list[str]]:
        return bench.text(), bench.toasts()

    shown, toasts = on_link_screen(case, check(interface={"carrier": False}), changes=[change])
    assert f"{clock} carrier lost" in shown.splitlines()[0]
    assert toasts == [f"{clock} carrier lost"]


def test_usual_rises_take_no_graver_changes_place_and_make_no_toast() -> None:
    def risen(time_s: float, level: str, text: str) -> Change:
        return Change(time_s, "softnet_squeezed" if level == "ok" else "qdisc_drops", level, text)

    async def case(bench: LinkBench) -> tuple[str, list[str], int]:
        heading = bench.text().splitlines()[0]
        return heading, bench.toasts(), bench.source.agains

    usual = risen(1_700_000_010.0, "ok", "3 squeezed")
    heading, toasts, agains = on_link_screen(case, changes=[usual])
    assert "3 squeezed" in heading
    assert (toasts, agains) == ([], 0), "nothing of the card has changed: it is not asked again"
    graver = risen(1_700_000_000.0, "look", "90 dropped")
    heading, toasts, _ = on_link_screen(case, changes=[graver, usual])
    assert "90 dropped" in heading
    assert [toast.split(" ", 1)[1] for toast in toasts] == ["90 dropped"]
    later = replace(usual, time_s=1_700_000_031.0)
    assert "3 squeezed" in on_link_screen(case, changes=[graver, later])[0]


def test_again_looks_again() -> None:
    async def case(bench: LinkBench) -> int:
        await bench.press("r")
        return len(bench.source.plans)

    assert on_link_screen(case) == 2


def test_an_interface_is_chosen_from_a_list() -> None:
    async def case(bench: LinkBench) -> tuple[str, str, str]:
        await bench.press("i")
        shown = bench.text()
        await bench.press("j", "j", "enter")
        chosen = bench.source.plans[-1].asked
        await bench.press("i", "escape")
        return shown, chosen, bench.source.plans[-1].asked

    shown, chosen, after = on_link_screen(case)
    assert any("lab-b" in line and "the way to this host" in line for line in shown.splitlines())
    assert "eth0   1 Gbit/s, full  10.0.0.9  a card (igb), default route" in shown
    assert "veth0  no carrier" in shown
    assert "eth1   switched off" in shown
    assert (chosen, after) == ("veth0", "veth0")


def test_back_to_the_host_that_was_asked_for() -> None:
    async def case(bench: LinkBench) -> list[str]:
        await bench.press("i", "G", "enter")
        await bench.press("i", "g", "enter")
        return [plan.asked for plan in bench.source.plans[1:]]

    assert on_link_screen(case) == ["eth1", "lab-b"]


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (200, 50)])
def test_the_list_of_interfaces_fits(size: tuple[int, int]) -> None:
    async def case(bench: LinkBench) -> str:
        await bench.press("i")
        return bench.text()

    shown = on_link_screen(case, size=size)
    assert "Interfaces" in shown
    for words in ("eth0   1 Gbit/s, full", "veth0  no carrier", "eth1   switched off", "esc back"):
        assert words in shown


def test_help_lists_its_keys() -> None:
    async def case(bench: LinkBench) -> str:
        await bench.press("question_mark")
        return bench.text()

    shown = on_link_screen(case)
    assert "choose another interface" in shown
    assert "run the same test again" not in shown


def test_sheets_are_drawn_in_ascii_where_that_is_asked() -> None:
    async def case(bench: LinkBench) -> tuple[str, str]:
        await bench.press("question_mark")
        keys = bench.text()
        await bench.press("escape", "i")
        return keys, bench.text()

    for shown in on_link_screen(case, glyphs=ASCII):
        assert shown.isascii()
        assert "esc back" in shown


def test_nothing_to_look_at() -> None:
    async def case(bench: LinkBench) -> tuple[str, int]:
        return bench.screen.summary_text(), bench.screen.outcome()

    text, code = on_link_screen(case, LinkFacts(asked="x", problem="there is no x", pending=()))
    assert "Cannot tell: there is no x." in text
    assert code == 68


@pytest.mark.parametrize("key", ["q", "ctrl+q", "ctrl+c"])
def test_quit_ends_with_the_checks_code(key: str) -> None:
    async def case(bench: LinkBench) -> int | None:
        await bench.pilot.press(key)
        await bench.pilot.pause()
        return bench.app.return_code

    assert on_link_screen(case) == 2
