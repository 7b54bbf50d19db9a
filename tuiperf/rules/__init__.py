"""The rules judge: facts in, verdicts out; no clock, no socket, no file."""
