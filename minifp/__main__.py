"""`python -m minifp` is the command line."""

from minifp.cli import main

if __name__ == "__main__":
    main()
