"""`python -m curta`: the same as the `curta` command."""

import sys

from curta.app.entry import main

sys.exit(main())
