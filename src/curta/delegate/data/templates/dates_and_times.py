"""Times of day, durations, dates, ages, timetables; times of day are reckoned in minutes."""

from __future__ import annotations

from curta.delegate.data.draw import Call, Draw, Written

CATEGORY = "time"

EVENTS = ("film", "concert", "lecture", "rehearsal", "football match", "workshop", "play")
CITIES = (
    "Port Maren", "Velsa", "Ostrand", "Calmora", "Tirnell", "Quenby", "Haldor Bay", "Mirabad",
    "Sorrel City", "Novella", "East Ferring", "Lake Umber",
)  # fmt: skip
MONTHS = (
    ("January", 31), ("February", 28), ("March", 31), ("April", 30), ("May", 31), ("June", 30),
    ("July", 31), ("August", 31), ("September", 30), ("October", 31), ("November", 30),
    ("December", 31),
)  # fmt: skip
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def several(draw: Draw) -> int:
    """So many that the plural is right."""
    return max(2, draw.number())


def clock(minutes: int) -> str:
    """A time of day on the 24-hour clock."""
    return f"{minutes // 60}:{minutes % 60:02}"


def parts(draw: Draw, minutes: Call) -> tuple[Call, Call, str]:
    """Minutes in full hours, the minutes that are over, and both as they are read off a clock."""
    hours, over = draw.calc(f"{minutes.text} // 60"), draw.calc(f"{minutes.text} % 60")
    return hours, over, f"{hours.text}:{int(over.text):02}"


def hours_and_minutes(draw: Draw) -> Written:
    hours, minutes = several(draw), draw.between(2, 59)
    event = draw.choose(*EVENTS)
    result = draw.calc(f"{hours} * 60 + {minutes}")
    question = draw.choose(
        f"How many minutes are {hours} hours and {minutes} minutes?",
        f"{hours} h {minutes} min in minutes",
        f"Convert {hours:,} hours {minutes} minutes to minutes.",
        f"All the recordings of a {event} together run for {hours} hours and {minutes} minutes. "
        f"What is that in minutes?",
        f"The log says a pump ran {hours} h {minutes} min. Give this in minutes.",
    )
    answer = draw.choose(f"It is {result} minutes.", f"{result}", f"An hour has 60: {result}.")
    return draw.written(question, answer, result)


def smaller_units(draw: Draw) -> Written:
    large, small, factor = draw.choose(
        ("minutes", "seconds", 60), ("hours", "seconds", 3600), ("days", "hours", 24),
        ("weeks", "days", 7), ("days", "minutes", 1440), ("weeks", "hours", 168),
        ("centuries", "years", 100),
    )  # fmt: skip
    count = several(draw)
    result = draw.calc(f"{count} * {factor}")
    question = draw.choose(
        f"How many {small} are there in {count} {large}?",
        f"{count} {large} in {small}?",
        f"Turn {count:,} {large} into {small}.",
        f"For the village quiz I need {count} {large} in {small}. What is the number?",
    )
    answer = draw.choose(f"{result} {small}.", f"Multiply by {factor}: {result}.", f"{result}")
    return draw.written(question, answer, result)


def end_of_event(draw: Draw) -> Written:
    begin, length = draw.between(8 * 60, 20 * 60), draw.between(25, 215)
    event = draw.choose(*EVENTS)
    at = clock(begin)
    first = draw.calc(f"{begin // 60} * 60 + {begin % 60}")
    last = draw.calc(f"{first.text} + {length}")
    hours, minutes, end = parts(draw, last)
    question = draw.choose(
        f"A {event} begins at {at} and lasts {length} minutes. When does it end?",
        f"What time is it {length} minutes after {at}?",
        f"It is {at}. The {event} that is starting now takes {length} minutes. "
        f"At what time is it over?",
        f"{at} plus {length} minutes on the 24-hour clock?",
        f"Tickets were sold out a week ago. The {event} starts at {at} sharp and goes on for "
        f"{length} minutes. When can we leave for home?",
    )
    answer = draw.choose(
        f"The start is minute {first} of the day. The end is minute {last}. In full hours that is "
        f"{hours}, and the minutes over are {minutes}, so it is {end}.",
        f"In minutes: {first}. Then: {last}. Hours: {hours}. Minutes: {minutes}. That is {end}.",
    )
    return draw.written(question, answer, end)


def minutes_between(draw: Draw) -> Written:
    begin = draw.between(5 * 60, 18 * 60)
    end = begin + draw.between(20, 340)
    who, how = draw.name(), draw.choose("bus", "train", "ferry", "coach")
    first = draw.calc(f"{begin // 60} * 60 + {begin % 60}")
    last = draw.calc(f"{end // 60} * 60 + {end % 60}")
    result = draw.calc(f"{last.text} - {first.text}")
    start, stop = clock(begin), clock(end)
    question = draw.choose(
        f"How many minutes pass from {start} to {stop} on the same day?",
        f"{start} to {stop}: how many minutes?",
        f"The {how} leaves at {start} and arrives at {stop}. How many minutes is it on the way?",
        f"{who} takes the {how} at {start}, reads a newspaper, dozes off, and gets out at {stop}. "
        f"How many minutes was the ride?",
    )
    answer = draw.choose(
        f"{start} is minute {first} of the day, and {stop} is minute {last}. "
        f"Between them are {result} minutes.",
        f"From {first} to {last} minutes after midnight it is {result} minutes.",
    )
    return draw.written(question, answer, result)


def minutes_on_the_road(draw: Draw) -> Written:
    speed = 6 * draw.between(5, 20)
    distance = speed // 6 * draw.between(2, 40)
    vehicle = draw.choose("car", "coach", "lorry", "train", "motorbike")
    minute = draw.calc(f"{distance} * 60")
    result = draw.calc(f"{minute.text} / {speed}")
    question = draw.choose(
        f"How many minutes does a {vehicle} need for {distance} km at {speed} km/h?",
        f"A {vehicle} drives {distance} km at a steady {speed} km/h. How many minutes is that?",
        f"{distance} km at {speed} km/h: travel time in minutes?",
        f"The depot is {distance} kilometres away. With the roads clear, a {vehicle} keeps "
        f"to {speed} km/h all the way. After how many minutes does it get there?",
    )
    answer = draw.choose(
        f"At 1 km/h it would be {minute} minutes. At {speed} km/h it is {result} minutes.",
        f"Distance times 60: {minute}. Divided by the speed: {result} minutes.",
    )
    return draw.written(question, answer, result)


def distance_in_stages(draw: Draw) -> Written:
    slow, fast = draw.between(30, 70), draw.between(75, 130)
    one, two = draw.between(2, 6), draw.between(2, 6)
    who = draw.name()
    first, second = draw.calc(f"{slow} * {one}"), draw.calc(f"{fast} * {two}")
    result = draw.calc(f"{first.text} + {second.text}")
    question = draw.choose(
        f"{who} drives {one} hours at {slow} km/h and then {two} hours at {fast} km/h. "
        f"How far is that?",
        f"What distance is covered in {one} h at {slow} km/h followed by {two} h at {fast} km/h?",
        f"Fog kept {who} down to {slow} km/h for the first {one} hours. After that the sky cleared "
        f"and it went at {fast} km/h for another {two} hours. How many km did {who} drive?",
        f"Add up: {one} hours of {slow} km/h, {two} hours of {fast} km/h. Kilometres?",
    )
    answer = draw.choose(
        f"The first stage is {first} km and the second {second} km. Together: {result} km.",
        f"{first} km, then {second} km, which makes {result} km.",
    )
    return draw.written(question, answer, result)


def days_between_dates(draw: Draw) -> Written:
    early, late = sorted(draw.some(range(1, 12), 2))
    first, last = draw.between(1, MONTHS[early][1] - 1), draw.between(1, MONTHS[late][1])
    before, after = (" + ".join(str(days) for _, days in MONTHS[:month]) for month in (early, late))
    begin, end = f"{MONTHS[early][0]} {first}", f"{MONTHS[late][0]} {last}"
    one, two = draw.calc(f"{before} + {first}"), draw.calc(f"{after} + {last}")
    result = draw.calc(f"{two.text} - {one.text}")
    question = draw.choose(
        f"How many days is it from {begin} to {end} of the same year, which is no leap year?",
        f"Days from {begin} to {end} (not a leap year)?",
        f"A loan was taken out on {begin} and paid back on {end}. The year has 365 days. "
        f"After how many days was it paid back?",
        f"In a year of 365 days, a garden wall was begun on {begin} and ready on {end}, in spite "
        f"of a wet spring. How many days later was that?",
    )
    answer = draw.choose(
        f"{begin} is day {one} of the year, and {end} is day {two}. That is {result} days.",
        f"Day numbers: {one} and {two}. The difference is {result} days.",
    )
    return draw.written(question, answer, result)


def days_within_a_month(draw: Draw) -> Written:
    month, days = draw.choose(*MONTHS)
    first = draw.between(1, days - 4)
    last = draw.between(first + 2, days)
    what = draw.choose("exhibition", "book fair", "school camp", "film festival", "flower show")
    article = "an" if what[0] == "e" else "a"
    apart = draw.calc(f"{last} - {first}")
    result = draw.calc(f"{apart.text} + 1")
    question = draw.choose(
        f"{article.capitalize()} {what} is open from {month} {first} to {month} {last}, both days "
        f"included. On how many days is it open?",
        f"Counting both ends, how many days are there from {month} {first} through {month} {last}?",
        f"Posters all over town announce {article} {what}: it starts on {month} {first}, and "
        f"{month} {last} is its last day. How many days does it go on for?",
        f"{month} {first} to {last}, first and last day counted: how many days?",
    )
    answer = draw.choose(
        f"The dates are {apart} days apart. With the first day counted it is {result} days.",
        f"{apart} days later, and one more to count: {result}.",
    )
    return draw.written(question, answer, result)


def age_in_a_year(draw: Draw) -> Written:
    who, born = draw.name(), draw.between(1925, 2015)
    year = born + draw.between(5, min(95, 2060 - born))
    result = draw.calc(f"{year} - {born}")
    question = draw.choose(
        f"{who} was born in {born}. How old does {who} turn in {year}?",
        f"Which birthday does somebody born in {born} have in {year}?",
        f"Born in {born}, age reached in {year}?",
        f"On the back of an old photograph it says: {who}, born {born}. If {who} has a party in "
        f"{year}, how many years are celebrated?",
    )
    answer = draw.choose(f"The age is {result}.", f"From {born} to {year} it is {result} years.")
    return draw.written(question, answer, result)


def other_time_zone(draw: Draw) -> Written:
    here, there = draw.some(CITIES, 2)
    hour, minute, ahead = draw.between(0, 23), draw.between(0, 59), draw.between(2, 11)
    at = clock(hour * 60 + minute)
    shifted = draw.calc(f"{hour} + {ahead}")
    result = draw.calc(f"{shifted.text} % 24")
    then = f"{result.text}:{minute:02}"
    question = draw.choose(
        f"Suppose {there} is {ahead} hours ahead of {here}. What time is it in {there} when "
        f"it is {at} in {here}?",
        f"If clocks in {there} show {ahead} hours more than in {here}, and it is {at} in {here}, "
        f"what time is it in {there}?",
        f"Say that {here} is {ahead} hours behind {there}. A call is planned for {at}, {here} "
        f"time, and everybody has agreed. When is that in {there}?",
        f"{at} in a city, and in another one it is {ahead} hours later. What time is it there?",
    )
    answer = draw.choose(
        f"The hour becomes {shifted}, and on a 24-hour clock {result}, with the same minutes: "
        f"{then}.",
        f"Hours: {shifted}. Without full days: {result}. The minutes stay, so it is {then}.",
    )
    return draw.written(question, answer, then)


def lessons_and_breaks(draw: Draw) -> Written:
    lessons, length, pause = draw.between(3, 9), 5 * draw.between(7, 18), draw.between(5, 20)
    what = draw.choose("lessons", "talks", "training sessions", "interviews", "appointments")
    busy = draw.calc(f"{lessons} * {length}")
    gaps = draw.calc(f"{lessons} - 1")
    rest = draw.calc(f"{gaps.text} * {pause}")
    result = draw.calc(f"{busy.text} + {rest.text}")
    question = draw.choose(
        f"There are {lessons} {what} of {length} minutes with breaks of {pause} minutes between "
        f"them. How many minutes does it all take?",
        f"A day has {lessons} {what}, {length} minutes each, and {pause} minutes from one to the "
        f"next. What is the time from start to end, in minutes?",
        f"{lessons} x {length} min {what}, {pause} min break after each except the last. Total?",
        f"We booked the room in the old wing. It must be free for {lessons} {what} that last "
        f"{length} minutes, and we air it for {pause} minutes between one and the next. For how "
        f"many minutes do we need it?",
    )
    answer = draw.choose(
        f"The {what} take {busy} minutes. There are {gaps} breaks, which take {rest} minutes. "
        f"In all it is {result} minutes.",
        f"{what.capitalize()}: {busy}. Breaks: {gaps} and in minutes {rest}. Sum: {result}.",
    )
    return draw.written(question, answer, result)


def practice_in_hours(draw: Draw) -> Written:
    who, daily, days = draw.name(), 5 * draw.between(2, 24), 12 * draw.between(1, 30)
    what = draw.choose("the piano", "chess", "juggling", "Spanish", "the violin", "drawing")
    minutes = draw.calc(f"{daily} * {days}")
    result = draw.calc(f"{minutes.text} / 60")
    question = draw.choose(
        f"{who} practises {what} for {daily} minutes a day. How many hours is that in {days} days?",
        f"How many hours are {days} days with {daily} minutes of practice each?",
        f"Nobody had to remind {who}: for {days} days in a row there were {daily} minutes of "
        f"practising {what} after supper. What does that come to in hours?",
        f"{daily} minutes of {what} daily for {days} days, in hours?",
    )
    answer = draw.choose(
        f"That is {minutes} minutes. In hours it is {result}.",
        f"{minutes} minutes, or {result} hours.",
    )
    return draw.written(question, answer, result)


def average_speed(draw: Draw) -> Written:
    minutes = draw.choose(10, 12, 15, 20, 24, 30, 36, 40, 45, 50, 75, 90)
    speed = draw.between(2, 10) * 12
    distance = draw.calc(f"{speed} * {minutes} / 60").text
    vehicle = draw.choose("coach", "van", "taxi", "car", "regional train")
    scaled = draw.calc(f"{distance} * 60")
    result = draw.calc(f"{scaled.text} / {minutes}")
    question = draw.choose(
        f"A {vehicle} covers {distance} km in {minutes} minutes. What is its average speed in "
        f"km/h?",
        f"{distance} km in {minutes} min: how many km/h?",
        f"From the harbour to the airport a {vehicle} needed {minutes} minutes, with two stops. "
        f"The way is {distance} km long. Find the average speed in kilometres per hour.",
        f"What average speed, in km/h, takes you {distance} km in {minutes} minutes?",
    )
    answer = draw.choose(
        f"Sixty times the distance is {scaled} km. Over the minutes, that is {result} km/h.",
        f"{scaled} km, divided by the {minutes} minutes: {result} km/h.",
    )
    return draw.written(question, answer, result)


def repeated_by_the_minute(draw: Draw) -> Written:
    rate, hours = several(draw), draw.between(2, 24)
    what, does = draw.choose(
        ("A motor", "turns"),
        ("A wheel", "turns"),
        ("A sensor", "clicks"),
        ("A test lamp", "blinks"),
        ("A needle", "moves"),
    )
    minutes = draw.calc(f"{hours} * 60")
    result = draw.calc(f"{rate} * {minutes.text}")
    question = draw.choose(
        f"{what} {does} {rate} times a minute. How many times is that in {hours} hours?",
        f"At {rate} times per minute, how often does something happen in {hours} hours?",
        f"Outside the test hall it is getting dark. {what} {does} {rate:,} times every "
        f"minute. How many times does that happen in {hours} hours?",
        f"{rate} per minute, {hours} hours long: how many in total?",
    )
    answer = draw.choose(
        f"There are {minutes} minutes. In that time it happens {result} times.",
        f"{minutes} minutes at {rate} a minute make {result}.",
    )
    return draw.written(question, answer, result)


def beyond_full_units(draw: Draw) -> Written:
    large, small, factor = draw.choose(
        ("days", "hours", 24), ("weeks", "days", 7), ("hours", "minutes", 60)
    )
    count = factor * draw.between(2, 9) + several(draw)
    full = draw.calc(f"{count} // {factor}")
    over = draw.calc(f"{count} % {factor}")
    question = draw.choose(
        f"Taking all the full {large} out of {count} {small}, how many {small} are left over?",
        f"A voyage took {count} {small}. How many {small} is that beyond the full {large}?",
        f"{count:,} {small} are how many full {large}, and how many {small} remain? "
        f"Give the {small} that remain.",
        f"How many {small} are over when {count} {small} are written in full {large}?",
    )
    answer = draw.choose(
        f"Full {large}: {full}. What is left in {small}: {over}.",
        f"There are {full} full {large} and {over} over.",
    )
    return draw.written(question, answer, over)


def weekday_later(draw: Draw) -> Written:
    today, days = draw.between(0, 6), several(draw) + 7
    name = WEEKDAYS[today]
    over = draw.calc(f"{days} % 7")
    number = draw.calc(f"({today} + {over.text}) % 7")
    later = WEEKDAYS[int(number.text)]
    question = draw.choose(
        f"Today is {name}. What day of the week is it in {days} days?",
        f"Which weekday comes {days} days after a {name}?",
        f"On a {name} the seeds were put into the ground, and the packet says {days:,} days until "
        f"harvest. What day of the week will that be?",
        f"{name} + {days} days = which weekday?",
    )
    answer = draw.choose(
        f"Beyond full weeks that is {over} more. With Monday as 0, {name} is {today} and the day "
        f"is number {number}, which is {later}.",
        f"Days beyond full weeks: {over}. Counting from Monday as 0: {number}. That is a {later}.",
    )
    return draw.written(question, answer, later)


def night_hours(draw: Draw) -> Written:
    begin, end = draw.between(20 * 60, 23 * 60 + 55), draw.between(4 * 60, 9 * 60)
    who, why = draw.name(), draw.choose("sleeps", "works", "keeps watch", "drives")
    bed, up = clock(begin), clock(end)
    before = draw.calc(f"24 * 60 - ({begin // 60} * 60 + {begin % 60})")
    after = draw.calc(f"{end // 60} * 60 + {end % 60}")
    result = draw.calc(f"{before.text} + {after.text}")
    question = draw.choose(
        f"{who} {why} from {bed} in the evening until {up} the next morning. "
        f"How many minutes is that?",
        f"How many minutes are there between {bed} and {up} on the following day?",
        f"From {bed} to {up}, past midnight: how many minutes?",
        f"There is a storm outside, but {who} {why} until {up}, having begun at {bed} the evening "
        f"before. How long is this, in minutes?",
    )
    answer = draw.choose(
        f"Until midnight it is {before} minutes. After it, {after} minutes. Together: {result}.",
        f"{before} minutes before midnight and {after} after it make {result} minutes.",
    )
    return draw.written(question, answer, result)


def trains_that_meet(draw: Draw) -> Written:
    one, two = 5 * draw.between(8, 26), 5 * draw.between(8, 26)
    apart = (one + two) // 5 * draw.between(6, 30)
    closing = draw.calc(f"{one} + {two}")
    hours = draw.calc(f"{apart} / {closing.text}")
    result = draw.calc(f"{hours.text} * 60")
    question = draw.choose(
        f"Two trains {apart} km apart go towards each other at {one} km/h and {two} km/h. "
        f"After how many minutes do they meet?",
        f"In how many minutes do two cars meet that start {apart} km apart, one at {one} km/h and "
        f"the other at {two} km/h, heading for each other?",
        f"Two stations lie {apart} km apart on a straight line through the plain. At noon a train "
        f"leaves each for the other, at {one} and at {two} km/h. How many minutes after noon "
        f"do they pass each other?",
        f"Distance {apart} km, speeds {one} and {two} km/h, head-on: minutes until they meet?",
    )
    answer = draw.choose(
        f"They close in at {closing} km/h. They meet after {hours} hours. "
        f"That is {result} minutes.",
        f"Closing speed: {closing}. Hours: {hours}. Minutes: {result}.",
    )
    return draw.written(question, answer, result)


def next_time_together(draw: Draw) -> Written:
    one, two = draw.some(range(6, 33), 2)
    begin = draw.between(5 * 60, 7 * 60)
    at = clock(begin)
    both = draw.calc(f"lcm({one}, {two})")
    later = draw.calc(f"{begin // 60} * 60 + {begin % 60} + {both.text}")
    hours, minutes, then = parts(draw, later)
    question = draw.choose(
        f"Two buses leave together at {at}. One goes every {one} minutes, the other every {two}. "
        f"When do they next leave together?",
        f"Bell A rings every {one} minutes and bell B every {two}. Both ring at {at}. At what time "
        f"do both ring again?",
        f"Every {one} minutes a blue tram sets out, and every {two} minutes a green one. The day "
        f"begins with both at {at}. When do they next start at the same minute?",
        f"Repeat times {one} min and {two} min, both at {at}: next common time?",
    )
    answer = draw.choose(
        f"They coincide every {both} minutes. After midnight, that is minute {later} of the day. "
        f"Hours: {hours}. Minutes: {minutes}. So it is {then}.",
        f"Common interval: {both}. Minute of the day: {later}. Hour: {hours}. Minute: {minutes}.",
    )
    return draw.written(question, answer, then)


def latest_departure(draw: Draw) -> Written:
    due, walk = draw.between(10 * 60, 21 * 60), draw.between(6, 35)
    ride, spare = draw.between(15, 140), draw.between(5, 45)
    where = draw.choose("airport", "clinic", "theatre", "exam hall", "law court")
    at = clock(due)
    needed = draw.calc(f"{walk} + {ride} + {spare}")
    leave = draw.calc(f"{due // 60} * 60 + {due % 60} - {needed.text}")
    hours, minutes, then = parts(draw, leave)
    question = draw.choose(
        f"I must be at the {where} at {at}. The walk takes {walk} minutes, the train {ride} "
        f"minutes, and I want {spare} minutes to spare. When should I leave?",
        f"To arrive at {at} after {walk} minutes on foot and {ride} minutes by bus, with {spare} "
        f"minutes in reserve, when do you have to set out?",
        f"Be at the {where} by {at}; {walk} min walk, {ride} min ride, {spare} min margin. "
        f"Departure time?",
        f"The letter says {at} and asks everybody to be punctual. To the {where} it is a ride of "
        f"{ride} minutes and a walk of {walk}, and {spare} minutes should be left for the queue. "
        f"What is the latest time to go?",
    )
    answer = draw.choose(
        f"The way and the reserve take {needed} minutes. So leave at minute {leave} of the day. "
        f"Hours: {hours}. Minutes: {minutes}. That is {then}.",
        f"Needed: {needed} minutes. Minute of departure: {leave}. That is hour {hours} and "
        f"minute {minutes}.",
    )
    return draw.written(question, answer, then)


TRAIN = (
    hours_and_minutes,
    smaller_units,
    end_of_event,
    minutes_between,
    minutes_on_the_road,
    distance_in_stages,
    days_between_dates,
    days_within_a_month,
    age_in_a_year,
    other_time_zone,
    lessons_and_breaks,
    practice_in_hours,
    average_speed,
    repeated_by_the_minute,
    beyond_full_units,
)
TEST = (weekday_later, night_hours, trains_that_meet, next_time_together, latest_departure)
