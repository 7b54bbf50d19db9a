"""Themes: every role has a look, and what must be told apart is."""

from __future__ import annotations

import pytest
from textual.color import Color
from textual.theme import BUILTIN_THEMES, Theme

from tuiperf import theme
from tuiperf.view.rows import ROLES, SHADES

THEMES = [theme.DARK, theme.LIGHT, *BUILTIN_THEMES.values()]


@pytest.mark.parametrize("each", THEMES, ids=lambda each: each.name)
def test_every_role_has_a_style_in_every_theme(each: Theme) -> None:
    for raised in (False, True):
        assert set(theme.paint(each, raised, False).styles) == set(ROLES)


def ratio(first: str, second: str) -> float:
    """Contrast of two colours as WCAG 2.1 defines it."""
    light, dark = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    parts = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in Color.parse(colour).normalized
    ]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


@pytest.mark.parametrize("each", [theme.DARK, theme.LIGHT], ids=lambda each: each.name)
def test_our_themes_are_readable(each: Theme) -> None:
    for raised in (False, True):
        paint = theme.paint(each, raised, False)
        for role in ("text", "strong", "muted", "label", "ok", "look", "fault", "title", "key"):
            style = paint.styles[role]
            assert style.color is not None
            assert style.bgcolor is not None
            contrast = ratio(style.color.name, style.bgcolor.name)
            assert contrast >= 4.5, (role, contrast)


def test_a_fill_deepens_towards_the_baseline() -> None:
    paint = theme.paint(theme.DARK, False, False)
    tones = [paint.fills[f"fill{step}"].bgcolor for step in range(SHADES)]
    levels = [_luminance(tone.name) for tone in tones if tone is not None]
    assert levels == sorted(levels)
    assert len(set(levels)) == SHADES


def test_sixteen_colours_and_none_draw_the_block_itself() -> None:
    ansi = BUILTIN_THEMES["ansi-dark"]
    assert not theme.paint(ansi, False, False).solid
    assert not theme.paint(theme.DARK, False, True).solid


def test_no_color_takes_the_terminals_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEXTUAL_THEME", raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert theme.default_theme() == "tuiperf-dark"
    monkeypatch.setenv("NO_COLOR", "1")
    assert theme.default_theme() == "ansi-dark"
