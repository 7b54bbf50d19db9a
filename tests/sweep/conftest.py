"""The lab's own fixtures."""

from tests.lab.conftest import lab_here, make_path

__all__ = ["lab_here", "make_path"]
