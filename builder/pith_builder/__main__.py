"""`python -m pith_builder`: the same as `pith-build`."""

import sys

from pith_builder.cli import main

if __name__ == "__main__":
    sys.exit(main())
