"""Stories: buying, sharing, working, travelling, collecting; mostly of two steps or more."""

from __future__ import annotations

from curta.delegate.data.draw import Draw, Written

CATEGORY = "word_problems"

THINGS = (
    "stamps", "marbles", "stickers", "postcards", "seashells", "buttons", "trading cards", "coins",
    "comic books", "badges",
)  # fmt: skip
GOODS = ("notebooks", "mugs", "candles", "scarves", "plant pots", "paintbrushes", "tea towels")
TREATS = ("lamp", "vase", "cookbook", "jigsaw puzzle", "wall clock", "picnic blanket")


def several(draw: Draw) -> int:
    """So many that the plural is right."""
    return max(2, draw.number())


def price(draw: Draw, low: int, high: int) -> str:
    """An amount of money with two decimals."""
    return f"{draw.between(low * 100, high * 100) / 100:.2f}"


def shopping_total(draw: Draw) -> Written:
    who, goods, treat = draw.name(), draw.choose(*GOODS), draw.choose(*TREATS)
    count, each, other = several(draw), price(draw, 1, 20), price(draw, 8, 60)
    many = draw.calc(f"{count} * {each}")
    total = draw.calc(f"{many.text} + {other}")
    question = draw.choose(
        f"{who} buys {count} {goods} at ${each} each and a {treat} for ${other}. "
        f"How much does that cost in total?",
        f"What is the bill for {count} {goods} (${each} apiece) plus one {treat} at ${other}?",
        f"At the Saturday market {who} picked out {count:,} {goods}. One of them costs ${each}. "
        f"On the way out there was also a {treat} priced at ${other}, and {who} took it. "
        f"How many dollars did {who} spend?",
        f"{count} {goods}, ${each} each. One {treat}, ${other}. Total in dollars?",
    )
    answer = draw.choose(
        f"The {goods} cost {many} dollars. With the {treat} that makes {total} dollars.",
        f"First the {goods}: {many}. Then add the {treat}: {total}.",
    )
    return draw.written(question, answer, total)


def change_from_payment(draw: Draw) -> Written:
    who, count, each = draw.name(), draw.between(2, 9), price(draw, 1, 9)
    snack = draw.choose("sandwiches", "smoothies", "muffins", "bowls of soup", "slices of pie")
    cost = draw.calc(f"{count} * {each}")
    paid = draw.choose(*(note for note in (20, 50, 100) if note > float(cost.text)))
    change = draw.calc(f"{paid} - {cost.text}")
    question = draw.choose(
        f"{who} pays for {count} {snack} at ${each} each with ${paid}. "
        f"How much change does {who} get?",
        f"If {count} {snack} cost ${each} each, what is the change from ${paid}?",
        f"It is raining, so {who} stops at a cafe and gets {count} {snack} for the office. Each "
        f"one is ${each}. {who} hands over ${paid}. How much comes back?",
        f"How much is left of ${paid} after buying {count} {snack} at ${each} apiece?",
    )
    answer = draw.choose(
        f"The {snack} cost {cost} dollars. The change is {change} dollars.",
        f"{count} {snack} come to {cost}, which leaves {change}.",
    )
    return draw.written(question, answer, change)


def gains_and_losses(draw: Draw) -> Written:
    (who, friend), things = draw.names(2), draw.choose(*THINGS)
    start, found = several(draw), several(draw)
    given = draw.between(2, start + found - 2)
    more = draw.calc(f"{start} + {found}")
    left = draw.calc(f"{more.text} - {given}")
    question = draw.choose(
        f"{who} has {start} {things}, gets {found} more and gives {given} to {friend}. "
        f"How many {things} does {who} have now?",
        f"Starting with {start:,} {things}, {who} buys another {found:,} and then sells {given:,}. "
        f"How many are left?",
        f"For years {who} has been collecting {things}. By last week there were {start} in the "
        f"house. An aunt sent {found} more, but {friend} was promised {given}, which are gone "
        f"now. How many {things} remain?",
        f"{things.capitalize()}: {start} at first, {found} added, {given} given away. And now?",
    )
    answer = draw.choose(
        f"With the new ones there are {more} {things}. After {given} leave, {left} remain.",
        f"{more}, and then {left} {things}.",
    )
    return draw.written(question, answer, left)


def packs_shared(draw: Draw) -> Written:
    people, share, packs = draw.between(2, 12), several(draw), draw.between(2, 12)
    inside = people * share
    what = draw.choose("pencils", "beads", "crackers", "balloons", "sheets of paper")
    all_of_them = draw.calc(f"{packs} * {inside}")
    each = draw.calc(f"{all_of_them.text} / {people}")
    question = draw.choose(
        f"A teacher shares {packs} packs of {inside} {what} equally among {people} groups. "
        f"How many {what} does each group get?",
        f"{packs} boxes hold {inside} {what} each. If {people} children divide everything evenly, "
        f"how many {what} are there for each child?",
        f"For the summer party a club bought {packs} bags with {inside} {what} in each bag. The "
        f"{people} helpers want equal amounts. How many {what} does every helper receive?",
        f"How many {what} does each of {people} people get from {packs} packs of {inside}?",
    )
    answer = draw.choose(
        f"There are {all_of_them} {what} in all. Each share is {each} {what}.",
        f"Altogether that is {all_of_them}. Divided into {people} equal parts: {each}.",
    )
    return draw.written(question, answer, each)


def wages_and_bonus(draw: Draw) -> Written:
    who, hours, rate = draw.name(), draw.between(5, 60), price(draw, 11, 45)
    job, bonus = draw.choose("bakery", "bookshop", "garage", "library"), draw.between(20, 900)
    pay = draw.calc(f"{hours} * {rate}")
    total = draw.calc(f"{pay.text} + {bonus}")
    question = draw.choose(
        f"{who} earns ${rate} an hour at a {job} and worked {hours} hours. There was also a bonus "
        f"of ${bonus}. How much did {who} earn altogether?",
        f"Work out {who}'s pay: {hours} hours at ${rate} per hour, plus ${bonus} extra.",
        f"The {job} pays ${rate} for each hour. This month {who} put in {hours} hours, was late "
        f"only once, and got ${bonus} on top for good work. What is the whole pay in dollars?",
        f"What does {who} earn in {hours} hours at ${rate} an hour with a bonus of ${bonus}?",
    )
    answer = draw.choose(
        f"The hours bring {pay} dollars. With the bonus it is {total} dollars.",
        f"For {hours} hours {who} gets {pay}. Adding the bonus gives {total}.",
    )
    return draw.written(question, answer, total)


def times_as_many(draw: Draw) -> Written:
    (one, two), things = draw.names(2), draw.choose(*THINGS)
    fewer, times = several(draw), draw.between(3, 15)
    more = draw.calc(f"{times} * {fewer}")
    both = draw.calc(f"{fewer} + {more.text}")
    question = draw.choose(
        f"{one} has {fewer} {things} and {two} has {times} times as many. "
        f"How many {things} do they have together?",
        f"{two} owns {times} times as many {things} as {one}, who owns {fewer:,}. "
        f"How many is that for the two of them?",
        f"In one corner of the room {one} counts {fewer} {things}. {two}, who started collecting "
        f"much earlier, has {times} times that number. What is the sum of both collections?",
        f"How many {things} are there if {one} has {fewer} and {two} {times} times that many?",
    )
    answer = draw.choose(
        f"{two} has {more} {things}. Together they have {both}.",
        f"{times} times {fewer} is {more}, so both together have {both} {things}.",
    )
    return draw.written(question, answer, both)


def recipe_for_more(draw: Draw) -> Written:
    servings, factor = draw.between(2, 8), draw.between(5, 60)
    people = draw.between(servings + 1, 40)
    grams = servings * factor
    what = draw.choose("flour", "rice", "sugar", "lentils", "butter", "oats")
    single = draw.calc(f"{grams} / {servings}")
    needed = draw.calc(f"{single.text} * {people}")
    question = draw.choose(
        f"A recipe for {servings} people uses {grams} g of {what}. "
        f"How many grams are needed for {people} people?",
        f"How much {what} do I need for {people} servings if {servings} servings take {grams} g?",
        f"Grandma's card says: {what}, {grams} grams, serves {servings}, bake at 180 degrees. "
        f"We expect {people} guests. How many grams of {what} should we weigh out?",
        f"{grams} g of {what} is enough for {servings}. Scale it up to {people}.",
    )
    answer = draw.choose(
        f"One serving takes {single} g. For {people} people that is {needed} g.",
        f"Per person: {single} grams of {what}. For all of them: {needed} grams.",
    )
    return draw.written(question, answer, needed)


def seats_taken(draw: Draw) -> Written:
    rows, seats = draw.between(6, 90), draw.between(8, 40)
    empty = draw.between(2, rows * seats // 2)
    place = draw.choose("theatre", "cinema", "concert hall", "circus tent", "lecture hall")
    seated = draw.calc(f"{rows} * {seats}")
    taken = draw.calc(f"{seated.text} - {empty}")
    question = draw.choose(
        f"A {place} has {rows} rows of {seats} seats. Tonight {empty} seats are empty. "
        f"How many are taken?",
        f"With {rows} rows and {seats} seats in every row, how many people sit in a {place} that "
        f"has {empty} free seats?",
        f"The doors of the {place} opened at 7 and everybody has found a seat by now. There are "
        f"{rows} rows, each with {seats} seats, and the usher counts {empty} that nobody sits on. "
        f"How many people are sitting in the rows?",
        f"{place.capitalize()}: {rows} rows, {seats} seats per row, {empty:,} unsold. Seats sold?",
    )
    answer = draw.choose(
        f"There are {seated} seats. Without the empty ones, {taken} are taken.",
        f"All seats: {seated}. Taken: {taken}.",
    )
    return draw.written(question, answer, taken)


def boxes_needed(draw: Draw) -> Written:
    inside = draw.between(4, 48)
    count = inside + several(draw)
    what = draw.choose("jars of honey", "light bulbs", "apples", "tennis balls", "tiles")
    boxes = draw.calc(f"ceil({count} / {inside})")
    question = draw.choose(
        f"How many boxes are needed for {count} {what} if a box holds {inside}?",
        f"{count:,} {what} have to be packed, at most {inside} to a box. "
        f"What is the smallest number of boxes?",
        f"A small firm is getting {count} {what} ready for the truck at noon. Each crate has room "
        f"for {inside}. How many crates must they have so that nothing is left behind?",
        f"You can put {inside} {what} in one carton. How many cartons do {count} {what} take?",
    )
    answer = draw.choose(
        f"The last one may be partly full, so round up: {boxes}.",
        f"Dividing and rounding up gives {boxes}.",
    )
    return draw.written(question, answer, boxes)


def eggs_by_the_dozen(draw: Draw) -> Written:
    hens, eggs = 12 * draw.between(1, 60), draw.between(3, 6)
    weeks, each = draw.between(2, 9), price(draw, 2, 6)
    laid = draw.calc(f"{hens} * {eggs} * {weeks}")
    dozens = draw.calc(f"{laid.text} / 12")
    money = draw.calc(f"{dozens.text} * {each}")
    question = draw.choose(
        f"A farm keeps {hens} hens that lay {eggs} eggs a week each. A dozen eggs sells for "
        f"${each}. How many dollars do the eggs of {weeks} weeks bring?",
        f"{hens} hens, {eggs} eggs per hen and week, ${each} for 12 eggs: what is earned in "
        f"{weeks} weeks?",
        f"Behind the old barn live {hens} hens and one proud rooster. Every hen lays {eggs} eggs "
        f"a week. The farmer sells all of them by the dozen at ${each}. How much money is that "
        f"after {weeks} weeks?",
        f"Selling eggs at ${each} a dozen, how much does a farmer make in {weeks} weeks from "
        f"{hens} hens laying {eggs} eggs weekly?",
    )
    answer = draw.choose(
        f"The hens lay {laid} eggs. That is {dozens} dozen. They sell for {money} dollars.",
        f"Eggs: {laid}. Dozens: {dozens}. Dollars: {money}.",
    )
    return draw.written(question, answer, money)


def rest_of_the_work(draw: Draw) -> Written:
    who, first, second = draw.name(), several(draw), several(draw)
    whole = first + second + several(draw)
    what = draw.choose("fence", "footpath", "garden wall", "water pipe", "hedge")
    done = draw.calc(f"{first} + {second}")
    left = draw.calc(f"{whole} - {done.text}")
    question = draw.choose(
        f"A {what} is to be {whole} m long. {first} m are ready after a month and {second} m more "
        f"after another. How many metres are left to do?",
        f"Two teams have finished {first:,} m and {second:,} m of a {what} that will measure "
        f"{whole:,} m. How much is missing?",
        f"{who} set to work with two sandwiches and a new pair of gloves. The {what} should have "
        f"{whole} m in the end. Last year brought {first} m, this year {second} m. How many metres "
        f"remain?",
        f"Of {whole} m of a {what}, {who} has done {first} and then {second}. Metres to go?",
    )
    answer = draw.choose(
        f"So far it is {done} m. That leaves {left} m.",
        f"Done: {done} m. Left: {left} m.",
    )
    return draw.written(question, answer, left)


def weeks_of_saving(draw: Draw) -> Written:
    who, saved, weekly = draw.name(), several(draw), draw.between(5, 60)
    cost = saved + weekly * draw.between(2, 40) + draw.between(0, weekly - 1)
    cheap, dear = ("bicycle", "guitar", "tent", "camera"), ("caravan", "motorbike", "used car")
    wish = draw.choose(*(cheap if cost < 2500 else dear))
    missing = draw.calc(f"{cost} - {saved}")
    weeks = draw.calc(f"ceil({missing.text} / {weekly})")
    question = draw.choose(
        f"{who} wants a {wish} for ${cost}, has ${saved} and saves ${weekly} a week. "
        f"After how many weeks is there enough money?",
        f"How many weeks of saving ${weekly} does it take to get from ${saved:,} to ${cost:,}?",
        f"In the window there is a {wish} for ${cost}. {who} already has ${saved} in a jar and "
        f"puts in ${weekly} every Sunday. How many Sundays until {who} can buy it?",
        f"A {wish} costs ${cost}. With ${saved} in hand and ${weekly} added weekly, how many weeks "
        f"must {who} wait?",
    )
    answer = draw.choose(
        f"{missing} dollars are missing. At {weekly} a week that takes {weeks} weeks.",
        f"Still needed: {missing} dollars. Rounded up to whole weeks: {weeks}.",
    )
    return draw.written(question, answer, weeks)


def average_mark(draw: Draw) -> Written:
    who, first, second, third = draw.name(), *(draw.between(40, 100) for _ in range(3))
    fourth = 4 * draw.between(13, 24) - (first + second + third) % 4
    subject = draw.choose("history", "chemistry", "geography", "French", "biology")
    total = draw.calc(f"{first} + {second} + {third} + {fourth}")
    average = draw.calc(f"{total.text} / 4")
    question = draw.choose(
        f"{who} scored {first}, {second}, {third} and {fourth} in four {subject} tests. "
        f"What is the average score?",
        f"Average of the {subject} marks {first}, {second}, {third}, {fourth}?",
        f"Report day is close. In {subject}, {who} got {first} points in the first test, then "
        f"{second}, {third}, and in the last one, after a week of flu, {fourth}. What is the mean?",
        f"Four {subject} exams gave {first}, {second}, {third} and {fourth} points. Mean score?",
    )
    answer = draw.choose(
        f"The points add up to {total}. Over four tests the average is {average}.",
        f"Sum: {total}. Mean: {average}.",
    )
    return draw.written(question, answer, average)


def pages_per_day(draw: Draw) -> Written:
    who, days, read = draw.name(), draw.between(2, 14), draw.between(9, 500)
    pages = read + draw.between(10 * days, 60 * days)
    rest = draw.calc(f"{pages} - {read}")
    daily = draw.calc(f"ceil({rest.text} / {days})")
    question = draw.choose(
        f"A book has {pages} pages and {who} has read {read}. To finish it in {days} days, how "
        f"many whole pages a day must {who} read at least?",
        f"{who} must return a library book in {days} days. {read} of its {pages} pages are read. "
        f"At least how many pages a day are needed, in whole pages?",
        f"The novel on {who}'s bedside table is {pages:,} pages long, and the bookmark sits behind "
        f"page {read}. The book club meets in {days} days. What is the least whole number of "
        f"pages to read each day?",
        f"{pages} pages, {read} done, {days} days to go. Pages per day, rounded up?",
    )
    answer = draw.choose(
        f"There are {rest} pages left. Per day, rounded up, that is {daily}.",
        f"Unread: {rest} pages. Daily: {daily}.",
    )
    return draw.written(question, answer, daily)


def two_kinds_of_tickets(draw: Draw) -> Written:
    adults, children = several(draw), several(draw)
    full, reduced = draw.between(9, 30), draw.between(3, 8)
    place = draw.choose("zoo", "planetarium", "museum", "swimming pool", "castle")
    grown = draw.calc(f"{adults} * {full}")
    young = draw.calc(f"{children} * {reduced}")
    total = draw.calc(f"{grown.text} + {young.text}")
    question = draw.choose(
        f"A {place} charges €{full} for adults and €{reduced} for children. Yesterday {adults} "
        f"adults and {children} children came. How much money did it take?",
        f"What do tickets for {adults} adults at €{full} and {children} children at €{reduced} "
        f"come to?",
        f"It was a sunny holiday and the {place} was busy. The till shows {adults:,} adult tickets "
        f"at €{full} and {children:,} child tickets at €{reduced}. What were the takings in euros?",
        f"{place.capitalize()} tickets: {adults} x €{full} and {children} x €{reduced}. Total?",
    )
    answer = draw.choose(
        f"The adults pay {grown} euros and the children {young} euros. In total it is {total}.",
        f"Adults: {grown}. Children: {young}. Together: {total} euros.",
    )
    return draw.written(question, answer, total)


def ages_apart(draw: Draw) -> Written:
    (young, old), age = draw.names(2), draw.between(3, 14)
    times, later = draw.between(3, 5), draw.between(2, 25)
    now = draw.calc(f"{times} * {age}")
    then = draw.calc(f"{now.text} + {later}")
    question = draw.choose(
        f"{young} is {age} years old and {old} is {times} times as old. "
        f"How old will {old} be in {later} years?",
        f"{old}'s age is {times} times that of {young}, who is {age}. What will {old}'s age be "
        f"{later} years from now?",
        f"At a family dinner {young} says, 'I am {age}.' 'Then I am {times} times your age,' "
        f"{old} laughs. How many candles will be on {old}'s cake in {later} years?",
        f"Today {young} is {age}. {old} is {times} times as old today. Find {old}'s age "
        f"{later} years later.",
    )
    answer = draw.choose(
        f"{old} is {now} years old now. In {later} years {old} will be {then}.",
        f"Now {old} is {now}, and later {then}.",
    )
    return draw.written(question, answer, then)


def legs_in_the_field(draw: Draw) -> Written:
    birds, animals = several(draw), several(draw)
    feathered = draw.choose("ducks", "geese", "chickens", "turkeys")
    woolly = draw.choose("sheep", "goats", "cows", "ponies")
    two, four = draw.calc(f"2 * {birds}"), draw.calc(f"4 * {animals}")
    legs = draw.calc(f"{two.text} + {four.text}")
    question = draw.choose(
        f"How many legs do {birds} {feathered} and {animals} {woolly} have altogether?",
        f"In a meadow there are {animals} {woolly} and {birds} {feathered}. Count all the legs.",
        f"A child leans on the fence and tries to count legs. The farm has {birds:,} {feathered} "
        f"and {animals:,} {woolly}, none of them missing a leg. What is the right number?",
        f"{feathered.capitalize()}: {birds}. {woolly.capitalize()}: {animals}. Number of legs?",
    )
    answer = draw.choose(
        f"The {feathered} have {two} legs and the {woolly} {four}. In total there are {legs}.",
        f"Two legs each: {two}. Four legs each: {four}. Sum: {legs}.",
    )
    return draw.written(question, answer, legs)


def cheaper_shop(draw: Draw) -> Written:
    count = several(draw)
    low = draw.between(120, 900)
    high = low + draw.between(5, 250)
    cheap, dear = f"{low / 100:.2f}", f"{high / 100:.2f}"
    what = draw.choose("bricks", "tulip bulbs", "batteries", "notepads", "roof tiles")
    apart = draw.calc(f"{dear} - {cheap}")
    saved = draw.calc(f"{apart.text} * {count}")
    question = draw.choose(
        f"One shop sells {what} at ${dear} each, another at ${cheap}. How much do you save on "
        f"{count} of them in the cheaper shop?",
        f"I need {count:,} {what}. Supplier A asks ${cheap} apiece and supplier B ${dear}. "
        f"How many dollars less is A?",
        f"By how many dollars do {count} {what} differ in price between ${dear} and ${cheap} each?",
        f"The shop around the corner wants ${dear} for each of the {what}; the one across town, "
        f"twenty minutes by bus, wants ${cheap}. What does going there save for {count} of them?",
    )
    answer = draw.choose(
        f"In dollars, the difference is {apart} for each. For all of them it is {saved}.",
        f"Each is cheaper by {apart}, and {count} of them by {saved}.",
    )
    return draw.written(question, answer, saved)


def tank_with_a_leak(draw: Draw) -> Written:
    out = draw.between(2, 15)
    into = out + draw.between(2, 20)
    minutes = several(draw)
    full = (into - out) * minutes
    what = draw.choose("tank", "pond", "basin", "pool")
    gain = draw.calc(f"{into} - {out}")
    time = draw.calc(f"{full} / {gain.text}")
    question = draw.choose(
        f"An empty {what} holds {full} litres. A pipe brings {into} litres a minute, while {out} "
        f"litres a minute leak out. After how many minutes is it full?",
        f"Water runs into a {what} at {into} L/min and out at {out} L/min. "
        f"How many minutes until {full} L are in it, starting from none?",
        f"The {what} in the yard has a crack that nobody has mended since spring: it loses {out} "
        f"litres every minute. The hose supplies {into} litres a minute. Right now it is empty, "
        f"and it has room for {full:,} litres. In how many minutes will it be full?",
        f"How long, in minutes, to fill a {what} of {full} litres with {into} in and {out} out "
        f"per minute?",
    )
    answer = draw.choose(
        f"Each minute adds {gain} litres. It is full after {time} minutes.",
        f"Net inflow: {gain} litres per minute. Time: {time} minutes.",
    )
    return draw.written(question, answer, time)


def how_many_at_first(draw: Draw) -> Written:
    who, parts, gift, left = draw.name(), draw.between(2, 6), several(draw), several(draw)
    things = draw.choose(*THINGS)
    before = draw.calc(f"{left} + {gift}")
    first = draw.calc(f"{before.text} * {parts}")
    question = draw.choose(
        f"{who} put {things} into {parts} equal piles, kept one pile, gave {gift} of that pile "
        f"away and has {left} left. How many {things} were there at first?",
        f"Some {things} are divided evenly among {parts} cousins. One of them gives away {gift} "
        f"and still has {left}. How many {things} were divided?",
        f"{parts} equal piles; one loses {gift} and has {left} left. {things.capitalize()} before?",
        f"One of {parts} equal bags of {things} lost {gift} on a bumpy road and now holds "
        f"{left:,}. How many {things} had been packed into all the bags?",
    )
    answer = draw.choose(
        f"Before that, the part had {before} {things}. The {parts} parts together had {first}.",
        f"Undo the loss: {before}. Undo the division: {first}.",
    )
    return draw.written(question, answer, first)


def two_machines(draw: Draw) -> Written:
    fast, slow, hours = several(draw), several(draw), draw.between(2, 24)
    broken = draw.between(2, max(2, fast + slow - 1))
    what = draw.choose("bottles", "screws", "cups", "toys", "envelopes")
    hourly = draw.calc(f"{fast} + {slow}")
    made = draw.calc(f"{hourly.text} * {hours}")
    good = draw.calc(f"{made.text} - {broken}")
    question = draw.choose(
        f"Two machines make {fast} and {slow} {what} an hour. In {hours} hours, {broken} turn out "
        f"faulty. How many good {what} are there?",
        f"One line produces {fast:,} {what} per hour and another {slow:,}. Both run for {hours} "
        f"hours; {broken:,} pieces are thrown away. How many {what} can be sold?",
        f"Night shift at the factory: machine A turns out {fast} {what} every hour, machine B "
        f"{slow}. They run {hours} hours side by side. The inspector rejects {broken} {what}. "
        f"How many pass?",
        f"How many {what} are fine after {hours} hours if two machines make {fast} and {slow} an "
        f"hour and {broken} are rejected?",
    )
    answer = draw.choose(
        f"Per hour they make {hourly} {what}, so {made} in all. Of those, {good} are good.",
        f"Together: {hourly} an hour. Made: {made}. Without the faulty ones: {good}.",
    )
    return draw.written(question, answer, good)


TRAIN = (
    shopping_total, change_from_payment, gains_and_losses, packs_shared, wages_and_bonus,
    times_as_many, recipe_for_more, seats_taken, boxes_needed, eggs_by_the_dozen, rest_of_the_work,
    weeks_of_saving, average_mark, pages_per_day, two_kinds_of_tickets, ages_apart,
)  # fmt: skip
TEST = (legs_in_the_field, cheaper_shop, tank_with_a_leak, how_many_at_first, two_machines)
