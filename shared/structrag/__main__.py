"""The command line, as `python -m structrag`."""

from structrag.cli import main

main()
