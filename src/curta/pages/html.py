"""Pages: text, tables and pictures in one file, light or dark as the reader's screen is."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Sequence

STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; --good: #2a8a4a; --bad: #c2452d;
  --call: #3b7dd833; --error: #c2452d44; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  background: Canvas; color: CanvasText; }
h1 { font-size: 1.6rem; margin-bottom: 0; }
h2 { font-size: 1.15rem; margin-top: 2.2rem; border-bottom: 1px solid var(--line); }
h3 { font-size: 1rem; margin-bottom: 0.3rem; }
p.about { margin-top: 0.2rem; opacity: 0.75; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: 0.6rem 0; }
th, td { padding: 0.2rem 0.8rem 0.2rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line); font-variant-numeric: tabular-nums; }
th { font-weight: 600; }
td.number { text-align: right; }
code, .tokens { font-family: ui-monospace, monospace; font-size: 0.9em; overflow-wrap: anywhere; }
.right { color: var(--good); } .wrong { color: var(--bad); } .together { white-space: nowrap; }
.interval { opacity: 0.65; font-size: 0.85em; } .note { font-size: 0.9rem; opacity: 0.75; }
figure { margin: 0.8rem 0; } figcaption { font-size: 0.85rem; opacity: 0.75; }
svg { max-width: 100%; height: auto; }
details { margin: 0.6rem 0; } summary { cursor: pointer; }
.example { border-left: 3px solid var(--line); margin: 0.8rem 0; padding-left: 0.8rem; }
.example p { margin: 0.2rem 0; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0.3rem 0;
  font: 0.87rem/1.45 ui-monospace, monospace; }
mark { background: var(--call); color: inherit; border-radius: 3px; padding: 0 2px; }
mark.bad { background: var(--error); }
"""


class Html(str):
    """HTML already."""


def text(value: object) -> Html:
    """Anything, as HTML."""
    return value if isinstance(value, Html) else Html(html.escape(str(value)))


def page(title: str, about: str, sections: Iterable[Html]) -> str:
    """A whole page."""
    body = distinct("\n".join(sections))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{text(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f'<h1>{text(title)}</h1>\n<p class="about">{text(about)}</p>\n{body}\n</body>\n</html>\n'
    )


def distinct(body: str) -> str:
    """Pictures name their parts by a hash of what they show: equal ones get names of their own."""
    seen: Counter[str] = Counter()

    def renamed(match: re.Match[str]) -> str:
        svg, mark = match[0], match["mark"]
        seen[mark] += 1
        return svg if seen[mark] == 1 else svg.replace(f"{mark}-", f"{mark}-{seen[mark]}-")

    picture = r'<svg(?:(?!</svg>).)*?\bid="(?P<mark>[0-9a-f]{8})-.*?</svg>'
    return re.sub(picture, renamed, body, flags=re.DOTALL)


def section(title: str, *parts: Html) -> Html:
    """A heading with what belongs to it; nothing, if there is nothing."""
    inside = "\n".join(part for part in parts if part)
    return Html(f"<section>\n<h2>{text(title)}</h2>\n{inside}\n</section>" if inside else "")


def heading(title: object) -> Html:
    """Within a section."""
    return Html(f"<h3>{text(title)}</h3>")


def paragraph(words: object) -> Html:
    """Some words."""
    return Html(f"<p>{text(words)}</p>")


def note(words: object) -> Html:
    """How something was measured."""
    return Html(f'<p class="note">{text(words)}</p>')


def table(head: Sequence[object], rows: Iterable[Sequence[object]]) -> Html:
    """Numbers stand to the right."""
    top = "".join(f"<th>{text(cell)}</th>" for cell in head)
    lines = ["".join(cell_of(cell) for cell in row) for row in rows]
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    if not lines:
        return Html("")
    head_line = f"<thead><tr>{top}</tr></thead>" if head else ""
    return Html(f'<div class="wide"><table>{head_line}<tbody>\n{body}\n</tbody></table></div>')


def cell_of(value: object) -> str:
    """One cell."""
    if isinstance(value, float):
        return f'<td class="number">{value:g}</td>'
    if isinstance(value, int) and not isinstance(value, bool):
        return f'<td class="number">{value}</td>'
    return f"<td>{text(value)}</td>"


def figure(svg: str, caption: str) -> Html:
    """A picture with words below it."""
    return Html(f"<figure>{svg}<figcaption>{text(caption)}</figcaption></figure>" if svg else "")


def details(summary: object, *parts: Html) -> Html:
    """Something to be opened; nothing, if there is nothing in it."""
    inside = "\n".join(part for part in parts if part)
    return Html(f"<details><summary>{text(summary)}</summary>{inside}</details>" if inside else "")


def tokens(words: str, *, right: bool | None = None) -> Html:
    """Tokens in their own type, green or red where they are right or wrong."""
    kind = {None: "tokens", True: "tokens right", False: "tokens wrong"}[right]
    return Html(f'<span class="{kind}">{text(words)}</span>')
