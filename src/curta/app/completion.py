"""`curta completion`: what a shell needs to complete commands and options."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Literal

from curta.app.commands import COMMANDS, find, listed, module_of
from curta.options import Option, options_of, rest, word

SCRIPTS = {
    "bash": """\
_curta() {
    local IFS=$'\\n'
    COMPREPLY=($(curta completion bash -- "${COMP_WORDS[@]:1:COMP_CWORD}" | cut -f 1))
}
complete -o default -F _curta curta
""",
    "zsh": """\
#compdef curta
_curta() {
    local -a found
    found=(${(f)"$(curta completion zsh -- "${(@)words[2,CURRENT]}" |
        sed 's/:/\\\\:/g; s/\\t/:/')"})
    (( $#found )) && _describe curta found || _files
}
compdef _curta curta
""",
    "fish": """\
function __curta
    set -l words (commandline -opc) (commandline -ct)
    curta completion fish -- $words[2..]
end
complete -c curta -a '(__curta)'
""",
}


@dataclass(frozen=True)
class Options:
    """Write a script for bash, zsh or fish. For bash, put eval "$(curta completion bash)" into
    ~/.bashrc; for zsh the same into ~/.zshrc, behind compinit; for fish, curta completion fish |
    source into config.fish.

    shell: that completes
    words: what the scripts ask: what can follow these, the last of which may be unfinished
    """

    shell: Literal["bash", "zsh", "fish"] = word("SHELL")
    words: tuple[str, ...] = rest("WORD", lambda words: 1)


def run(options: Options) -> int:
    """The script, or what its shell asks: a line for each word that fits, with its meaning."""
    if options.words:
        for candidate, meaning in candidates(options.words):
            print(f"{candidate}\t{meaning}")
    else:
        print(SCRIPTS[options.shell], end="")
    return 0


def candidates(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """What can stand where the last word begins, and what that means; nothing means a file."""
    *before, last = (word for word in words if word != "=")  # bash cuts --level=plain
    name, given = find(before)
    if name not in COMMANDS:
        meanings = {} if given else listed(name)
    else:
        meanings = following(options_of(import_module(module_of(name)).Options), given, last)
    for candidate, meaning in meanings.items():
        if candidate.startswith(last):
            yield candidate, meaning


def following(options: Sequence[Option], given: Sequence[str], last: str) -> dict[str, str]:
    """Values of the option before, or options, or words that are known."""
    named = {name: option for option in options for name in option.names}
    asked = named.get(given[-1]) if given else None
    if asked is not None and not asked.is_flag:
        return dict.fromkeys(asked.choices, "")
    if last.startswith("-"):
        return {name: option.meaning for name, option in named.items()}
    words = [option for option in options if option.is_word]
    return {choice: "" for word in words for choice in word.choices}
