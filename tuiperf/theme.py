"""Colours: two themes of our own, and what each role of a row looks like under any theme."""

from __future__ import annotations

import os
from dataclasses import dataclass

from rich.style import Style
from textual.color import Color
from textual.theme import Theme

from tuiperf.view.rows import SHADES

DARK = Theme(
    name="tuiperf-dark",
    primary="#46c4f5",
    secondary="#8592a3",
    accent="#46c4f5",
    success="#5ad19a",
    warning="#f5b94e",
    error="#ff6f70",
    foreground="#d9e0ea",
    background="#0e1319",
    surface="#141b23",
    panel="#3a4857",
    dark=True,
    variables={"border-blurred": "#3a4857"},
)
LIGHT = Theme(
    name="tuiperf-light",
    primary="#0a6fa8",
    secondary="#5d6a79",
    accent="#0a6fa8",
    success="#1c7f4c",
    warning="#9a6200",
    error="#c02b2f",
    foreground="#1d2733",
    background="#f7f8fa",
    surface="#ffffff",
    panel="#b3bdc9",
    dark=False,
    variables={"border-blurred": "#b3bdc9"},
)


@dataclass(frozen=True)
class Paint:
    """The styles of all roles on one background.

    `solid` tells that a full cell may be drawn as a blank on a coloured background, which takes one
    byte instead of three and leaves no seams; sixteen colours and none need the block itself.
    """

    styles: dict[str, Style]
    fills: dict[str, Style]
    solid: bool


def no_color() -> bool:
    """The user asks for no colour (no-color.org)."""
    return bool(os.environ.get("NO_COLOR"))


def default_theme() -> str:
    """The theme to begin with: the terminal's own colours where colour is not wanted."""
    return "ansi-dark" if no_color() else os.environ.get("TEXTUAL_THEME", DARK.name)


def paint(theme: Theme, raised: bool, plain: bool) -> Paint:
    """Styles for a theme; `raised` is on the surface colour, `plain` without solid fills."""
    if theme.ansi or (theme.background or "").startswith("ansi"):
        return _ansi_paint()
    dark = theme.dark
    background = theme.background or ("#121212" if dark else "#fafafa")
    ground = (theme.surface or background) if raised else background
    text = theme.foreground or ("#e0e0e0" if dark else "#202020")
    own = theme.name in (DARK.name, LIGHT.name)
    muted = (theme.secondary or text) if own else mixed(text, ground, 0.62)
    rule = (theme.panel or muted) if own else mixed(text, ground, 0.30)
    tones = {
        "data": theme.primary,
        "ok": theme.success or theme.primary,
        "look": theme.warning or theme.primary,
        "fault": theme.error or theme.primary,
    }
    styles = _words(text, muted, rule, tones, ground)
    styles["spark"] = Style(color=mixed(theme.primary, ground, 0.78), bgcolor=ground)
    fills: dict[str, Style] = {}
    for step in range(SHADES):
        depth = 0.42 + 0.50 * step / (SHADES - 1)
        for kind, colour, share in (
            ("fill", tones["data"], depth),
            ("look", tones["look"], depth * 0.85),
            ("fault", tones["fault"], depth * 0.85),
            ("omit", muted, depth * 0.6),
        ):
            shade = mixed(colour, ground, share)
            styles[f"{kind}{step}"] = Style(color=shade, bgcolor=ground)
            fills[f"{kind}{step}"] = Style(color=ground, bgcolor=shade)
    fills["spark"] = Style(color=ground, bgcolor=mixed(theme.primary, ground, 0.78))
    return Paint(styles, fills, solid=not plain)


def _words(
    text: str, muted: str, rule: str, tones: dict[str, str], ground: str
) -> dict[str, Style]:
    def on_ground(colour: str, bold: bool = False) -> Style:
        return Style(color=colour, bgcolor=ground, bold=bold or None)

    return {
        "text": on_ground(text),
        "strong": on_ground(text, bold=True),
        "muted": on_ground(muted),
        "label": on_ground(muted, bold=True),
        "pending": on_ground(muted),
        "rule": on_ground(rule),
        "track": on_ground(mixed(rule, ground, 0.6)),
        "title": on_ground(tones["data"], bold=True),
        "key": on_ground(tones["data"], bold=True),
        **{name: on_ground(colour) for name, colour in tones.items()},
    }


def _ansi_paint() -> Paint:
    def colour(name: str, bold: bool = False) -> Style:
        return Style(color=name, bgcolor="default", bold=bold or None)

    styles = {
        "text": colour("default"),
        "strong": colour("default", bold=True),
        "muted": colour("default"),
        "label": colour("default"),
        "pending": colour("default"),
        "rule": colour("bright_black"),
        "track": colour("bright_black"),
        "title": colour("blue", bold=True),
        "key": colour("magenta", bold=True),
        "data": colour("blue"),
        "spark": colour("blue"),
        "ok": colour("green"),
        "look": colour("yellow"),
        "fault": colour("red"),
    }
    flat = {"fill": "blue", "look": "yellow", "fault": "red", "omit": "bright_black"}
    for kind, name in flat.items():
        styles.update({f"{kind}{step}": colour(name) for step in range(SHADES)})
    return Paint(styles, {}, solid=False)


def mixed(colour: str, ground: str, share: float) -> str:
    """A colour laid over a background: `share` of it, the rest of the background."""
    ours, theirs = _channels(colour), _channels(ground)
    parts = (
        round(mine * share + other * (1 - share)) for mine, other in zip(ours, theirs, strict=True)
    )
    return "#" + "".join(f"{part:02x}" for part in parts)


def _channels(colour: str) -> tuple[int, int, int]:
    red, green, blue = Color.parse(colour).rgb
    return red, green, blue
