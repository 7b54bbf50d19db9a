"""What can go wrong with a lab, in one line for the user."""

from __future__ import annotations


class LabError(Exception):
    """A lab that cannot be: the text is one line that says why, and what would help."""


class LabEndedError(LabError):
    """A lab that was there and is no more: a part of it ended or was killed."""


class LabSilentError(LabError):
    """A lab that is there and does not answer in time: it is stopped, or the machine is busy."""
