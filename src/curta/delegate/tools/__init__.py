"""Tools: functions that a language model can call, and what such a call comes to."""

from curta.delegate.tools.tool import Answer, Bounds, Tool
from curta.delegate.tools.words import tools_of

__all__ = ["Answer", "Bounds", "Tool", "tools_of"]
