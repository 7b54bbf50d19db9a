"""The lessons' texts: a little Markdown in files, read into pages of blocks.

A file begins with `# Title` and lines of `name: value`; each `## Heading` begins a page. On a page
there are paragraphs, `- ` items, formulas (indented by four) and `> ` lines about the reader's own
run. `{names}` stand for numbers; a `> ` block whose numbers are not known is left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

NUMBERS = range(1, 9)
"""The lessons there are."""

TEXT, ITEM, FORMULA, OWN = "text", "item", "formula", "own"
_PARTS = re.compile(r"\*\*(.+?)\*\*|`(.+?)`")


@dataclass(frozen=True)
class Block:
    """A paragraph, an item, a line of a formula, or something about the reader's own run."""

    kind: str
    text: str

    def runs(self) -> list[tuple[str, str]]:
        """The text in parts: (text, "text"), ("**strong**", "strong"), ("`key`", "key")."""
        runs, at = [], 0
        for found in _PARTS.finditer(self.text):
            runs.append((self.text[at : found.start()], "text"))
            strong, key = found.groups()
            runs.append((strong, "strong") if strong else (key, "key"))
            at = found.end()
        runs.append((self.text[at:], "text"))
        return [run for run in runs if run[0]]


@dataclass(frozen=True)
class Page:
    """One page: what fits on a small screen."""

    title: str
    blocks: tuple[Block, ...]

    def filled(self, numbers: Mapping[str, str]) -> Page:
        """The page with the numbers in it; blocks about a run that is not known are left out."""
        blocks = []
        for block in self.blocks:
            try:
                blocks.append(Block(block.kind, block.text.format_map(numbers)))
            except KeyError:
                if block.kind != OWN:
                    raise
        return Page(self.title, tuple(blocks))


@dataclass(frozen=True)
class Lesson:
    """A lesson. `path` and `options` are of the lab, `watch` what to look at there."""

    number: int
    title: str
    short: str
    path: str
    options: tuple[str, ...]
    watch: str
    pages: tuple[Page, ...]

    @property
    def command(self) -> str:
        """What to type to try it on a live path."""
        return " ".join(("tuiperf demo", self.path, *self.options))


@cache
def lesson(number: int) -> Lesson:
    """The lesson of this number. Raises KeyError for one that there is not."""
    if number not in NUMBERS:
        raise KeyError(number)
    file = files("tuiperf.lessons").joinpath("texts").joinpath(f"{number}.md")
    return parse(number, file.read_text(encoding="utf-8"))


def lessons() -> list[Lesson]:
    """All of them, in their order."""
    return [lesson(number) for number in NUMBERS]


def parse(number: int, text: str) -> Lesson:
    """Read a lesson's file."""
    head, *parts = text.split("\n## ")
    title, _, rest = head.partition("\n")
    fields = dict(line.split(": ", 1) for line in rest.splitlines() if line)
    path, *options = fields["try"].split()
    pages = tuple(_page(part) for part in parts)
    return Lesson(
        number, title.lstrip("# "), fields["short"], path, tuple(options), fields["watch"], pages
    )


def _page(text: str) -> Page:
    title, _, rest = text.partition("\n")
    blocks: list[Block] = []
    for lines in (part.split("\n") for part in rest.strip("\n").split("\n\n")):
        if lines[0].startswith("    "):
            blocks += [Block(FORMULA, line.strip()) for line in lines]
        elif lines[0].startswith("- "):
            blocks += [Block(ITEM, line.removeprefix("- ")) for line in lines]
        elif lines[0].startswith("> "):
            blocks.append(Block(OWN, " ".join(line.removeprefix("> ") for line in lines)))
        else:
            blocks.append(Block(TEXT, " ".join(lines)))
    return Page(title, tuple(blocks))
