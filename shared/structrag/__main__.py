"""`python -m structrag`: the command line where the command is not on the path."""

from structrag.cli import main

main()
