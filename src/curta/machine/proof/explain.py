"""Why a function is not proved, for people. Nothing of a proof rests on this."""

from __future__ import annotations

from curta.machine.proof.terms import Term, Terms

_UNTIL = 4
"""How deep terms are shown."""
_LONGEST = 600
"""Characters of a reason."""


def not_proved(what: str, why: str) -> str:
    """A message for what could not be shown to be right."""
    return (
        f"not proved: {what}: {why[:_LONGEST]}; it is not shown that the core instructions do "
        "what the WebAssembly does (please report it; --unproved runs the program all the same)"
    )


def difference(terms: Terms, world: Term, other: Term) -> str:
    """The first event that the program and WebAssembly do not have in common."""
    ours, theirs = _events(terms, world), _events(terms, other)
    for one, another in zip(ours, theirs, strict=False):
        if one != another:
            return f"the program does {shown(terms, one)}, WebAssembly {shown(terms, another)}"
    more = ours[len(theirs) :] or theirs[len(ours) :]
    who = "the program" if len(ours) > len(theirs) else "WebAssembly"
    return f"{who} does more: {shown(terms, more[0]) if more else 'nothing'}"


def _events(terms: Terms, world: Term) -> list[tuple[object, ...]]:
    beginning, *events = (terms.nodes[one] for one in terms.past(world)[::-1])
    return [beginning, *((name, *parts[1:-1]) for name, *parts in events)]


def shown(terms: Terms, term: object, depth: int = _UNTIL) -> str:
    """A term with its parts, as far as one can read it."""
    if isinstance(term, tuple):
        return f"({' '.join(shown(terms, part, depth) for part in term)})"
    if not isinstance(term, int) or term >= len(terms.nodes):
        return str(term)
    if term < 0:
        return f"{~term:#x}"
    if depth == 0:
        return f"t{term}"
    name, *parts = terms.nodes[term]
    if name in ("symbol", "parameter", "world", "junk", "result"):
        return f"{name}{tuple(parts)}"
    return f"({name} {' '.join(shown(terms, part, depth - 1) for part in parts)})"
