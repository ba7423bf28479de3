"""Letters, words and characters: what is counted is written out, and the calculator adds it."""

from __future__ import annotations

from collections.abc import Iterable

from curta.delegate.data.draw import Call, Draw, Written

CATEGORY = "strings"

WORDS = (
    "anchor", "apricot", "autumn", "balcony", "bamboo", "blanket", "bottle", "bridge", "butter",
    "cabbage", "camera", "candle", "carpet", "castle", "cherry", "chimney", "circus", "compass",
    "cotton", "cricket", "dolphin", "dragon", "eagle", "elephant", "engine", "falcon", "feather",
    "festival", "forest", "garden", "ginger", "glacier", "guitar", "hammer", "harbour", "hazelnut",
    "hedgehog", "island", "jacket", "jungle", "kangaroo", "kettle", "kitchen", "ladder", "lantern",
    "lemon", "library", "lizard", "magnet", "marble", "meadow", "melody", "mirror", "monsoon",
    "mountain", "mushroom", "needle", "notebook", "oasis", "ocean", "orchard", "otter", "oyster",
    "palace", "parrot", "peacock", "pebble", "pencil", "pepper", "piano", "pillow", "planet",
    "pocket", "potato", "puzzle", "rabbit", "rainbow", "raspberry", "ribbon", "river", "saddle",
    "salmon", "sandwich", "scissors", "shadow", "silver", "sparrow", "spider", "squirrel", "stable",
    "sugar", "summer", "sunflower", "teapot", "thunder", "tiger", "tomato", "trumpet", "tunnel",
    "turtle", "umbrella", "valley", "velvet", "village", "violin", "walnut", "whistle", "window",
    "winter", "wizard", "yellow", "zebra",
)  # fmt: skip
SUBJECTS = (
    "the old gardener", "my sister", "a quiet robot", "the tall sailor", "our neighbour",
    "every student", "the brown fox", "a young pilot", "the baker", "nobody here", "the shy owl",
    "an honest clerk",
)  # fmt: skip
VERBS = (
    "carries", "paints", "likes", "finds", "repairs", "hides", "forgets", "buys", "wraps", "draws",
    "photographs", "sells",
)  # fmt: skip
OBJECTS = (
    "seven lemons", "a green kite", "the last letter", "old clocks", "some warm bread",
    "a wooden chair", "two maps", "the blue door", "cheap umbrellas", "a pair of boots",
    "the silver spoon", "large pumpkins",
)  # fmt: skip
ENDINGS = ("", "", " at night", " every morning", " in spring", " without a word", " by the lake")
VOWELS = "aeiou"
COUNTED_BY = 3
"""Letters that are counted at once in a single word."""


def phrase(draw: Draw) -> str:
    """A few words that make some sense."""
    return (
        f"{draw.choose(*SUBJECTS)} {draw.choose(*VERBS)} {draw.choose(*OBJECTS)}"
        f"{draw.choose(*ENDINGS)}"
    )


def short_phrase(draw: Draw) -> str:
    """Two to five words in a row, without an order."""
    return " ".join(draw.some(WORDS, draw.between(2, 5)))


def vowels(text: str) -> int:
    """How many there are."""
    return sum(letter in VOWELS for letter in text)


def added(draw: Draw, numbers: Iterable[int]) -> Call:
    """What was counted, added up."""
    return draw.calc(" + ".join(map(str, numbers)))


def counted(texts: Iterable[str], counts: Iterable[int]) -> str:
    """Each text with its count."""
    return ", ".join(f"{text} {count}" for text, count in zip(texts, counts, strict=True))


def chunks(word: str) -> list[str]:
    """A word in pieces that are easily counted."""
    return [word[at : at + COUNTED_BY] for at in range(0, len(word), COUNTED_BY)]


def word_length(draw: Draw) -> Written:
    word, who = draw.choose(*WORDS), draw.name()
    if draw.random.random() < 0.5:
        word += draw.choose(*WORDS)
    parts = chunks(word)
    total = added(draw, map(len, parts))
    question = draw.choose(
        f'How many letters are there in "{word}"?',
        f"Count the letters of {word}.",
        f'{who} writes "{word}" into boxes, a letter in each. How many boxes does it take?',
        f"What is the length of the string '{word}'?",
        f"len('{word}') = ?",
    )
    answer = draw.choose(
        f"In pieces it is {'-'.join(parts)}. Their lengths add up to {total}.",
        f"The pieces are {counted(parts, map(len, parts))}. Together: {total}.",
    )
    return draw.written(question, answer, total)


def phrase_letters(draw: Draw) -> Written:
    text = draw.choose(phrase, short_phrase)(draw)
    words = text.split()
    total = added(draw, map(len, words))
    question = draw.choose(
        f'How many letters does "{text}" have, not counting spaces?',
        f"Count the letters in: {text}",
        f'Without the spaces, how long is the text "{text}"?',
        f"A sign is to say '{text}'. How many letters are needed for it?",
        f'Number of characters that are not spaces in "{text}"?',
    )
    answer = draw.choose(
        f"Word by word: {counted(words, map(len, words))}. All in all {total}.",
        f"The letters are {total}.",
    )
    return draw.written(question, answer, total)


def phrase_characters(draw: Draw) -> Written:
    text = draw.choose(phrase, short_phrase)(draw)
    words = text.split()
    letters = added(draw, map(len, words))
    gaps = draw.calc(f"{len(words)} - 1")
    total = draw.calc(f"{letters.text} + {gaps.text}")
    question = draw.choose(
        f'How many characters, spaces included, has "{text}"?',
        f"What is the length of the string '{text}' with its spaces?",
        f"A form counts every character and every space. What does it count for: {text}",
        f'"{text}": how long is that in characters, counting the spaces too?',
    )
    answer = draw.choose(
        f"The words have {letters} letters. Between {len(words)} words there are {gaps} spaces. "
        f"Together: {total}.",
        f"Letters: {letters}. Spaces: {gaps}. Characters: {total}.",
    )
    return draw.written(question, answer, total)


def phrase_vowels(draw: Draw) -> Written:
    text = draw.choose(phrase, short_phrase)(draw)
    words = text.split()
    counts = [vowels(word) for word in words]
    total = added(draw, counts)
    question = draw.choose(
        f'How many vowels (a, e, i, o, u) are in "{text}"?',
        f"Count the vowels a, e, i, o and u: {text}",
        f"In the phrase '{text}', how often is a letter one of a, e, i, o, u?",
        f'Number of vowels in "{text}", y not counted?',
    )
    answer = draw.choose(
        f"Vowels by word: {counted(words, counts)}. Together that is {total}.",
        f"Word for word, the vowels are {total}.",
    )
    return draw.written(question, answer, total)


def phrase_consonants(draw: Draw) -> Written:
    text = draw.choose(phrase, short_phrase)(draw)
    words = text.split()
    letters = added(draw, map(len, words))
    open_ones = added(draw, map(vowels, words))
    total = draw.calc(f"{letters.text} - {open_ones.text}")
    question = draw.choose(
        f'How many consonants are there in "{text}" (y counts as one)?',
        f"Count the letters other than a, e, i, o, u in: {text}",
        f'Leaving out spaces and the vowels a, e, i, o, u, how many letters has "{text}"?',
        f"Consonants in '{text}', with y as a consonant?",
    )
    answer = draw.choose(
        f"There are {letters} letters, of which {open_ones} are vowels. So {total} are consonants.",
        f"Letters: {letters}. Vowels: {open_ones}. The rest: {total}.",
    )
    return draw.written(question, answer, total)


def letter_occurrences(draw: Draw) -> Written:
    text = draw.choose(phrase, short_phrase)(draw)
    words = text.split()
    letter = draw.choose(*sorted(set(text) - {" "}))
    counts = [word.count(letter) for word in words]
    total = added(draw, counts)
    question = draw.choose(
        f'How many times does the letter {letter} occur in "{text}"?',
        f"How often do you find the letter {letter} in: {text}",
        f"Count every {letter} in the phrase '{text}'.",
        f'"{text}".count("{letter}") is what?',
        f"Looking for the letter {letter} in '{text}', how many do you find?",
    )
    answer = draw.choose(
        f"In each word: {counted(words, counts)}. All together {total}.",
        f"Going through the words, I count {total}.",
    )
    return draw.written(question, answer, total)


def alphabet_sum(draw: Draw) -> Written:
    word, who = draw.choose(*WORDS), draw.name()
    places = [ord(letter) - ord("a") + 1 for letter in word]
    total = added(draw, places)
    question = draw.choose(
        f'With a = 1, b = 2 and so on to z = 26, what do the letters of "{word}" add up to?',
        f"Add the positions in the alphabet of the letters in {word}.",
        f"{who} invents a code in which a word is worth the sum of its letters' places in the "
        f"alphabet. What is '{word}' worth?",
        f'Alphabet sum (a=1, ..., z=26) of "{word}"?',
    )
    answer = draw.choose(
        f"The positions are {counted(word, places)}. Their sum is {total}.",
        f"Letter by letter: {total}.",
    )
    return draw.written(question, answer, total)


def repeated_word(draw: Draw) -> Written:
    word, times, who = draw.choose(*WORDS), draw.number() + 1, draw.name()
    length = added(draw, map(len, chunks(word)))
    total = draw.calc(f"{length.text} * {times}")
    question = draw.choose(
        f'"{word}" is written {times} times without spaces. How many letters is that?',
        f"What is the length of '{word}' * {times} in Python?",
        f"If you type the word {word} {times} times in a row, with nothing in between, how many "
        "characters do you get?",
        f"As a punishment, {who} has to write the word {word} {times:,} times. How many letters "
        "are written?",
    )
    answer = draw.choose(
        f"The word {word} ({'-'.join(chunks(word))}) has {length} letters. "
        f"All copies have {total}.",
        f"One copy: {length}. In all: {total}.",
    )
    return draw.written(question, answer, total)


def joined_copies(draw: Draw) -> Written:
    word, times = draw.choose(*WORDS), draw.number() + 2
    mark = draw.choose("hyphen", "comma", "space", "slash")
    letters = draw.calc(f"{len(word)} * {times}")
    gaps = draw.calc(f"{times} - 1")
    total = draw.calc(f"{letters.text} + {gaps.text}")
    question = draw.choose(
        f'How long is a string of {times} copies of "{word}" with one {mark} between them?',
        f"Join {times} times the word {word} by a single {mark}. How many characters result?",
        f"A line repeats {word} {times} times; between each two stands a {mark}, none at the end. "
        "Count its characters.",
        f"'{word}' repeated {times} times, separated by one {mark} each: total length?",
    )
    answer = draw.choose(
        f"One {word} has {len(word)} letters, so the copies have {letters}. "
        f"There are {gaps} separators. In all: {total}.",
        f"Letters: {letters}. Separators: {gaps}. Length: {total}.",
    )
    return draw.written(question, answer, total)


def reading_time(draw: Draw) -> Written:
    who, pace, minutes = draw.name(), draw.choose(150, 180, 200, 220, 250), draw.between(2, 30)
    pages, each = draw.between(2, 40), pace * minutes
    what = draw.choose("report", "novel", "manual", "travel book")
    words = draw.calc(f"{pages} * {each}")
    time = draw.calc(f"{words.text} / {pace}")
    question = draw.choose(
        f"A {what} has {pages} chapters of {each} words. At {pace} words a minute, how many "
        "minutes does it take to read?",
        f"{who} reads {pace} words a minute. How long, in minutes, do {pages} chapters of {each} "
        "words take?",
        f"How many minutes of reading are {pages} sections with {each:,} words each at {pace} "
        "words per minute?",
        f"Reading time in minutes: {pages} parts, {each} words per part, {pace} words/min?",
    )
    answer = draw.choose(
        f"There are {words} words. Reading them takes {time} minutes.",
        f"Words: {words}. Minutes: {time}.",
    )
    return draw.written(question, answer, time)


def page_characters(draw: Draw) -> Written:
    pages, lines, width = draw.number() + 1, draw.between(20, 50), draw.between(50, 90)
    page = draw.calc(f"{lines} * {width}")
    total = draw.calc(f"{page.text} * {pages}")
    question = draw.choose(
        f"A page has {lines} lines of {width} characters. How many fit on {pages} pages?",
        f"How many characters do {pages} full pages hold, at {lines} lines each and {width} "
        "characters a line?",
        f"An old printer puts {width} characters into a line and {lines} lines onto a sheet. What "
        f"is the most that {pages:,} sheets can hold?",
        f"{pages} pages x {lines} lines x {width} characters: how many characters?",
    )
    answer = draw.choose(
        f"One page holds {page} characters. All pages hold {total}.",
        f"Per page: {page}. In all: {total}.",
    )
    return draw.written(question, answer, total)


def mean_word_length(draw: Draw) -> Written:
    text = draw.choose(phrase, short_phrase)(draw)
    words = text.split()
    letters = added(draw, map(len, words))
    mean = draw.rounded(f"{letters.text} / {len(words)}")
    question = draw.choose(
        f'What is the average word length in "{text}", to two decimals?',
        f"On average, how many letters has a word of '{text}'? Two decimals.",
        f"Find the mean number of letters per word (2 decimals): {text}",
        f'A style checker reports letters per word, to 2 decimals. What does it say for "{text}"?',
    )
    answer = draw.choose(
        f"The words have {letters} letters. There are {len(words)} words, so the mean is {mean}.",
        f"Letters: {letters}. Per word: {mean}.",
    )
    return draw.written(question, answer, mean)


def two_lengths(draw: Draw) -> Written:
    first, second = phrase(draw), short_phrase(draw)
    one = added(draw, map(len, first.split()))
    other = added(draw, map(len, second.split()))
    apart = draw.calc(f"abs({one.text} - {other.text})")
    question = draw.choose(
        f'By how many letters do "{first}" and "{second}" differ in length, spaces left out?',
        f"Compare the number of letters in '{first}' and in '{second}'. What is the difference?",
        f'Which has more letters, "{first}" or "{second}", and how many more? Ignore spaces.',
        f'Difference in letters: "{first}" against "{second}"?',
    )
    ordered = int(one.text) - int(other.text)
    verdict = "first" if ordered > 0 else "second"
    longer = f"The {verdict} is longer." if ordered else "They are equally long."
    if "Which" not in question:
        longer = draw.choose("", longer)
    answer = (
        f"The letters of the first are {one}. Those of the second are {other}. "
        f"The difference is {apart}. {longer}"
    )
    return draw.written(question, answer.strip(), apart)


def line_breaks(draw: Draw) -> Written:
    width, length = draw.choose(20, 32, 40, 60, 72, 80), draw.number()
    length += width
    lines = draw.calc(f"ceil({length} / {width})")
    before = draw.calc(f"({lines.text} - 1) * {width}")
    last = draw.calc(f"{length} - {before.text}")
    question = draw.choose(
        f"A string of {length} characters is cut into lines of {width}. How long is the last line?",
        f"Every {width} characters a new line begins. With {length:,} characters, how many stand "
        "in the last line?",
        f"A terminal is {width} columns wide and shows {length} characters without a break. How "
        "many are in the bottom row?",
        f"{length} characters, {width} to a line: characters in the final line?",
    )
    answer = f"It takes {lines} lines. Those before the last hold {before}. The last holds {last}."
    return draw.written(question, answer, last)


def page_digits(draw: Draw) -> Written:
    last = draw.between(120, 999)
    longest = draw.calc(f"{last} - 99")
    digits = draw.calc(f"{longest.text} * 3")
    total = draw.calc(f"9 + 90 * 2 + {digits.text}")
    question = draw.choose(
        f"How many digits are printed to number pages 1 to {last}?",
        f"If you write all whole numbers from 1 to {last} in a row, how many digits is that?",
        f"A book's pages are numbered from 1 to {last}. Count the digits used.",
        f"A sign painter numbers {last} lockers, from 1 on. How many digits are painted?",
    )
    answer = (
        f"9 numbers have one digit and 90 have two. {longest} have three, which makes {digits} "
        f"digits. All together: {total}."
    )
    return draw.written(question, answer, total)


def engraving(draw: Draw) -> Written:
    who, rate, fee = draw.name(), draw.between(2, 9), draw.between(10, 40)
    text = short_phrase(draw)
    letters = added(draw, map(len, text.split()))
    work = draw.calc(f"{letters.text} * {rate}")
    total = draw.calc(f"{work.text} + {fee}")
    question = draw.choose(
        f'Engraving costs ${fee} plus ${rate} a letter, spaces free. What does "{text}" cost?',
        f"{who} has '{text}' engraved on a cup for ${rate} per letter (not for spaces) and a fixed "
        f"fee of ${fee}. What is the price?",
        f'What do you pay to have "{text}" embroidered at ${rate} per letter and ${fee} for the '
        "shirt?",
        f"Fee {fee}, each letter {rate}, text: {text}. Total price, with no charge for spaces?",
    )
    answer = f"The letters are {letters}. They cost {work}. With the fee that makes {total}."
    return draw.written(question, answer, total)


def letter_scores(draw: Draw) -> Written:
    word, low = draw.choose(*WORDS), draw.between(1, 4)
    high = low + draw.between(1, 9)
    soft = vowels(word)
    easy = draw.calc(f"{soft} * {low}")
    hard = draw.calc(f"{len(word) - soft} * {high}")
    total = draw.calc(f"{easy.text} + {hard.text}")
    pays = "1 point" if low == 1 else f"{low} points"
    question = draw.choose(
        f'A vowel (a, e, i, o, u) scores {pays}, any other letter {high}. Score of "{word}"?',
        f"In a word game vowels are worth {pays} and consonants {high}, y included. How much is "
        f"{word} worth?",
        f"Score the word {word}: {low} for each of a, e, i, o, u and {high} for any other letter.",
        f'"{word}" at {pays} per vowel and {high} per consonant (y is one): total?',
    )
    answer = f"Vowels: {easy}. Other letters: {hard}. The word {word} scores {total}."
    return draw.written(question, answer, total)


TRAIN = (
    word_length,
    phrase_letters,
    phrase_characters,
    phrase_vowels,
    phrase_consonants,
    letter_occurrences,
    alphabet_sum,
    repeated_word,
    joined_copies,
    reading_time,
    page_characters,
    mean_word_length,
    two_lengths,
)
TEST = (line_breaks, page_digits, engraving, letter_scores)
