"""For `pytest -p tests.support.small_chapters`: all runs turn a page every few thousand tokens."""

from __future__ import annotations

from curta.machine import conversation

conversation.SHORTEST_CHAPTER = 3000
conversation.PAYS = 0
