"""Conversions between units: metric, imperial, kitchen, data; of one step and of two."""

from __future__ import annotations

from curta.delegate.data.draw import Draw, Written

CATEGORY = "units"

METRIC_LENGTHS = (
    ("kilometres", "metres", "km", "m", 1000),
    ("metres", "centimetres", "m", "cm", 100),
    ("metres", "millimetres", "m", "mm", 1000),
    ("centimetres", "millimetres", "cm", "mm", 10),
)
LARGE_AND_SMALL = (
    ("kilograms", "grams", "kg", "g", 1000),
    ("tonnes", "kilograms", "t", "kg", 1000),
    ("grams", "milligrams", "g", "mg", 1000),
    ("litres", "millilitres", "L", "mL", 1000),
    ("litres", "centilitres", "L", "cL", 100),
)
IMPERIAL_LENGTHS = (
    ("feet", "inches", "ft", "in", 12),
    ("yards", "feet", "yd", "ft", 3),
    ("miles", "feet", "mi", "ft", 5280),
    ("miles", "yards", "mi", "yd", 1760),
)
DATA_SIZES = (
    ("GiB", "MiB", 1024),
    ("MiB", "KiB", 1024),
    ("KiB", "bytes", 1024),
    ("GB", "MB", 1000),
    ("TB", "GB", 1000),
)


def several(draw: Draw) -> int:
    """So many that the plural is right."""
    return max(2, draw.number())


def metric_length(draw: Draw) -> Written:
    large, small, short, shorter, factor = draw.choose(*METRIC_LENGTHS)
    count = several(draw)
    result = draw.calc(f"{count} * {factor}")
    question = draw.choose(
        f"How many {small} are {count} {large}?",
        f"{count} {short} in {shorter}?",
        f"Convert {count} {large} to {small}.",
        f"A length of {count:,} {large} is the same as how many {small}?",
        f"The label on the cable drum says {count} {short}. What is that in {small}?",
    )
    answer = draw.choose(
        f"{result}",
        f"Multiply by {factor}: {result} {shorter}.",
        f"In {small} that is {result}.",
    )
    return draw.written(question, answer, result)


def mass_or_volume_down(draw: Draw) -> Written:
    large, small, short, shorter, factor = draw.choose(*LARGE_AND_SMALL)
    count = draw.decimal(1.1, 90, 2) if draw.random.random() < 0.4 else str(several(draw))
    result = draw.calc(f"{count} * {factor}")
    question = draw.choose(
        f"Express {count} {large} in {small}.",
        f"{count} {short} = ? {shorter}",
        f"How many {small} make {count} {large}?",
        f"An order list gives {count} {short}, but the form asks for {small}. What do I enter?",
        f"Please change {count} {short} into {shorter}.",
    )
    answer = draw.choose(f"It is {result} {shorter}.", f"{result}", f"Times {factor}: {result}.")
    return draw.written(question, answer, result)


def mass_or_volume_up(draw: Draw) -> Written:
    large, small, short, shorter, factor = draw.choose(*LARGE_AND_SMALL)
    count = several(draw)
    result = draw.calc(f"{count} / {factor}")
    question = draw.choose(
        f"What is {count} {small} in {large}?",
        f"{count} {shorter} to {short}",
        f"Convert {count:,} {small} into {large}.",
        f"The delivery note says {count} {shorter}. How much is that in {large}?",
        f"Write {count} {shorter} as {large}.",
    )
    answer = draw.choose(
        f"Divide by {factor}: {result} {short}.", f"That is {result} {short}.", f"{result}"
    )
    return draw.written(question, answer, result)


def imperial_length(draw: Draw) -> Written:
    large, small, short, shorter, factor = draw.choose(*IMPERIAL_LENGTHS)
    count = several(draw)
    result = draw.calc(f"{count} * {factor}")
    question = draw.choose(
        f"How many {small} are in {count} {large}?",
        f"{count} {short} -> {shorter}",
        f"Convert {count} {large} to {small}, please.",
        f"The old deed says the boundary runs for {count:,} {large}. Give that in {small}.",
        f"{count} {large} equals how many {small}?",
    )
    answer = draw.choose(f"With {factor} to one, it is {result} {small}.", f"{result} {shorter}.")
    return draw.written(question, answer, result)


def inches_to_centimetres(draw: Draw) -> Written:
    count = several(draw)
    thing = draw.choose("hose", "rope", "cable", "banner", "chain")
    result = draw.calc(f"{count} * 2.54")
    question = draw.choose(
        f"What is {count} inches in centimetres?",
        f"{count} in to cm",
        f"Convert {count:,} inches to cm.",
        f"A {thing} in an American catalogue measures {count} inches. How many centimetres is it?",
        f"How many centimetres are {count} inches (1 in = 2.54 cm)?",
    )
    answer = draw.choose(f"An inch is 2.54 cm, so it is {result} cm.", f"{result} cm.")
    return draw.written(question, answer, result)


def pounds_to_kilograms(draw: Draw) -> Written:
    count = several(draw)
    what = draw.choose("boulder", "crate", "boat", "machine", "load of gravel")
    result = draw.rounded(f"{count} * 0.45359237")
    question = draw.choose(
        f"How many kilograms are {count} pounds, to two decimals?",
        f"{count} lb in kg, rounded to 2 decimals",
        f"A {what} weighs {count} pounds. Give its mass in kg to two decimal places.",
        f"Convert {count:,} lb to kilograms and round to hundredths.",
        f"The scale at the harbour shows {count} lb. Our papers need kilograms with two decimals. "
        f"What do we write?",
    )
    answer = draw.choose(f"One pound is 0.45359237 kg, so it is {result} kg.", f"{result} kg.")
    return draw.written(question, answer, result)


def kilometres_to_miles(draw: Draw) -> Written:
    count = several(draw)
    result = draw.rounded(f"{count} / 1.609344")
    question = draw.choose(
        f"How far is {count} km in miles? Round to two decimals.",
        f"{count} km to miles (2 decimals)",
        f"Convert {count:,} kilometres to miles, to the nearest hundredth.",
        f"The sign by the road says {count} km to the border. My car only knows miles. "
        f"How many is that, to two decimals?",
        f"Give {count} kilometres in miles with two decimals.",
    )
    answer = draw.choose(
        f"A mile is 1.609344 km, so divide: {result} miles.", f"That is {result} miles."
    )
    return draw.written(question, answer, result)


def gallons_to_litres(draw: Draw) -> Written:
    count = several(draw)
    what = draw.choose("fuel tank", "water tank", "swimming pool", "milk tank")
    result = draw.rounded(f"{count} * 3.785411784")
    question = draw.choose(
        f"How many litres are {count} US gallons, to two decimals?",
        f"{count} US gal in L, rounded to 2 decimals",
        f"A {what} holds {count} US gallons. What is its volume in litres, to two decimals?",
        f"Convert {count:,} US gallons to litres and round to hundredths.",
    )
    answer = draw.choose(
        f"One US gallon is 3.785411784 L: {result} L.", f"In litres it is {result}."
    )
    return draw.written(question, answer, result)


def celsius_to_fahrenheit(draw: Draw) -> Written:
    celsius = draw.between(-30, 230)
    scaled = draw.calc(f"{celsius} * 9 / 5")
    result = draw.calc(f"{scaled.text} + 32")
    question = draw.choose(
        f"What is {celsius} °C in Fahrenheit?",
        f"{celsius}°C to °F",
        f"Convert {celsius} degrees Celsius to degrees Fahrenheit.",
        f"The thermometer reads {celsius} °C. What would an American one show, in °F?",
        f"A manual says {celsius} °C, and I think in Fahrenheit. What is it for me?",
    )
    answer = draw.choose(
        f"Nine fifths of it is {scaled}. Adding 32 gives {result} °F.",
        f"Scale: {scaled}. Shift: {result} degrees Fahrenheit.",
    )
    return draw.written(question, answer, result)


def fahrenheit_to_celsius(draw: Draw) -> Written:
    fahrenheit = draw.between(-40, 500)
    shifted = draw.calc(f"{fahrenheit} - 32")
    result = draw.rounded(f"{shifted.text} * 5 / 9", 1)
    question = draw.choose(
        f"What is {fahrenheit} °F in Celsius, to one decimal?",
        f"{fahrenheit}°F to °C (one decimal)",
        f"Convert {fahrenheit} degrees Fahrenheit to Celsius and round to one decimal place.",
        f"My aunt in Texas writes that something measured {fahrenheit} °F. How many degrees "
        f"Celsius is that, rounded to tenths?",
    )
    answer = draw.choose(
        f"Take away 32: {shifted}. Five ninths of that is {result} °C.",
        f"{shifted}, and then {result} degrees Celsius.",
    )
    return draw.written(question, answer, result)


def hourly_to_metres_per_second(draw: Draw) -> Written:
    speed = draw.between(4, 320)
    mover = draw.choose("train", "cyclist", "falcon", "van", "ferry") if speed < 40 else "train"
    metres = draw.calc(f"{speed} * 1000")
    result = draw.rounded(f"{metres.text} / 3600")
    question = draw.choose(
        f"What is {speed} km/h in m/s, rounded to two decimals?",
        f"{speed} km/h to m/s (2 decimals)",
        f"A {mover} goes {speed} kilometres per hour. How many metres is that each second, "
        f"to two decimals?",
        f"Convert a speed of {speed} km/h to metres per second. Round to hundredths.",
    )
    answer = draw.choose(
        f"In an hour it is {metres} m. In a second it is {result} m.",
        f"{metres} metres in 3600 seconds, so {result} m/s.",
    )
    return draw.written(question, answer, result)


def hectares(draw: Draw) -> Written:
    count = several(draw)
    to_square = draw.random.random() < 0.5
    small = "square metres" if to_square else "ares"
    factor = 10000 if to_square else 100
    crop = draw.choose("barley", "maize", "sunflowers", "clover", "vines")
    result = draw.calc(f"{count} * {factor}")
    question = draw.choose(
        f"How many {small} are {count} hectares?",
        f"{count} ha in {small}",
        f"A farm grows {crop} on {count} hectares. What is that area in {small}?",
        f"Convert {count:,} hectares to {small}.",
    )
    answer = draw.choose(f"A hectare is {factor} {small}: {result}.", f"{result} {small}.")
    return draw.written(question, answer, result)


def area_in_square_metres(draw: Draw) -> Written:
    width, length = draw.between(40, 900), draw.between(40, 900)
    what = draw.choose("carpet", "banner", "table top", "sheet of glass", "mural")
    area = draw.calc(f"{width} * {length}")
    result = draw.calc(f"{area.text} / 10000")
    question = draw.choose(
        f"A {what} is {width} cm by {length} cm. What is its area in square metres?",
        f"Area of {width} cm x {length} cm in m²?",
        f"How many square metres does a {what} of {length} cm by {width} cm cover?",
        f"For the hall we ordered a {what}, {length} cm long and {width} cm wide, in blue. "
        f"Find its area in m².",
    )
    answer = draw.choose(
        f"The area is {area} square centimetres. A square metre has 10000 of them: {result}.",
        f"{area} cm², which is {result} m².",
    )
    return draw.written(question, answer, result)


def data_size_down(draw: Draw) -> Written:
    large, small, factor = draw.choose(*DATA_SIZES)
    count = several(draw)
    result = draw.calc(f"{count} * {factor}")
    question = draw.choose(
        f"How many {small} are {count} {large}?",
        f"{count} {large} in {small} (1 {large} = {factor} {small})",
        f"Convert {count:,} {large} to {small}.",
        f"A backup takes up {count} {large}. What is that in {small}?",
    )
    answer = draw.choose(f"{result} {small}.", f"One {large} is {factor} {small}: {result}.")
    return draw.written(question, answer, result)


def spoons_and_cups(draw: Draw) -> Written:
    large, small, factor = draw.choose(
        ("tablespoons", "teaspoons", 3),
        ("cups", "tablespoons", 16),
        ("cups", "fluid ounces", 8),
        ("quarts", "cups", 4),
        ("gallons", "quarts", 4),
        ("pints", "cups", 2),
    )
    count, batches = draw.between(2, 9), draw.between(2, 40)
    food = draw.choose("water", "vinegar", "olive oil", "stock", "orange juice")
    single = draw.calc(f"{count} * {factor}")
    result = draw.calc(f"{single.text} * {batches}")
    question = draw.choose(
        f"A recipe calls for {count} {large} of {food}. How many {small} do {batches} batches take "
        f"in US measures?",
        f"If one batch needs {count} {large} of {food}, how many US {small} are in {batches} "
        f"batches?",
        f"{batches} batches, {count} {large} of {food} in each: how many {small} (US)?",
        f"The canteen cook has lost the right measure and only finds one for {small}. One batch "
        f"of marinade has {count} {large} of {food}. How many {small} go into {batches} batches?",
    )
    answer = draw.choose(
        f"One batch takes {single} {small}. All of them take {result} {small}.",
        f"{single} {small} each, {result} in total.",
    )
    return draw.written(question, answer, result)


def feet_and_inches(draw: Draw) -> Written:
    feet, inches = draw.between(2, 60), draw.between(2, 11)
    what = draw.choose("plank", "doorway", "rope", "canoe", "fence panel")
    whole = draw.calc(f"{feet} * 12 + {inches}")
    result = draw.calc(f"{whole.text} * 2.54")
    question = draw.choose(
        f"How many centimetres are {feet} feet {inches} inches?",
        f"{feet} ft {inches} in to cm",
        f"A {what} measures {feet} feet and {inches} inches. What is that in centimetres?",
        f"Convert {feet}'{inches}\" to centimetres.",
        f"I found a {what} online that is {feet} ft {inches} in long and painted green. "
        f"How long is it in cm?",
    )
    answer = draw.choose(
        f"In inches it is {whole}. Times 2.54 that is {result} cm.",
        f"{whole} inches, so {result} cm.",
    )
    return draw.written(question, answer, result)


def ounces_in_parcels(draw: Draw) -> Written:
    parcels, ounces = several(draw), draw.between(2, 60)
    what = draw.choose("tins of tea", "bars of soap", "bags of coffee", "packets of seeds")
    total = draw.calc(f"{parcels} * {ounces}")
    result = draw.calc(f"{total.text} / 16")
    question = draw.choose(
        f"{parcels} {what} weigh {ounces} ounces each. How many pounds do they weigh together?",
        f"What do {parcels} {what} of {ounces} oz each weigh in pounds?",
        f"A sender puts {parcels:,} {what} into a crate that has a red lid. Each is {ounces} oz. "
        f"Leaving out the crate, how many pounds is that?",
        f"Find the weight in pounds: {parcels} {what} at {ounces} oz.",
    )
    answer = draw.choose(
        f"Together they weigh {total} ounces. With 16 ounces to the pound, it is {result} lb.",
        f"{total} oz, which is {result} lb.",
    )
    return draw.written(question, answer, result)


def fuel_in_other_units(draw: Draw) -> Written:
    litres, dollars = draw.between(20, 90), f"{draw.between(90, 240) / 100:.2f}"
    gallon = draw.calc(f"{dollars} * 3.785411784")
    result = draw.rounded(f"{gallon.text}")
    question = draw.choose(
        f"Fuel costs ${dollars} a litre. What is that per US gallon, to the cent?",
        f"At ${dollars} per litre, how many dollars does a US gallon cost (2 decimals)?",
        f"On holiday I filled up with {litres} litres at ${dollars} each. At home prices are given "
        f"by the US gallon. What would this price be, rounded to cents?",
        f"${dollars}/L in $/US gal, rounded to two decimals?",
    )
    answer = draw.choose(
        f"A US gallon is 3.785411784 L, so it costs {gallon}. To the cent that is {result} "
        f"dollars.",
        f"Exactly it is {gallon}. Rounded to cents: {result} dollars.",
    )
    return draw.written(question, answer, result)


def download_time(draw: Draw) -> Written:
    speed = draw.choose(8, 16, 20, 40, 50, 80, 100, 200, 400)
    size = several(draw) * speed
    what = draw.choose("video collection", "data set", "photo archive", "backup")
    bits = draw.calc(f"{size} * 8")
    result = draw.calc(f"{bits.text} / {speed}")
    question = draw.choose(
        f"A {what} of {size} megabytes is downloaded at {speed} megabits per second. "
        f"How many seconds does it take?",
        f"How long in seconds does {size} MB take over a line of {speed} Mbit/s?",
        f"The new router promises {speed} megabits a second, and for once it keeps its word. "
        f"How many seconds does a {what} of {size:,} megabytes need?",
        f"{size} MB at {speed} Mbit/s: time in seconds?",
    )
    answer = draw.choose(
        f"A byte has 8 bits, so there are {bits} megabits. That takes {result} seconds.",
        f"{bits} megabits in all, so {result} seconds.",
    )
    return draw.written(question, answer, result)


def nautical_miles(draw: Draw) -> Written:
    knots, hours = draw.between(3, 30), draw.between(2, 40)
    vessel = draw.choose("sailing boat", "freighter", "trawler", "ferry")
    miles = draw.calc(f"{knots} * {hours}")
    result = draw.calc(f"{miles.text} * 1.852")
    question = draw.choose(
        f"A {vessel} makes {knots} knots for {hours} hours. How many kilometres does it cover?",
        f"How many km are sailed in {hours} hours at {knots} knots?",
        f"With fair wind a {vessel} keeps up {knots} knots, and it does so for {hours} hours. One "
        f"knot is a nautical mile of 1.852 km an hour. What distance is that in km?",
        f"{knots} knots, {hours} hours: distance in kilometres?",
    )
    answer = draw.choose(
        f"It covers {miles} nautical miles. Each is 1.852 km: {result} km.",
        f"{miles} nautical miles, that is {result} km.",
    )
    return draw.written(question, answer, result)


def cups_from_a_tank(draw: Draw) -> Written:
    litres, cup = several(draw), draw.choose(125, 200, 250, 400, 500)
    drink = draw.choose("apple juice", "iced tea", "lemonade", "cocoa", "soup")
    volume = draw.calc(f"{litres} * 1000")
    result = draw.calc(f"floor({volume.text} / {cup})")
    question = draw.choose(
        f"How many full cups of {cup} mL can be poured from {litres} litres of {drink}?",
        f"There are {litres:,} litres of {drink}. One cup takes {cup} mL. "
        f"How many cups can be filled to the top?",
        f"At the sports day {drink} is served in cups of {cup} mL. The team brought {litres} "
        f"litres of it. For how many full cups is that enough?",
        f"{litres} L of {drink}, {cup} mL a cup: number of full cups?",
    )
    answer = draw.choose(
        f"There are {volume} mL. That fills {result} cups.", f"{volume} mL make {result} cups."
    )
    return draw.written(question, answer, result)


TRAIN = (
    metric_length,
    mass_or_volume_down,
    mass_or_volume_up,
    imperial_length,
    inches_to_centimetres,
    pounds_to_kilograms,
    kilometres_to_miles,
    gallons_to_litres,
    celsius_to_fahrenheit,
    fahrenheit_to_celsius,
    hourly_to_metres_per_second,
    hectares,
    area_in_square_metres,
    data_size_down,
    spoons_and_cups,
    feet_and_inches,
)
TEST = (
    ounces_in_parcels,
    fuel_in_other_units,
    download_time,
    nautical_miles,
    cups_from_a_tank,
)
