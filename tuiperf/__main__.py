"""`python -m tuiperf`: the same as the `tuiperf` command."""

from tuiperf.cli.main import entry

if __name__ == "__main__":
    entry()
