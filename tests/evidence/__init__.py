"""Tests of the readers and decoders of this host."""
