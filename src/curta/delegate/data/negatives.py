"""Questions that need no calculator, with answers that make no call.

A good third of them are lures: they have numbers in them, and still nothing is to be computed.
"""

from __future__ import annotations

from curta.delegate.data import facts
from curta.delegate.data.draw import Draw, Written
from curta.delegate.data.templates.strings import WORDS

CATEGORY = "negative"

PLACES = ("the library", "the town hall", "the clinic", "the museum", "the hotel", "the school")
THINGS = ("meeting", "concert", "workshop", "dinner", "rehearsal", "interview", "picnic", "lesson")


def article(word: str) -> str:
    """A word with a or an."""
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


def asked(draw: Draw, question: str) -> str:
    """A question as it is, or with a word before or behind it."""
    before = draw.choose("", "", "", "Hi! ", "Hello. ", "A quick question. ", "Please help me. ")
    after = draw.choose("", "", "", " Thank you!", " Thanks.", " A short answer will do.")
    if question[-1] not in "?.":
        return question
    return f"{before}{question}{after}"


def capital(draw: Draw) -> Written:
    country, city = draw.choose(*facts.CAPITALS)
    said = draw.choose(city, draw.choose(*facts.CAPITALS)[1])
    question = draw.choose(
        f"What is the capital of {country}?",
        f"Which city is the capital of {country}?",
        f"Name the capital city of {country}.",
        f"I am doing a geography quiz. What's {country}'s capital?",
        f"capital of {country}",
        f"Is {said} the capital of {country}?",
    )
    if question.startswith("Is "):
        verdict = "Yes" if said == city else "No"
        answer = f"{verdict}, {city} is the capital of {country}."
        return draw.written(asked(draw, question), answer, None)
    answer = draw.choose(f"The capital of {country} is {city}.", f"It is {city}.", f"{city}.")
    return draw.written(asked(draw, question), answer, None)


def author(draw: Draw) -> Written:
    book, who = draw.choose(*facts.BOOKS)
    question = draw.choose(
        f'Who wrote "{book}"?',
        f"Who is the author of {book}?",
        f"By whom is the work called {book}?",
        f"{book}: who wrote it?",
        f'A friend lent me "{book}". Do you know who the author is?',
    )
    answer = draw.choose(f'"{book}" was written by {who}.', f"It is by {who}.", f"{who} wrote it.")
    return draw.written(asked(draw, question), answer, None)


def definition(draw: Draw) -> Written:
    word, meaning = draw.choose(*facts.MEANINGS)
    question = draw.choose(
        f'What does "{word}" mean?',
        f"Define {word}.",
        f"Explain the word {word} in one sentence.",
        f"What is the meaning of {word}?",
        f"I keep seeing the word {word}. What does it stand for?",
        f"meaning of {word}",
    )
    answer = draw.choose(f'"{word.capitalize()}" means {meaning}.', f"It means {meaning}.")
    return draw.written(asked(draw, question), answer, None)


def opposite(draw: Draw) -> Written:
    one, other = draw.choose(*facts.OPPOSITES)
    question = draw.choose(
        f"What is the opposite of {one}?",
        f"Give me an antonym of '{one}'.",
        f"Which word means the opposite of {one}?",
        f"Opposite of {one}?",
        f"I need a word that is the reverse of '{one}' for a poem. Any idea?",
    )
    answer = draw.choose(f"The opposite is {other}.", f'An antonym of "{one}" is "{other}".')
    return draw.written(asked(draw, question), answer, None)


def translation(draw: Draw) -> Written:
    english = draw.choose(*facts.PHRASES)
    language = draw.choose(*facts.LANGUAGES)
    said = facts.PHRASES[english][facts.LANGUAGES.index(language)]
    question = draw.choose(
        f'How do you say "{english}" in {language}?',
        f"Translate '{english}' into {language}.",
        f'What is "{english}" in {language}?',
        f'I am travelling soon. What is the {language} for "{english}"?',
        f'{language} for "{english}", please.',
    )
    answer = draw.choose(f'In {language} it is "{said}".', f'"{said}"', f'You say "{said}".')
    return draw.written(asked(draw, question), answer, None)


def advice(draw: Draw) -> Written:
    goal, tips = draw.choose(*facts.ADVICE)
    whom = draw.choose("I", "a student", "my brother", "a beginner", "an older person", "we")
    question = draw.choose(
        f"How can {whom} {goal}?",
        f"What could {whom} do to {goal}?",
        f"Give me some tips: how can {whom} {goal}?",
        f"Please list a few ways in which {whom} can {goal}.",
        f"Any advice on how {whom} could {goal}?",
    )
    chosen = draw.some(tips, 3)
    answer = draw.choose(
        "Here are some ideas:\n" + "\n".join(f"- {tip}" for tip in chosen),
        " ".join(chosen),
    )
    return draw.written(question, answer, None)


def comparison(draw: Draw) -> Written:
    one, other, difference = draw.choose(*facts.DIFFERENCES)
    if draw.random.random() < 0.5:
        one, other = other, one
    question = draw.choose(
        f"What is the difference between {one} and {other}?",
        f"How do I tell {one} from {other}?",
        f"Compare {one} with {other} in a sentence.",
        f"People mix up {one} and {other}. How do they differ?",
        f"Explain briefly how {one} differs from {other}.",
    )
    return draw.written(asked(draw, question), difference, None)


def past_tense(draw: Draw) -> Written:
    verb, past = draw.choose(*facts.PAST)
    question = draw.choose(
        f'What is the past tense of "{verb}"?',
        f"Put the verb '{verb}' into the simple past.",
        f"Is it '{verb.rstrip('e')}ed' or something else in the past tense of '{verb}'?",
        f'Simple past of "{verb}"?',
        f"English homework: how does '{verb}' change when it happened yesterday?",
    )
    answer = draw.choose(
        f'The past tense is "{past}".', f'The simple past of "{verb}" is "{past}".'
    )
    return draw.written(asked(draw, question), answer, None)


def young_animal(draw: Draw) -> Written:
    parent, young = draw.choose(*facts.YOUNG)
    question = draw.choose(
        f"What is a young {parent} called?",
        f"Which word names the young of {article(parent)}?",
        f"My daughter asks what you call a baby {parent}. What should I say?",
        f"Name for a baby {parent}?",
        f"In English, how do we call the young of {article(parent)}?",
    )
    answer = draw.choose(
        f"It is called {article(young)}.", f"A young {parent} is {article(young)}."
    )
    return draw.written(asked(draw, question), answer, None)


def explanation(draw: Draw) -> Written:
    what, because = draw.choose(*facts.REASONS)
    whom = draw.choose("a child", "my class", "a curious friend", "a visitor", "my grandmother")
    question = draw.choose(
        f"Why {what}?",
        f"How would you answer {whom} who asks: why {what}?",
        f"Can you explain to {whom} in simple words: why {what}?",
        f"A question from {whom}: why {what}?",
        f"In short, why {what}?",
    )
    return draw.written(asked(draw, question), because, None)


def summary(draw: Draw) -> Written:
    who, thing = draw.name(), draw.choose(*THINGS)
    cause = draw.choose("the rain", "a late train", "a cold", "a lost key", "a strike")
    place = draw.choose(*PLACES)
    text = (
        f"{who} had looked forward to the {thing} at {place} all week. Then {cause} got in the "
        "way, and it was put off."
    )
    question = draw.choose(
        f"Summarise in one sentence: {text}",
        f"What happened here, in short? {text}",
        f"{text} Please sum that up.",
        f"Shorten this text: {text}",
    )
    answer = draw.choose(
        f"{who}'s {thing} at {place} was put off because of {cause}.",
        f"Because of {cause}, the {thing} at {place} was put off.",
    )
    return draw.written(question, answer, None)


def small_talk(draw: Draw) -> Written:
    who, thing = draw.name(), draw.choose(*THINGS)
    feeling, reply = draw.choose(
        ("nervous", "That is quite normal. I hope it goes well!"),
        ("happy", "That is lovely to hear. Enjoy it!"),
        ("tired", "Try to get a little rest before it. Good luck!"),
        ("excited", "How nice! Have a great time."),
        ("unsure", "Take it step by step, and ask for help if you need it."),
    )
    question = draw.choose(
        f"Hi, I'm {who}. I feel {feeling} about the {thing} tomorrow.",
        f"Hello! {who} here. There is {article(thing)} this evening and I'm {feeling}.",
        f"My name is {who} and I am {feeling} because of my {thing}.",
        f"Good morning! It's {who}. Today is the {thing}, and I'm a bit {feeling}.",
    )
    return draw.written(question, draw.choose(f"Hello {who}! {reply}", reply), None)


def polite_message(draw: Draw) -> Written:
    who, whom = draw.names(2)
    thing, place = draw.choose(*THINGS), draw.choose(*PLACES)
    question = draw.choose(
        f"Write a note from {who} to {whom}, saying sorry for missing the {thing} at {place}.",
        f"Help {who} apologise to {whom} in two lines. The {thing} at {place} was forgotten.",
        f"{who} did not come to the {thing} at {place}. Draft an apology to {whom}.",
        f"Apology needed: {who} missed {whom}'s {thing} at {place}.",
    )
    answer = draw.choose(
        f"Dear {whom}, I am very sorry that I missed the {thing} at {place}. I hope we can meet "
        f"soon. Best wishes, {who}",
        f"Hi {whom}, I'm sorry I wasn't at {place} for the {thing}. Please let me make up for it. "
        f"{who}",
    )
    return draw.written(question, answer, None)


def alphabetical(draw: Draw) -> Written:
    words = draw.some(WORDS, draw.between(3, 5))
    said = ", ".join(words)
    question = draw.choose(
        f"Put these words in alphabetical order: {said}",
        f"Sort from A to Z: {said}.",
        f"In which order do {said} stand in a dictionary?",
        f"Alphabetise this list, please: {said}",
    )
    ordered = ", ".join(sorted(words))
    answer = draw.choose(f"In alphabetical order: {ordered}.", f"{ordered.capitalize()}.")
    return draw.written(question, answer, None)


def odd_one_out(draw: Draw) -> Written:
    kind, strange = draw.some(list(facts.GROUPS), 2)
    wrong = draw.choose(*facts.GROUPS[strange])
    words = [*draw.some(facts.GROUPS[kind], 3), wrong]
    said = ", ".join(draw.some(words, 4))
    question = draw.choose(
        f"Which word does not belong: {said}?",
        f"Find the odd one out: {said}.",
        f"One of these is of another kind. Which? {said}",
        f"{said}: which of them is the odd one?",
    )
    answer = (
        f"The odd one out is {wrong}: it is {article(strange)}, while each of the others is "
        f"{article(kind)}."
    )
    return draw.written(asked(draw, question), answer, None)


def sentiment(draw: Draw) -> Written:
    place = draw.choose(*PLACES)
    said, mood = draw.choose(
        ("The staff were kind and everything was spotless", "positive"),
        ("A wonderful afternoon, and we will surely be back", "positive"),
        ("It was even better than my friends had said", "positive"),
        ("Nobody helped us and the place was filthy", "negative"),
        ("A boring visit and a waste of a sunny day", "negative"),
        ("I was very disappointed and left early", "negative"),
    )
    review = f"{draw.name()} about {place}: {said}."
    question = draw.choose(
        f"Is this review positive or negative? {review}",
        f"Positive or negative: {review}",
        f"Tell me the mood of this comment. {review}",
        f"{review} Does that sound pleased or not?",
    )
    pleased = "pleased" if mood == "positive" else "displeased"
    answer = draw.choose(f"It is {mood}.", f"The review is {mood}: the visitor was {pleased}.")
    return draw.written(asked(draw, question), answer, None)


def phone_number(draw: Draw) -> Written:
    who, number = draw.name(), f"555-{draw.between(0, 9999):04d}"
    place = draw.choose(*PLACES)
    question = draw.choose(
        f"{who}'s phone number is {number}. Which number should I call to reach {who}?",
        f"Please repeat the number of {place} for me: {number}.",
        f"I wrote down {number} for {who}. What number did I write down?",
        f"My contacts: {place} {number}, {who} unknown. What is the number of {place}?",
    )
    answer = draw.choose(f"The number is {number}.", f"It is {number}.", f"{number}")
    return draw.written(question, answer, None)


def year_of_event(draw: Draw) -> Written:
    year, did, who = draw.choose(*facts.HISTORY)
    question = draw.choose(
        f"In {year}, who {did}?",
        f"Who {did} in {year}?",
        f"History quiz for {year}: who {did}?",
        f"Do you remember who {did}? It was in {year}.",
        f"My textbook has a chapter on the time around {year}. Who {did} in {year}?",
    )
    return draw.written(
        asked(draw, question), draw.choose(f"It was {who}.", f"In {year}, {who} {did}."), None
    )


def shared_secret(draw: Draw) -> Written:
    what, code = draw.choose("PIN", "door code", "bank code", "password"), draw.between(1000, 9999)
    whom = draw.choose("a colleague", "somebody on the phone", "a stranger", "the whole group")
    question = draw.choose(
        f"My {what} is {code}. Is it safe to share it with {whom}?",
        f"Should I tell {whom} that my {what} is {code}?",
        f"{whom.capitalize()} wants my {what}, which is {code}. What should I do?",
        f"Is {code} fine as a {what} if I give it to {whom}?",
    )
    answer = draw.choose(
        f"No, keep your {what} to yourself. If somebody knows it, change it.",
        f"Better not. A {what} should stay secret, so do not share it with {whom}.",
    )
    return draw.written(question, answer, None)


def room(draw: Draw) -> Written:
    thing, place, number = draw.choose(*THINGS), draw.choose(*PLACES), draw.between(101, 899)
    street = draw.choose("Mill Lane", "Station Road", "Harbour Street", "Elm Avenue")
    house = draw.between(2, 180)
    question = draw.choose(
        f"The {thing} is in room {number} of {place}, {house} {street}. Which room do I go to?",
        f"Room {number} at {place} is booked for the {thing}. Where is it?",
        f"We meet at {place}, {house} {street}, room {number}. In which room is the {thing}?",
        f"I have to be in room {number} of {place} for the {thing}. Remind me: which room?",
    )
    answer = draw.choose(
        f"The {thing} is in room {number}.", f"Go to room {number} of {place}.", f"Room {number}."
    )
    return draw.written(question, answer, None)


def version(draw: Draw) -> Written:
    tool = draw.choose("the editor", "the compiler", "the web server", "my camera app", "the game")
    number = f"{draw.between(0, 12)}.{draw.between(0, 20)}.{draw.between(0, 9)}"
    question = draw.choose(
        f"I have version {number} of {tool} installed. Which version is that?",
        f'The log of {tool} says "starting {number}". What version is running?',
        f"What is the version in this line: {tool}, release {number}, ready?",
        f"Write a sentence for a bug report: {tool} crashes in version {number}.",
    )
    if question.startswith("Write"):
        answer = f"In version {number}, {tool} crashes."
    else:
        answer = draw.choose(f"It is version {number}.", f"Version {number}.")
    return draw.written(question, answer, None)


def oven(draw: Draw) -> Written:
    dish = draw.choose("bread", "lasagne", "apple cake", "roast vegetables", "biscuits", "pizza")
    heat, minutes = draw.between(30, 48) * 5, draw.between(3, 9) * 5
    recipe = f"Bake the {dish} at {heat} °C for {minutes} minutes."
    question = draw.choose(
        f"{recipe} What temperature does the recipe ask for?",
        f'The recipe says: "{recipe}" How hot should the oven be?',
        f"How hot must the oven be here? {recipe}",
        f"Grandmother's note reads: {recipe} Which temperature do I set?",
    )
    answer = draw.choose(f"Set the oven to {heat} °C.", f"The recipe says {heat} °C.")
    return draw.written(question, answer, None)


def number_words(draw: Draw) -> Written:
    words, meaning = draw.choose(*facts.NUMBER_WORDS)
    where = draw.choose("a magazine", "an email", "a film", "a chat", "an advert", "the office")
    question = draw.choose(
        f'What does "{words}" mean?',
        f'I saw "{words}" in {where}. What is meant by it?',
        f"Explain the expression '{words}', please.",
        f'In {where} somebody used "{words}". What does that stand for?',
        f'"{words}": what is the meaning of it in everyday English?',
    )
    answer = draw.choose(f'"{words}" stands for this: {meaning}.', f"It means {meaning}.")
    return draw.written(asked(draw, question), answer, None)


def score(draw: Draw) -> Written:
    sport, least, most = draw.choose(("football", 0, 6), ("ice hockey", 0, 9), ("handball", 18, 38))
    home, away = draw.some(("Falcons", "Otters", "Rovers", "Comets", "Badgers", "Kites"), 2)
    result = f"{draw.between(least, most)}-{draw.between(least, most)}"
    question = draw.choose(
        f"The {sport} match {home} against {away} ended {result}. What was the score?",
        f"{home} {result} {away}. Write a headline without naming a winner.",
        f"Report: {sport}, {home} v {away}, final score {result}. How did it end?",
        f"Repeat the result for me: {home} {result} {away}, {sport}, today.",
    )
    answer = draw.choose(f"{home} against {away} ended {result}.", f"{home} {result} {away}.")
    return draw.written(question, answer, None)


def route(draw: Draw) -> Written:
    one, other = draw.some(range(2, 199), 2)
    here, there = draw.some(PLACES, 2)
    kind = draw.choose("bus", "tram", "night bus")
    plan = f"{kind.capitalize()} {one} goes to {here} and {kind} {other} goes to {there}."
    question = draw.choose(
        f"{plan} Which one do I take to {there}?",
        f"How do I get to {there}? {plan}",
        f"A sign says: {plan} I want to go to {there}. What should I take?",
        f"I have to be at {there} soon. {plan} Which line is mine?",
    )
    answer = draw.choose(
        f"Take {kind} {other}.", f"You need {kind} {other}, which goes to {there}."
    )
    return draw.written(question, answer, None)


def chapter(draw: Draw) -> Written:
    first = draw.between(1, 30)
    titles = [f"The {word.capitalize()}" for word in draw.some(WORDS, 3)]
    listed = ", ".join(f"{first + at} {title}" for at, title in enumerate(titles))
    at = draw.between(0, 2)
    question = draw.choose(
        f"From a table of contents: {listed}. What is chapter {first + at} called?",
        f"What is the title of chapter {first + at}, if the list says: {listed}?",
        f"Chapters: {listed}. Give me the title of number {first + at}.",
        f"Here are three chapters of a novel: {listed}. Which title has chapter {first + at}?",
    )
    title = titles[at]
    answer = draw.choose(f'Chapter {first + at} is called "{title}".', f'It is "{title}".')
    return draw.written(question, answer, None)


TRAIN = (
    capital,
    author,
    definition,
    opposite,
    translation,
    advice,
    comparison,
    past_tense,
    young_animal,
    explanation,
    summary,
    small_talk,
    phone_number,
    year_of_event,
    shared_secret,
    room,
    version,
    oven,
    number_words,
)
TEST = (polite_message, alphabetical, odd_one_out, sentiment, score, route, chapter)
