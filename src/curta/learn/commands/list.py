"""`curta learn list`: what experiments can be made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from curta.learn.options import for_commands
from curta.options import described, shown, word

What = Literal["recipes", "tasks", "formats", "positions", "models", "options"]


@dataclass(frozen=True)
class Options:
    """Recipes, tasks, formats, positions and models, with a line each; or the options of an
    experiment.

    what: only these
    """

    what: What | None = word("WHAT", None)


def run(options: Options) -> int:
    """Names with a line each."""
    from curta.learn import recipes
    from curta.learn.formats.base import Format
    from curta.learn.models import presets
    from curta.learn.positions.base import Positions
    from curta.learn.recipes import units
    from curta.learn.tasks.base import Task

    made = {name: made.about for name, made in recipes.recipes().items()}
    sections: dict[str, dict[str, str]] = {
        "recipes": made | {units.NAME: units.ABOUT},
        "tasks": abouts(Task),
        "formats": abouts(Format),
        "positions": abouts(Positions),
        "models": {name: about for name, (about, _) in presets.PRESETS.items()},
    }
    if options.what == "options":
        sections = {"options": option_lines()}
    elif options.what:
        sections = {options.what: sections[options.what]}
    for index, (title, lines) in enumerate(sections.items()):
        print(f"{chr(10) if index else ''}{title}:")
        room = max(map(len, lines), default=0)
        for name, about in lines.items():
            print(f"  {name:{room}}  {about}")
    return 0


def abouts(kind: type[Any]) -> dict[str, str]:
    """The parts of a kind."""
    from curta.learn import catalogue

    return {name: made.about for name, made in sorted(catalogue.parts(kind).items())}


def option_lines() -> dict[str, str]:
    """All options, how they are written, and what they are without being given."""
    return {
        option.flag: f"{option.part}: {described(option.kind)}"
        f" ({'none' if option.default in (None, ()) else shown(option.default)})"
        for option in for_commands()
    }
