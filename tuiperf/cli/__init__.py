"""The command line: one grammar, one main, plain text."""
