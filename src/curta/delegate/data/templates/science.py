"""Statistics, physics, chemistry, geometry and biology, as far as a formula goes."""

from __future__ import annotations

from curta.delegate.data.draw import Draw, Written

CATEGORY = "science"

MEASURED = (
    "number of visitors",
    "catch in kilograms",
    "energy use in kWh",
    "number of seeds",
    "milk yield in litres",
    "cell count",
)
VEHICLES = ("train", "lorry", "coach", "delivery van", "motorbike")
THINGS = ("cart", "crate", "block", "robot", "boulder", "wagon")
METALS = ("an alloy", "an unknown metal", "a grey metal", "a heavy mineral", "ore")
SUBSTANCES = (
    ("water", "18"),
    ("carbon dioxide", "44"),
    ("oxygen gas", "32"),
    ("methane", "16"),
    ("calcium carbonate", "100"),
    ("table salt", "58.5"),
    ("sodium hydroxide", "40"),
    ("glucose", "180"),
)
CELLS = ("an onion cell", "a pollen grain", "a leaf cell", "a cheek cell")


def listed(numbers: list[int]) -> str:
    """Numbers in a sentence."""
    return f"{', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


def mean_of_readings(draw: Draw) -> Written:
    who, what = draw.name(), draw.choose(*MEASURED)
    numbers = [draw.number() + 1 for _ in range(draw.choose(4, 5, 8, 10))]
    total = draw.calc(" + ".join(map(str, numbers)))
    mean = draw.calc(f"{total.text} / {len(numbers)}")
    question = draw.choose(
        f"What is the mean of {listed(numbers)}?",
        f"On different days, {who} recorded the {what}: {listed(numbers)}. What was the average?",
        f"Find the arithmetic mean: {', '.join(map(str, numbers))}",
        f"These values of the {what} are in a lab notebook: {listed(numbers)}. Calculate "
        "their mean.",
        f"Average of {', '.join(map(str, numbers))}?",
    )
    answer = draw.choose(
        f"The sum of the values is {total}. There are {len(numbers)}, so the mean is {mean}.",
        f"Sum: {total}. Divided by their number: {mean}.",
    )
    return draw.written(question, answer, mean)


def median_of_even(draw: Draw) -> Written:
    who, what = draw.name(), draw.choose(*MEASURED)
    numbers = [draw.number() + 1 for _ in range(draw.choose(4, 6, 8))]
    ordered = sorted(numbers)
    low, high = ordered[len(ordered) // 2 - 1], ordered[len(ordered) // 2]
    median = draw.calc(f"({low} + {high}) / 2")
    question = draw.choose(
        f"What is the median of {listed(numbers)}?",
        f"{who} noted the {what} {len(numbers)} times and got {listed(numbers)}. Find the median.",
        f"Median of {', '.join(map(str, numbers))}?",
        f"Sort these numbers and give their median: {', '.join(map(str, numbers))}.",
    )
    answer = draw.choose(
        f"In order: {', '.join(map(str, ordered))}. The two in the middle are {low} and {high}. "
        f"Halfway between them is {median}.",
        f"Sorted, the values are {listed(ordered)}. The mean of the middle two is {median}.",
    )
    return draw.written(question, answer, median)


def range_of_values(draw: Draw) -> Written:
    who, what = draw.name(), draw.choose(*MEASURED)
    numbers = [draw.number() + 1 for _ in range(draw.between(4, 7))]
    high, low = max(numbers), min(numbers)
    spread = draw.calc(f"{high} - {low}")
    question = draw.choose(
        f"What is the range of {listed(numbers)}?",
        f"Over some weeks {who} noted the {what}: {listed(numbers)}. What is the range?",
        f"How far apart are the greatest and the smallest of {listed(numbers)}?",
        f"Range of the data {', '.join(map(str, numbers))}?",
    )
    answer = draw.choose(
        f"The greatest value is {high} and the smallest is {low}. The range is {spread}.",
        f"Greatest {high}, smallest {low}: they are {spread} apart.",
    )
    return draw.written(question, answer, spread)


def weighted_mean(draw: Draw) -> Written:
    who, share = draw.name(), draw.choose(20, 25, 30, 40, 50)
    rest = 100 - share
    paper, exam = draw.between(30, 100), draw.between(30, 100)
    first = draw.calc(f"{paper} * {share} / 100")
    second = draw.calc(f"{exam} * {rest} / 100")
    grade = draw.calc(f"{first.text} + {second.text}")
    question = draw.choose(
        f"Coursework counts {share}% and the exam {rest}%. {who} got {paper} points in the "
        f"coursework and {exam} in the exam. What is the final grade?",
        f"What is the weighted mean of {paper} (weight {share}%) and {exam} (weight {rest}%)?",
        f"Final mark: {paper} at {share} percent plus {exam} at {rest} percent?",
        f"In our chemistry course the lab report makes up {share}% of the mark and the written "
        f"test {rest}%. With {paper} points for the report and {exam} for the test, what is the "
        "mark?",
    )
    answer = draw.choose(
        f"The first part gives {first} and the second {second}. The weighted mean is {grade}.",
        f"Weighted, the marks are {first} and {second}. Together: {grade}.",
    )
    return draw.written(question, answer, grade)


def speed(draw: Draw) -> Written:
    vehicle, hours, pace = draw.choose(*VEHICLES), draw.between(2, 9), draw.between(30, 110)
    road = hours * pace
    more = draw.choose(*(other for other in range(2, 11) if other != hours))
    result = draw.calc(f"{road} / {hours}")
    further = draw.calc(f"{result.text} * {more}")
    question = draw.choose(
        f"A {vehicle} covers {road} km in {hours} hours. At the same speed, how many kilometres "
        f"does it cover in {more} hours?",
        f"If a {vehicle} needs {hours} hours for {road} km, how far does it get in {more} hours?",
        f"{road} km take {hours} h. How many km are that in {more} h?",
        f"The driver of a {vehicle} has done {road} km by lunchtime, in {hours} hours without a "
        f"stop. Going on like this, what distance would {more} hours make?",
    )
    answer = draw.choose(
        f"The speed is {result} km/h. In {more} hours that makes {further} km.",
        f"Each hour it goes {result} km, so the distance is {further} km.",
    )
    return draw.written(question, answer, further)


def force(draw: Draw) -> Written:
    thing, mass, push = draw.choose(*THINGS), draw.number() + 1, draw.decimal(0.2, 9, 1)
    result = draw.calc(f"{mass} * {push}")
    question = draw.choose(
        f"What force accelerates a {thing} of {mass} kg at {push} m/s²?",
        f"A {thing} with a mass of {mass} kg speeds up by {push} metres per second every second. "
        "Find the net force in newtons.",
        f"F = m a with m = {mass} kg and a = {push} m/s². What is F?",
        f"Compute the force in newtons needed to give {mass} kg an acceleration of {push} m/s².",
        f"On smooth ice, a {thing} of {mass:,} kg is pulled so that it accelerates at {push} m/s². "
        "How strong is the pull, in newtons?",
    )
    answer = draw.choose(
        f"Force is mass times acceleration: {result} newtons.",
        f"F = m a, which is {result} N.",
    )
    return draw.written(question, answer, result)


def electric_power(draw: Draw) -> Written:
    device = draw.choose("heater", "coil", "motor", "furnace", "pump")
    current, ohms = draw.between(2, 12), draw.number() + 1
    volts = current * ohms
    amperes = draw.calc(f"{volts} / {ohms}")
    watts = draw.calc(f"{volts} * {amperes.text}")
    question = draw.choose(
        f"A {device} with a resistance of {ohms} ohms is connected to {volts} volts. What power, "
        "in watts, does it take?",
        f"Find the power of a resistor of {ohms} Ω at {volts} V.",
        f"With Ohm's law, work out first the current and then the power for {volts} V and {ohms} "
        "ohms.",
        f"In a factory test a {device} ({ohms} ohms) is run from a supply set to {volts} V. "
        "How many watts is that?",
    )
    answer = draw.choose(
        f"The current is {amperes} amperes. The power is {watts} watts.",
        f"I = U / R: {amperes} A. P = U I: {watts} W.",
    )
    return draw.written(question, answer, watts)


def density(draw: Draw) -> Written:
    metal, long, wide, high = draw.choose(*METALS), *(draw.between(2, 20) for _ in range(3))
    volume = draw.calc(f"{long} * {wide} * {high}")
    mass = long * wide * high * draw.between(5, 11) + draw.between(0, 30)
    result = draw.rounded(f"{mass} / {volume.text}")
    question = draw.choose(
        f"A block of {metal} measures {long} cm by {wide} cm by {high} cm and has a mass of {mass} "
        "g. What is its density in g/cm³, to two decimals?",
        f"Density (g/cm³, 2 decimals) of a {mass} g cuboid of {long} x {wide} x {high} cm.",
        f"On the balance a bar made of {metal} shows {mass:,} g. Its edges are {long}, {wide} and "
        f"{high} cm. Calculate the density, rounded to two decimals.",
        f"Mass {mass} g, edges {long} cm, {wide} cm and {high} cm: density to 2 decimals?",
    )
    answer = draw.choose(
        f"The volume is {volume} cm³. Mass divided by volume gives {result} g/cm³.",
        f"Volume: {volume}. Density: {result}.",
    )
    return draw.written(question, answer, result)


def pressure(draw: Draw) -> Written:
    thing, long, wide = draw.choose(*THINGS), draw.between(2, 9), draw.between(2, 9)
    weight = long * wide * draw.number()
    area = draw.calc(f"{long} * {wide}")
    result = draw.calc(f"{weight} / {area.text}")
    question = draw.choose(
        f"A load of {weight} newtons rests on a platform of {long} m by {wide} m. What is the "
        "pressure in pascals?",
        f"What pressure do {weight} N make on a surface {long} m long and {wide} m wide?",
        f"A {thing} stands in the middle of a steel plate of {long} m by {wide} m; plate and load "
        f"together weigh {weight:,} N. Find the pressure under the plate in Pa.",
        f"Pressure = force / area. The force is {weight} N and the area a rectangle of {long} m by "
        f"{wide} m. How many pascals?",
    )
    answer = draw.choose(
        f"The area is {area} m². The pressure is {result} pascals.",
        f"Area: {area}. Force by area: {result}.",
    )
    return draw.written(question, answer, result)


def kinetic_energy(draw: Draw) -> Written:
    thing, mass, pace = draw.choose(*THINGS), draw.number() + 1, draw.between(2, 30)
    square = draw.calc(f"{pace} ^ 2")
    energy = draw.calc(f"{mass} * {square.text} / 2")
    question = draw.choose(
        f"What is the kinetic energy of a {thing} of {mass} kg moving at {pace} m/s?",
        f"Kinetic energy in joules for m = {mass} kg, v = {pace} m/s?",
        f"A {thing} of {mass:,} kg starts at the top of a slope and reaches {pace} m/s below. How "
        "much kinetic energy does it have then?",
        f"Compute half the mass times the speed squared for {mass} kg and {pace} m/s.",
    )
    answer = draw.choose(
        f"The speed squared is {square}. Half of that times the mass is {energy} joules.",
        f"v²: {square}. m v² / 2: {energy} J.",
    )
    return draw.written(question, answer, energy)


def moles(draw: Draw) -> Written:
    (what, molar), amount = draw.choose(*SUBSTANCES), draw.between(2, 40)
    mass = draw.calc(f"{amount} * {molar}").text
    count = draw.calc(f"{mass} / {molar}")
    question = draw.choose(
        f"How many moles are {mass} g of {what}? Its molar mass is {molar} g/mol.",
        f"Convert {mass} grams of {what} (M = {molar} g/mol) to moles.",
        f"In the lab there is a bottle with {mass} g of {what}, molar mass {molar} g/mol. What "
        "amount of substance is that, in moles?",
        f"n = m / M. What is n for {mass} g of {what}, when M is {molar} g/mol?",
    )
    answer = draw.choose(
        f"Mass divided by molar mass is {count} mol.",
        f"The amount is {count} moles.",
    )
    return draw.written(question, answer, count)


def dilution(draw: Draw) -> Written:
    factor, volume, end = draw.between(2, 8), draw.number() + 1, draw.decimal(0.1, 1.5, 1)
    strong = draw.calc(f"{factor} * {end}").text
    what = draw.choose("salt solution", "dye", "sugar solution", "copper solution")
    total = draw.calc(f"{strong} * {volume} / {end}")
    water = draw.calc(f"{total.text} - {volume}")
    question = draw.choose(
        f"How much water turns {volume} ml of {strong} M {what} into {end} M?",
        f"You have {volume} ml of a {what} at {strong} mol/l and want {end} mol/l. How many "
        "millilitres of water do you add?",
        f"Dilute {volume:,} ml from {strong} M to {end} M: volume of water to add?",
        f"A technician thins {volume} ml of {what} from {strong} mol/l down to {end} mol/l for a "
        "class of students. How many ml of water does it take?",
    )
    answer = draw.choose(
        f"The volume afterwards is {total} ml. The water to add is {water} ml.",
        f"Final volume: {total}. Take off what was there: {water}.",
    )
    return draw.written(question, answer, water)


def circle_area(draw: Draw) -> Written:
    thing, radius = draw.choose("pond", "table top", "lawn", "pizza", "stage"), draw.between(2, 60)
    square = draw.calc(f"{radius} ^ 2")
    area = draw.rounded(f"pi * {square.text}")
    question = draw.choose(
        f"What is the area of a circle with a radius of {radius} cm, to two decimals?",
        f"A round {thing} is {2 * radius} units across. Find its area, rounded to two decimals.",
        f"Circle, diameter {2 * radius}: area (2 decimals)?",
        f"How large is the surface of a circular {thing} if it is {radius} units from the middle "
        "to the edge? Two decimals, please.",
    )
    answer = draw.choose(
        f"The radius is {radius}, and its square is {square}. Times pi that is {area}.",
        f"With a radius of {radius}, r² is {square}. So the area is {area}.",
    )
    return draw.written(question, answer, area)


def cylinder_volume(draw: Draw) -> Written:
    thing = draw.choose("water tank", "tin", "silo", "candle", "drum")
    radius, high = draw.between(2, 40), draw.between(2, 90)
    volume = draw.rounded(f"pi * {radius}^2 * {high}")
    question = draw.choose(
        f"What is the volume of a cylinder with radius {radius} and height {high}? (2 decimals)",
        f"A {thing} has a radius of {radius} and a height of {high} units. How much space is in "
        "it, to two decimals?",
        f"Calculate how many cubic units a {thing} holds that is {high} high and {radius} in "
        "radius, rounded to two decimals.",
        f"Volume of a {thing}, a cylinder of radius {radius} and height {high}, 2 decimals?",
    )
    answer = draw.choose(
        f"Pi times radius squared times height is {volume} cubic units.",
        f"The volume is {volume}.",
    )
    return draw.written(question, answer, volume)


def doubling(draw: Draw) -> Written:
    start, minutes, times = draw.number() + 1, draw.choose(15, 20, 30, 40), draw.between(3, 10)
    species = draw.choose("bacteria", "microbes", "germs")
    span = minutes * times
    doublings = draw.calc(f"{span} / {minutes}")
    count = draw.calc(f"{start} * 2 ^ {doublings.text}")
    question = draw.choose(
        f"A culture of {start} {species} doubles every {minutes} minutes. How many are there after "
        f"{span} minutes?",
        f"How many {species} do {start} become in {span} minutes if they double every {minutes}?",
        f"{start:,} {species} are put in a warm dish with plenty to feed on. Their number doubles "
        f"each {minutes} minutes. What is it {span} minutes later?",
        f"Start {start}, doubling time {minutes} min, elapsed {span} min: final number of "
        f"{species}?",
    )
    answer = draw.choose(
        f"There are {doublings} doublings. That makes {count} {species}.",
        f"Doublings: {doublings}. Number in the end: {count}.",
    )
    return draw.written(question, answer, count)


def magnification(draw: Draw) -> Written:
    cell, real, power = draw.choose(*CELLS), draw.between(30, 90), draw.between(2, 90) * 10
    image = draw.calc(f"{real} * {power} / 1000").text
    micro = draw.calc(f"{image} * 1000")
    result = draw.calc(f"{micro.text} / {real}")
    question = draw.choose(
        f"In a drawing {cell} is {image} mm wide. In reality it measures {real} micrometres. What "
        "is the magnification?",
        f"Find the magnification: image {image} mm, object {real} µm.",
        f"Under the microscope {cell} of {real} micrometres shows up {image} mm wide on the photo. "
        "How many times is it magnified?",
        f"By what factor is {cell} enlarged if {real} µm become {image} mm?",
    )
    answer = draw.choose(
        f"The image is {micro} micrometres wide. Divided by the real size that is {result}.",
        f"In micrometres, the image has {micro}. The magnification is {result}.",
    )
    return draw.written(question, answer, result)


def variance(draw: Draw) -> Written:
    middle, step, far = draw.number() + 40, draw.between(1, 9), draw.between(10, 30)
    numbers = draw.some([middle - far, middle - step, middle + step, middle + far], 4)
    total = draw.calc(" + ".join(map(str, numbers)))
    mean = draw.calc(f"{total.text} / 4")
    squares = draw.calc(" + ".join(f"({number} - {mean.text})^2" for number in numbers))
    result = draw.calc(f"{squares.text} / 4")
    question = draw.choose(
        f"What is the population variance of {listed(numbers)}?",
        f"Compute the variance (dividing by 4) of the values {', '.join(map(str, numbers))}.",
        f"Four villages have {listed(numbers)} inhabitants. What is the variance of the whole "
        "group, not of a sample?",
        f"Find σ² for the population {', '.join(map(str, numbers))}.",
    )
    answer = (
        f"The sum is {total} and the mean {mean}. The squared differences from it add up to "
        f"{squares}. The variance is {result}."
    )
    return draw.written(question, answer, result)


def drawing_balls(draw: Draw) -> Written:
    red, blue, taken = draw.between(4, 14), draw.between(2, 14), draw.between(2, 4)
    good = draw.calc(f"comb({red}, {taken})")
    every = draw.calc(f"comb({red} + {blue}, {taken})")
    chance = draw.rounded(f"{good.text} / {every.text}", 4)
    question = draw.choose(
        f"A bag holds {red} red and {blue} blue balls. {taken} are taken without looking. What is "
        "the probability that all are red, to four decimals?",
        f"Of {red + blue} light bulbs {blue} are broken. If you pick {taken} at random, how likely "
        "is it that all of them work? Four decimals.",
        f"Probability (4 decimals) of drawing {taken} red out of {red} red and {blue} blue without "
        "putting any back?",
        f"From {red} women and {blue} men, a committee of {taken} is drawn by lot. What is the "
        "chance that it has women only, rounded to 4 decimals?",
    )
    answer = (
        f"There are {good} good choices. Among {every} choices in all, the probability is {chance}."
    )
    return draw.written(question, answer, chance)


def parallel_resistors(draw: Draw) -> Written:
    first, second = draw.between(2, 90) * 5, draw.between(2, 90) * 5
    top = draw.calc(f"{first} * {second}")
    below = draw.calc(f"{first} + {second}")
    result = draw.rounded(f"{top.text} / {below.text}")
    question = draw.choose(
        f"Resistors of {first} ohms and {second} ohms are in parallel. What is their total, to two "
        "decimals?",
        f"What single resistor replaces {first} Ω parallel to {second} Ω (2 decimals)?",
        f"In an old radio, someone soldered a {second} ohm resistor across one of {first} ohms. "
        "What do they measure together? Round to two decimals.",
        f"Combine {first} Ω || {second} Ω, two decimals.",
    )
    answer = f"The product is {top} and the sum is {below}. Product by sum gives {result} ohms."
    return draw.written(question, answer, result)


def heating(draw: Draw) -> Written:
    mass, low = draw.number() + 1, draw.between(5, 30)
    high = low + draw.between(5, 60)
    rise = draw.calc(f"{high} - {low}")
    energy = draw.calc(f"{mass} * 4.2 * {rise.text}")
    question = draw.choose(
        f"How many joules heat {mass} g of water from {low} °C to {high} °C? Water takes 4.2 J per "
        "gram and degree.",
        f"Heat needed: {mass} g of water, {low} °C to {high} °C, c = 4.2 J/(g °C)?",
        f"For a canteen, {mass:,} g of water at {low} °C are brought to {high} °C. With 4.2 joules "
        "for each gram and degree, how much energy goes into the water?",
        f"Using c = 4.2 J/(g °C), find the energy that warms {mass} g of water from {low} to "
        f"{high} °C.",
    )
    answer = f"The water warms by {rise} degrees. That takes {energy} joules."
    return draw.written(question, answer, energy)


def half_life(draw: Draw) -> Written:
    days, halves = draw.between(2, 30), draw.between(2, 5)
    start, span = draw.number() * 2**halves, days * halves
    count = draw.calc(f"{span} / {days}")
    left = draw.calc(f"{start} / 2 ^ {count.text}")
    question = draw.choose(
        f"A sample holds {start} mg of an isotope with a half-life of {days} days. How much is "
        f"left after {span} days?",
        f"What remains of {start} mg after {span} days if half decays every {days} days?",
        f"In a pond, half of a pollutant breaks down every {days} hours. Of {start:,} mg, how many "
        f"are left after {span} hours?",
        f"Half-life {days} years, elapsed {span} years, start {start} g: how many grams are left?",
    )
    answer = f"That is {count} half-lives. What is left is {left}."
    return draw.written(question, answer, left)


TRAIN = (
    mean_of_readings,
    median_of_even,
    range_of_values,
    weighted_mean,
    speed,
    force,
    electric_power,
    density,
    pressure,
    kinetic_energy,
    moles,
    dilution,
    circle_area,
    cylinder_volume,
    doubling,
    magnification,
)
TEST = (variance, drawing_balls, parallel_resistors, heating, half_life)
