"""The lab's own check that it can be had here."""

from tests.lab.conftest import lab_here

__all__ = ["lab_here"]
