"""Pieces of a page in one file, light or dark as the reader's screen is."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

STYLE = """
:root { color-scheme: light dark; --line: #8884; --call: #3b7dd833; --bad: #c2452d44; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem;
  background: Canvas; color: CanvasText; }
h1 { font-size: 1.6rem; margin-bottom: 0; }
h2 { font-size: 1.15rem; margin-top: 2.2rem; border-bottom: 1px solid var(--line); }
h3 { font-size: 1rem; margin-bottom: 0.3rem; }
p.about, .note { opacity: 0.75; } p.about { margin-top: 0.2rem; } .note { font-size: 0.9rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: 0.6rem 0; }
th, td { padding: 0.2rem 1rem 0.2rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line); font-variant-numeric: tabular-nums; }
td + td { white-space: nowrap; } th { font-weight: 600; }
.interval { opacity: 0.65; font-size: 0.85em; }
figure { margin: 0.8rem 0; } figcaption { font-size: 0.85rem; opacity: 0.75; }
svg { max-width: 100%; height: auto; }
details { margin: 0.5rem 0; } summary { cursor: pointer; }
.example { border-left: 3px solid var(--line); margin: 0.8rem 0; padding-left: 0.8rem; }
.example p { margin: 0.2rem 0; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0.3rem 0;
  font: 0.87rem/1.45 ui-monospace, monospace; }
mark { background: var(--call); color: inherit; border-radius: 3px; padding: 0 2px; }
mark.bad { background: var(--bad); }
"""


class Html(str):
    """What is HTML already."""


def text(value: object) -> Html:
    """Anything, as HTML."""
    return value if isinstance(value, Html) else Html(html.escape(str(value)))


def page(title: str, about: str, sections: Iterable[Html]) -> str:
    """A whole page that needs no other file."""
    body = "\n".join(sections)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{text(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f'<h1>{text(title)}</h1>\n<p class="about">{text(about)}</p>\n{body}\n</body>\n</html>\n'
    )


def section(title: str, *parts: Html) -> Html:
    """A heading with what belongs to it; nothing if there is nothing."""
    inside = "\n".join(part for part in parts if part)
    return Html(f"<section>\n<h2>{text(title)}</h2>\n{inside}\n</section>" if inside else "")


def heading(title: object) -> Html:
    """Within a section."""
    return Html(f"<h3>{text(title)}</h3>")


def note(words: object) -> Html:
    """How something was measured."""
    return Html(f'<p class="note">{text(words)}</p>')


def table(head: Sequence[object], rows: Iterable[Sequence[object]]) -> Html:
    """Nothing without rows."""
    lines = ["".join(f"<td>{text(cell)}</td>" for cell in row) for row in rows]
    if not lines:
        return Html("")
    top = "".join(f"<th>{text(cell)}</th>" for cell in head)
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    return Html(
        f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>\n{body}\n'
        "</tbody></table></div>"
    )


def figure(svg: str, caption: str) -> Html:
    """A picture with words below it."""
    return Html(f"<figure>{svg}<figcaption>{text(caption)}</figcaption></figure>" if svg else "")


def details(summary: object, *parts: Html) -> Html:
    """Something to be opened."""
    inside = "\n".join(part for part in parts if part)
    return Html(
        f"<details><summary>{text(summary)}</summary>\n{inside}\n</details>" if inside else ""
    )
