"""Word problems whose structure is drawn, too, so that their kinds have no fixed number.

A story has one amount, or several that are compared with one another; they may be put together,
then change, and be shared out, packed, sold or spent in the end. `composed.txt` has what is told
of, and for each relation its sentences: in the story, as a step of the answer, and as the question.
All amounts are whole and at least 2, so that plurals are right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from importlib.resources import files

from curta.delegate.data import wording
from curta.delegate.data.draw import NAMES, Draw
from curta.delegate.data.example import Example
from curta.delegate.data.templates.engine import Template

CATEGORY = "composed"
TITLES = ("one_step", "two_steps", "three_steps", "four_steps")
TEXT = (files(__package__) / "composed.txt").read_text(encoding="utf-8")
FRAMES = [line.split(" | ") for line in TEXT.splitlines() if " | " in line and line[0] != "#"]
"""Who does what; the kind says what may follow: `keep` is what can be given away."""
RELATIONS = {
    title: {mark: re.findall(rf"^\{mark} (.*)", body, re.MULTILINE) for mark in ">!?"}
    for title, body in re.findall(r"^\[(.*)\]\n((?:[>!?] .*\n)*)", TEXT, re.MULTILINE)
}
ALONE = [title.split(": ") for title in RELATIONS if ": " in title]
TIMES = {k: f"{k} times" for k in range(2, 11)} | {2: "twice", 3: "three times", 4: "four times"}
PARTS = {2: "half", 3: "a third", 4: "a quarter", 5: "a fifth", 10: "a tenth"}
SORTS = ("red yellow", "big small", "light dark", "green brown", "good damaged", "cheap expensive")
WHEN = (
    ("on Monday", "on Tuesday"), ("in the morning", "in the afternoon"), ("in May", "in June"),
    ("last week", "this week"), ("before lunch", "after lunch"),
)  # fmt: skip
BOXES = ("bags", "boxes", "packets", "baskets", "cartons", "bowls", "drawers")
VERBS = "give gave, lose lost, use used, spend spent, share shared, sell sold, want wanted, get got"
BEGINNINGS = {
    "plain": "", "groups": "{g} * {x}", "days": "{g} * {x}", "sorts": "{x} + {y}",
    "twice": "{x} + {y}", "rest": "{sum} - {x}",
}  # fmt: skip
FIRST = {
    "keep": ("plain", "groups", "sorts", "rest"), "hold": ("plain", "groups", "sorts", "rest"),
    "do": ("plain", "rest"), "pass": ("plain", "rest"), "tell": ("plain", "rest"),
}  # fmt: skip
LAST = {
    "keep": ("change", "change", "sharing", "packing", "selling", "missing", "timing"),
    "hold": ("change", "change", "packing", "selling", "room", "timing"),
    "do": ("missing", "work"), "pass": ("missing",), "tell": (),
}  # fmt: skip
CHANGES = (("plain", "more"), ("plain", "less"), ("part", "less"), ("percent", "less"))
TRIVIAL = ("more", "fewer", "is more", "is fewer", "percent")
"""After one of these the difference of the two has been said."""


class OtherwiseError(Exception):
    """What was drawn makes no sense; another draw may."""


@dataclass
class Story:
    """What is told so far.

    amount: the last step's result, which is asked for
    label:  what there are so many of
    facts:  what is so from the beginning, and `then` what happens
    shape:  the relations in order
    loose:  the calculations before the last amount that does not depend on others
    """

    draw: Draw
    frame: list[str]
    things: str
    who: str = ""
    amount: int = 0
    label: str = ""
    question: str = ""
    aside: str = ""
    several: bool = False
    calls: int = 0
    loose: int = 0
    facts: list[str] = field(default_factory=list)
    then: list[str] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)
    shape: list[str] = field(default_factory=list)

    @property
    def past(self) -> bool:
        """Whether it is told in the past tense."""
        return ", did, " in self.frame[2]

    @property
    def within(self) -> str:
        """Where things are in a place."""
        return "on" if "shelf" in self.who or "tray" in self.who else "in"

    def number(self, low: int = 4) -> int:
        """One as short stories have them."""
        return max(low, wording.few(self.draw))

    def part(self, among: Iterator[int] | range | dict[int, str]) -> int:
        """A number by which the amount can be divided."""
        found = [k for k in among if self.amount % k == 0 and self.amount > k]
        if not found:
            raise OtherwiseError
        return self.draw.choose(*found)

    def below(self) -> int:
        """A number that can be taken from the amount, which stays above 1."""
        if self.amount < 4:
            raise OtherwiseError
        return self.draw.between(2, min(self.amount - 2, self.draw.choose(20, 100, self.amount)))

    def words(self) -> dict[str, object]:
        """What the sentences of relations have between braces."""
        verb, asking, base = self.frame[2].split(", ")
        forms = dict(each.split() for each in VERBS.split(", "))
        one = "" if self.several else "s"
        (friend,) = self.draw.some([each for each in NAMES if each not in self.who], 1)
        return {
            **{form: past if self.past else form + one for form, past in forms.items()},
            "who": self.who, "things": self.things, "n": self.amount, "friend": friend,
            "verb": verb, "asking": asking, "base": base, "doing": verb if self.past else base,
            "asked": "do" if self.several and not self.past else asking,
            "do": "do" if self.several else "does", "within": self.within,
            "did": "did" if self.past else "do" if self.several else "does",
            "have": "have" if self.several else "has",
            "need": "need" if self.several else "needs", "seller": self.who,
            "took": "took" if self.past else "takes", "gave": "gave" if self.past else "gives",
            "put": "puts", "label": self.label, "own": self.label or f"the {self.things}",
            "box": self.draw.choose(*BOXES),
            "later": self.draw.choose("Later", "Then", "After that,"),
            "goods": self.draw.choose("a present", "food", "books", "clothes", "a train ride"),
            "work": self.draw.choose("some work", "an old lamp", "washing cars", "a painting"),
        }  # fmt: skip

    def tell(self, relation: str, expression: str = "", late: bool = False, **more: object) -> int:
        """One relation: a fact, a step that computes the amount, and what would be asked."""
        words, texts = self.words() | more, RELATIONS[relation]
        said = {mark: self.draw.choose(*texts[mark] or [""]).format_map(words) for mark in texts}
        if said[">"]:
            (self.then if late else self.facts).append(upper(said[">"]))
        if expression:
            call = self.draw.calc(expression.format_map(words))
            value = Fraction(call.text)
            if value < 2 or value.denominator > 1:
                raise OtherwiseError
            self.amount, self.calls = int(value), self.calls + 1
            self.steps.append(upper(said["!"]).replace("#", call.said))
        self.question = said["?"]
        self.shape.append(relation)
        return self.amount


def upper(text: str) -> str:
    """A text whose sentences begin with capitals."""
    return re.sub(r"(?:^|(?<=\. ))[a-z]", lambda match: match[0].upper(), text)


def lower(text: str) -> str:
    """A sentence behind others, which begins with a name or not."""
    return text if re.split(r"\W", text)[0] in NAMES else text[:1].lower() + text[1:]


def first(story: Story, who: str, other: str) -> None:
    """Somebody's amount: as it is, in groups, day by day, of two sorts, or what another leaves."""
    draw, kind = story.draw, story.frame[0]
    hows = FIRST[kind] + ("days", "twice") * story.past
    how = draw.choose("plain", *hows)
    x, y, g = story.number(), story.number(), draw.between(2, 12)
    if story.things == "dollars" and how in ("groups", "sorts"):
        raise OtherwiseError
    if how in ("groups", "days") and draw.chance() < 0.4:
        g = draw.between(2, 60)
    if how == "rest" and how in story.shape:
        raise OtherwiseError
    if story.things == "hours" and how in ("days", "twice"):
        x, y = draw.between(2, 9), draw.between(2, 9)
    time = "day" if story.things == "hours" else draw.choose("day", "week", "month")
    one, two = draw.choose(*SORTS).split()
    early, after = draw.choose(*WHEN)
    story.who, story.amount = who, x
    story.tell(
        how, BEGINNINGS[how], x=x, y=y, g=g, sum=x + y, time=time, one=one, two=two, early=early,
        after=after, other=other,
    )  # fmt: skip
    named(story)


def named(story: Story) -> None:
    """What the amount is of."""
    verb, _, base = story.frame[2].split(", ")
    doing = base if story.several and not story.past else verb
    where = f"{story.within} {story.who}" if base == "hold" else f"that {story.who} {doing}"
    story.label = f"the {story.things} {where}"


def compared(story: Story, other: str) -> None:
    """Somebody else's amount, by the one before."""
    draw, n = story.draw, story.amount
    how = draw.choose(
        "more", "fewer", "times", "part", "percent", "is more", "is fewer", "is times"
    )
    if how in ("more", "is fewer"):
        story.tell(how, "{n} + {k}", k=story.number(2), other=other)
    elif how in ("fewer", "is more"):
        story.tell(how, "{n} - {k}", k=story.below(), other=other)
    elif how == "times":
        k = draw.choose(*TIMES)
        story.tell(how, f"{{n}} * {k}", times=TIMES[k], other=other)
    elif how == "percent":
        rate, more = 100 // story.part(range(2, 11, 1)), draw.choose("more", "fewer")
        if rate not in (10, 20, 25, 50):
            raise OtherwiseError
        change = story.tell("percent of", f"{{n}} * {rate} / 100", rate=rate)
        sign = "+" if more == "more" else "-"
        story.tell(how, f"{n} {sign} {change}", rate=rate, more=more, other=other)
    else:
        k = story.part(PARTS if how == "part" else range(2, 11))
        story.tell(how, f"{{n}} / {k}", part=PARTS.get(k), times=TIMES[k], other=other)
    story.who = other
    named(story)


def combined(story: Story, amounts: dict[str, int]) -> bool:
    """What several amounts come to; whether there can be more to tell."""
    how = story.draw.choose("together", "together", "difference", "last")
    if how == "together":
        story.who, story.several = " and ".join(", ".join(amounts).rsplit(", ", 1)), True
        story.tell(how, " + ".join(map(str, amounts.values())))
        named(story)
    elif how == "difference":
        (one, m), *_, (two, n) = amounts.items()
        products = sum(each in ("groups", "days") for each in story.shape)
        told_already = story.shape[-1] in TRIVIAL
        if products > 1 or (told_already if len(amounts) == 2 else story.shape[-1] in BEGINNINGS):
            raise OtherwiseError
        (low, small), (high, large) = sorted(((m, one), (n, two)))
        story.tell(how, f"{high} - {low}", small=small, large=large)
    elif story.shape[-1] in BEGINNINGS or story.loose:
        raise OtherwiseError  # what was computed before would have nothing to do with it
    return how != "difference"


def changed(story: Story) -> None:
    """Some go, or some come; what there is now."""
    draw, n, where = story.draw, story.amount, ""
    if story.things == "dollars":
        where = " dollars"
    elif story.frame[0] == "hold":
        where = " in it"
    size, how = draw.choose(*CHANGES)
    if how == "more":
        story.tell(f"gain{where}", "{n} + {k}", late=True, k=story.number(2))
    elif size == "plain":
        k = story.below()
        story.tell(f"less{where}", "{n} - {k}", late=True, k=k, some=k)
    else:
        k = story.part(PARTS)
        said = PARTS[k] if size == "part" else f"{100 // k}%"
        if 100 % k:
            raise OtherwiseError
        if size == "part":
            gone = story.tell("part of", f"{{n}} / {k}", part=said)
        else:
            gone = story.tell("percent of", f"{{n}} * {100 // k} / 100", rate=100 // k)
        story.amount = n
        story.tell(f"less{where}", f"{n} - {gone}", late=True, some=f"{said} of the")
    story.label = (
        f"all the {story.things}" if how == "more" else f"the {story.things} that are left"
    )


def ended(story: Story, how: str) -> None:
    """What is done with the amount in the end; selling makes it one of dollars."""
    draw, money = story.draw, story.things == "dollars"
    is_changed = any(each.split()[0] in ("less", "gain") for each in story.shape)
    own = f"all of their {story.things}" if story.several else f"the {story.things}"
    if is_changed or story.frame[0] == "hold":
        own = story.label
    if how in ("sharing", "packing"):
        k = story.part(range(2, 25))
        among = draw.choose("friends", "children", "cousins", "classmates", "neighbours")
        relation = "tickets" if how == "packing" and money else how
        story.tell(relation, "{n} / {k}", late=True, k=k, among=among, own=own)
    elif how == "selling" and not money:
        seller = story.who if story.frame[0] == "keep" else draw.name()
        story.who, story.several = seller, story.several and story.frame[0] == "keep"
        story.tell(how, "{n} * {k}", late=True, k=draw.between(2, 25), own=own)
        tense = "has, did, have" if story.past else "has, does, have"
        story.frame, story.things, story.label = (
            ["keep", "people", tense, "dollars"],
            "dollars",
            "all of the dollars",
        )
    elif how in ("missing", "room"):
        if money:
            how = "missing dollars"
        elif how == "missing" and (is_changed or not story.past):
            how = "missing to have"
        what = draw.choose("bicycle", "guitar", "tent", "telescope", "drum", "kayak", "desk")
        goal = story.amount + story.number(2)
        story.tell(how, "{goal} - {n}", late=True, goal=goal, what=what)
    elif how in ("work", "timing") and not money:
        what = draw.choose("count", "weigh", "check", "label", "draw")
        story.tell(how, "{n} * {k}", late=True, k=draw.between(2, 30), what=what)
    else:
        raise OtherwiseError


def alone(draw: Draw) -> Story:
    """A relation that is a story of its own."""
    frame = draw.choose(*(frame for frame in FRAMES if "keep | people | has" in " | ".join(frame)))
    story = Story(draw, frame, draw.choose(*frame[3].split(", ")), draw.name())
    title, expression = draw.choose(*ALONE)
    x, y, g = story.number(), story.number(), draw.between(2, 12)
    one, two = draw.choose(*SORTS).split()
    if story.things == "dollars":
        raise OtherwiseError
    story.tell(f"{title}: {expression}", expression, x=x, y=y, g=g, sum=x + y,
               product=story.number(2) * g, one=one, two=two, gave="gave", took="took")  # fmt: skip
    aside(story, [each for each in NAMES if each != story.who][: draw.between(1, 9)])
    return story


def told(draw: Draw, steps: int) -> Story:
    """One of about so many calculations."""
    if steps == 1 and draw.chance() < 0.4:
        return alone(draw)
    frame = draw.choose(*FRAMES)
    story = Story(draw, frame, draw.choose(*frame[3].split(", ")))
    people = draw.some(NAMES if frame[1] == "people" else frame[1].split(", "), 4)
    amounts: dict[str, int] = {}
    for who in people[: min(steps + 1, draw.choose(1, 1, 2, 2, 3))]:
        if amounts and draw.chance() < 0.6:
            compared(story, who)
        else:
            story.loose = story.calls
            first(story, who, people[-1])
        amounts[who] = story.amount
    if steps == 1 and len(amounts) > 2:
        raise OtherwiseError
    spare = people[len(amounts) : None if "rest" not in story.shape else -1]
    aside(story, spare)
    if len(amounts) > 1 and not combined(story, amounts):
        return story
    if draw.chance() < 0.4:
        draw.random.shuffle(story.facts)
    while story.calls < steps and LAST[story.frame[0]]:
        how = draw.choose(*LAST[story.frame[0]])
        if how == "change":
            changed(story)
            continue
        ended(story, how)
        if how != "selling":
            break
    return story


def aside(story: Story, others: list[str]) -> None:
    """Perhaps a fact of no concern."""
    draw, verb, n = story.draw, story.frame[2].split(", ")[0], story.number()
    more = [each for each in story.frame[3].split(", ") if each != story.things]
    texts = [
        f"It is {draw.between(2, 35)} degrees outside.",
        f"It was {draw.between(2, 12)} o'clock.",
        f"{draw.name()} is {draw.between(5, 80)} years old.",
        *(f"{other} {verb} {n} {story.things}." for other in others),
        *(f"{story.who} also {verb} {n} {each}." for each in more[:4]),
    ]
    story.aside = upper(draw.choose(*texts)) if draw.chance() < 0.4 else ""


def question(story: Story) -> str:
    """The story and what it asks, its sentences joined in one way or another."""
    draw, facts, asked = story.draw, [*story.facts, *story.then], story.question
    if len(facts) > 1 and not story.then and facts[-1].count(".") == 1 and draw.chance() < 0.2:
        asked = f"If {lower(facts.pop())[:-1]}, {lower(asked)}"
    if len(story.facts) > 1 and len(facts) > 1 and draw.chance() < 0.4:
        one, two, *rest = facts
        if one.split()[:2] != two.split()[:2] and ", and" not in one + two:
            facts = [f"{one[:-1]}{draw.choose(' and ', ', and ', '; ')}{lower(two)}", *rest]
    if story.aside:
        place = draw.between(0, max(1, len(facts) - len(story.then)))
        facts.insert(place, story.aside if place else story.aside.replace(" also ", " "))
    return wording.asked(draw, " ".join([*facts, upper(asked)]))


@dataclass(frozen=True)
class Composed(Template):
    """Problems of so many calculations."""

    calls: int = 1

    def story(self, draw: Draw) -> Story:
        """One that has as many."""
        while True:
            try:
                story = told(draw, self.calls)
            except OtherwiseError:
                continue
            if story.calls == self.calls:
                return story

    def example(self, draw: Draw) -> Example:
        story = self.story(draw)
        value = str(story.amount)
        answer = f"{' '.join(story.steps)}\nThe answer is {value}."
        return Example(question(story), answer, value, self.category, self.name)


def templates() -> Iterator[Template]:
    """A template for each number of calculations."""
    for calls, title in enumerate(TITLES, 1):
        yield Composed(f"{CATEGORY}/{title}", CATEGORY, False, {}, (), calls)
