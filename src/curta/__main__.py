"""`python -m curta`: the same as the `curta` command."""

import sys

from curta.app.command_line import main

sys.exit(main())
