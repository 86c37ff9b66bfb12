"""`python -m minifp.run`."""

from minifp.run.command import main

if __name__ == "__main__":
    main()
