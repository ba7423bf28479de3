"""Word problems whose structure is drawn, too, so that their kinds have no fixed number.

A story has one amount, or several that are compared with one another; they may be put together,
then change, and be shared out, packed, sold or spent in the end. `composed.txt` has what is told
of, and for each relation its sentences: in the story, as a step of the answer, and as the question.
All amounts are whole and at least 2, so that plurals are right.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from importlib.resources import files
from typing import Any

from curta.delegate.data.draw import NAMES, Draw, OtherwiseError, facts
from curta.delegate.data.example import Example
from curta.delegate.data.templates.engine import Template

CATEGORY = "composed"
TITLES = ("one_step", "two_steps", "three_steps", "four_steps")
TEXT = (files(__package__) / "composed.txt").read_text(encoding="utf-8")
FRAMES = [line.split(" | ") for line in TEXT.splitlines() if " | " in line and line[0] != "#"]
"""Who does what; the kind says what may follow: `keep` is what can be given away."""
FOUND = re.findall(r"^\[(.*?)(?:: (.*))?\]\n((?:[>!?] .*\n)*)", TEXT, re.MULTILINE)
CALCULATIONS = {title: calculation for title, calculation, _ in FOUND}
RELATIONS = {
    title: {mark: re.findall(rf"^\{mark} (.*)", body, re.MULTILINE) for mark in ">!?"}
    for title, _, body in FOUND
}
ALONE = [title for title in RELATIONS if title.startswith("alone")]
TIMES = {k: f"{k} times" for k in range(2, 11)} | {2: "twice", 3: "three times", 4: "four times"}
PARTS = {2: "half", 3: "a third", 4: "a quarter", 5: "a fifth", 10: "a tenth"}
LISTS = facts()
VERBS = "give gave, lose lost, use used, spend spent, share shared, sell sold, want wanted, get got"
BEGINNINGS = ("plain", "groups", "days", "sorts", "twice", "rest")
FIRST = {
    **dict.fromkeys(("keep", "hold"), ("plain", "plain", "groups", "sorts", "rest")),
    **dict.fromkeys(("do", "pass", "tell"), ("plain", "plain", "rest")),
}
LAST = {
    "keep": ("change", "change", "sharing", "packing", "selling", "missing", "timing"),
    "hold": ("change", "change", "packing", "selling", "room", "timing"),
    "do": ("missing", "work"), "pass": ("missing",), "tell": (),
}  # fmt: skip
COMPARED = ("more", "fewer", "times", "part", "percent", "is more", "is fewer", "is times")
TRIVIAL = ("more", "fewer", "is more", "is fewer", "percent")
"""After one of these the difference of the two has been said."""


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
    def money(self) -> bool:
        """Whether it is about that."""
        return self.things == "dollars"

    @property
    def within(self) -> str:
        """Where things are in a place."""
        return "on" if "shelf" in self.who or "tray" in self.who else "in"

    def number(self, low: int = 4) -> int:
        """One as short stories have them."""
        return max(low, self.draw.few())

    def part(self, among: Iterable[int]) -> int:
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
        one, do = ("", "do") if self.several else ("s", "does")
        (friend,) = self.draw.some([each for each in NAMES if each not in self.who], 1)
        return {
            **{
                form: past if self.past else form + one
                for form, past in (each.split() for each in VERBS.split(", "))
            },
            "who": self.who, "things": self.things, "n": self.amount, "friend": friend,
            "verb": verb, "asking": asking, "base": base, "doing": verb if self.past else base,
            "asked": "do" if self.several and not self.past else asking,
            "do": do, "did": "did" if self.past else do, "need": f"need{one}",
            "have": "have" if self.several else "has", "within": self.within,
            "took": "took" if self.past else "takes", "gave": "gave" if self.past else "gives",
            "label": self.label, "box": self.draw.choose(*LISTS.BOXES),
            "later": self.draw.choose("Later", "Then", "After that,"),
            "goods": self.draw.choose(*LISTS.GOODS), "work": self.draw.choose(*LISTS.PAID),
        }  # fmt: skip

    def tell(self, relation: str, late: bool = False, **more: object) -> int:
        """One relation: a fact, a step that computes the amount, and what would be asked."""
        words, texts = self.words() | more, RELATIONS[relation]
        said = {mark: self.draw.choose(*texts[mark] or [""]).format_map(words) for mark in texts}
        if said[">"]:
            (self.then if late else self.facts).append(upper(said[">"]))
        if calculation := CALCULATIONS[relation]:
            call = self.draw.calc(calculation.format_map(words))
            value = Fraction(call.text)
            if value < 2 or value.denominator > 1:
                raise OtherwiseError
            self.amount = int(value)
            self.steps.append(upper(said["!"]).replace("#", call.said))
        self.question = said["?"]
        self.shape.append(relation)
        return self.amount

    def name(self) -> None:
        """Say what the amount is of."""
        verb, _, base = self.frame[2].split(", ")
        doing = base if self.several and not self.past else verb
        where = f"{self.within} {self.who}" if base == "hold" else f"that {self.who} {doing}"
        self.label = f"the {self.things} {where}"


def upper(text: str) -> str:
    """A text whose sentences begin with capitals."""
    return re.sub(r"(?:^|(?<=\. ))[a-z]", lambda match: match[0].upper(), text)


def lower(text: str) -> str:
    """A sentence behind others, which begins with a name or not."""
    return text if re.split(r"\W", text)[0] in NAMES else text[:1].lower() + text[1:]


def first(story: Story, who: str, other: str) -> None:
    """Somebody's amount: as it is, in groups, day by day, of two sorts, or what another leaves."""
    draw, hours = story.draw, story.things == "hours"
    how = draw.choose(*FIRST[story.frame[0]], *("days", "twice") * story.past)
    x, y, g = story.number(), story.number(), draw.between(2, 12)
    if story.money and how in ("groups", "sorts"):
        raise OtherwiseError
    if how in ("groups", "days") and draw.chance() < 0.4:
        g = draw.between(2, 60)
    if how == "rest" and how in story.shape:
        raise OtherwiseError
    if hours and how in ("days", "twice"):
        x, y = draw.between(2, 9), draw.between(2, 9)
    time = "day" if hours else draw.choose("day", "week", "month")
    one, two = draw.choose(*LISTS.SORTS).split()
    early, after = draw.choose(*LISTS.WHEN)
    story.who, story.amount = who, x
    story.tell(
        how, x=x, y=y, g=g, sum=x + y, time=time, one=one, two=two, early=early, after=after,
        other=other,
    )  # fmt: skip
    story.name()


def compared(story: Story, other: str) -> None:
    """Somebody else's amount, by the one before."""
    draw, more = story.draw, dict[str, Any]()
    how = draw.choose(*COMPARED)
    if how in ("more", "is fewer"):
        k = story.number(2)
    elif how in ("fewer", "is more"):
        k = story.below()
    elif how == "times":
        k = draw.choose(*TIMES)
    elif how == "percent":
        rate = 100 // story.part(range(2, 11))
        word, sign = draw.choose(("more", "+"), ("fewer", "-"))
        if rate not in (10, 20, 25, 50):
            raise OtherwiseError
        more = {"n": story.amount, "rate": rate, "more": word, "sign": sign}
        k = story.tell("percent of", rate=rate)
    else:
        k = story.part(PARTS if how == "part" else range(2, 11))
    story.tell(how, k=k, part=PARTS.get(k), times=TIMES.get(k), other=other, **more)
    story.who = other
    story.name()


def combined(story: Story, amounts: dict[str, int]) -> bool:
    """What several amounts come to; whether there can be more to tell."""
    how = story.draw.choose("together", "together", "difference", "last")
    if how == "together":
        story.who, story.several = " and ".join(", ".join(amounts).rsplit(", ", 1)), True
        story.tell(how, sum=" + ".join(map(str, amounts.values())))
        story.name()
    elif how == "difference":
        (one, m), *_, (two, n) = amounts.items()
        products = sum(each in ("groups", "days") for each in story.shape)
        told_already = story.shape[-1] in (TRIVIAL if len(amounts) == 2 else BEGINNINGS)
        if products > 1 or told_already:
            raise OtherwiseError
        (low, small), (high, large) = sorted(((m, one), (n, two)))
        story.tell(how, high=high, low=low, small=small, large=large)
    elif story.shape[-1] in BEGINNINGS or story.loose:
        raise OtherwiseError  # what was computed before would have nothing to do with it
    return how != "difference"


def changed(story: Story) -> None:
    """Some go, or some come; what there is now."""
    where = " dollars" if story.money else " in it" if story.frame[0] == "hold" else ""
    how = story.draw.choose("gain", "less", "part of", "percent of")
    if how == "gain":
        story.tell(f"gain{where}", late=True, k=story.number(2))
        story.label = f"all the {story.things}"
        return
    n = story.amount
    if how == "less":
        k = story.below()
        some = str(k)
    else:
        k = story.part(PARTS)
        if 100 % k:
            raise OtherwiseError
        some = f"{PARTS[k] if how == 'part of' else f'{100 // k}%'} of the"
        k = story.tell(how, k=k, part=PARTS[k], rate=100 // k)
    story.tell(f"less{where}", late=True, n=n, k=k, some=some)
    story.label = f"the {story.things} that are left"


def ended(story: Story, how: str) -> None:
    """What is done with the amount in the end; selling makes it one of dollars."""
    draw, keeps = story.draw, story.frame[0] == "keep"
    is_changed = any(each.split()[0] in ("less", "gain") for each in story.shape)
    own = f"all of their {story.things}" if story.several else f"the {story.things}"
    if is_changed or story.frame[0] == "hold":
        own = story.label
    if how in ("sharing", "packing"):
        k = story.part(range(2, 25))
        among = draw.choose(*LISTS.SHARERS)
        relation = "tickets" if how == "packing" and story.money else how
        story.tell(relation, late=True, k=k, among=among, own=own)
    elif how in ("missing", "room"):
        if story.money:
            how = "missing dollars"
        elif how == "missing" and (is_changed or not story.past):
            how = "missing to have"
        what = draw.choose(*LISTS.WISHES)
        goal = story.amount + story.number(2)
        story.tell(how, late=True, goal=goal, what=what)
    elif story.money:
        raise OtherwiseError
    elif how == "selling":
        story.who, story.several = story.who if keeps else draw.name(), story.several and keeps
        story.tell(how, late=True, k=draw.between(2, 25), own=own)
        tense = "has, did, have" if story.past else "has, does, have"
        story.frame, story.things = ["keep", "people", tense, "dollars"], "dollars"
        story.label = "all of the dollars"
    else:  # work or timing
        what = draw.choose("count", "weigh", "check", "label", "draw")
        story.tell(how, late=True, k=draw.between(2, 30), what=what)


def alone(draw: Draw) -> Story:
    """A relation that is a story of its own."""
    frame = draw.choose(*(frame for frame in FRAMES if "keep | people | has" in " | ".join(frame)))
    story = Story(draw, frame, draw.choose(*frame[3].split(", ")), draw.name())
    title = draw.choose(*ALONE)
    x, y, g = story.number(), story.number(), draw.between(2, 12)
    one, two = draw.choose(*LISTS.SORTS).split()
    if story.money:
        raise OtherwiseError
    product = story.number(2) * g
    story.tell(title, x=x, y=y, g=g, sum=x + y, product=product, one=one, two=two)
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
            story.loose = len(story.steps)
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
    while len(story.steps) < steps and LAST[story.frame[0]]:
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
    return draw.asked(" ".join([*facts, upper(asked)]))


@dataclass(frozen=True)
class Composed(Template):
    """Problems of so many calculations."""

    calls: int = 1

    def example(self, draw: Draw) -> Example:
        story = told(draw, self.calls)
        if len(story.steps) != self.calls:
            raise OtherwiseError
        value = str(story.amount)
        answer = f"{' '.join(story.steps)}\nThe answer is {value}."
        return Example(question(story), answer, value, self.category, self.name)


def templates() -> Iterator[Template]:
    """A template for each number of calculations."""
    for calls, title in enumerate(TITLES, 1):
        yield Composed(f"{CATEGORY}/{title}", CATEGORY, test=False, calls=calls)
