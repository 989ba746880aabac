"""Run the command line with ``python -m neuroveil``."""

from neuroveil.cli import main

if __name__ == "__main__":
    main()
