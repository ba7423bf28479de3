"""What the negatives talk about: facts, words and advice. Nothing here has to be computed."""

from __future__ import annotations

CAPITALS = (
    ("France", "Paris"), ("Italy", "Rome"), ("Spain", "Madrid"), ("Portugal", "Lisbon"),
    ("Germany", "Berlin"), ("Austria", "Vienna"), ("Poland", "Warsaw"), ("Hungary", "Budapest"),
    ("Greece", "Athens"), ("Norway", "Oslo"), ("Sweden", "Stockholm"), ("Finland", "Helsinki"),
    ("Denmark", "Copenhagen"), ("Ireland", "Dublin"), ("Iceland", "Reykjavik"),
    ("Belgium", "Brussels"), ("Bulgaria", "Sofia"), ("Romania", "Bucharest"),
    ("Croatia", "Zagreb"), ("Serbia", "Belgrade"), ("Latvia", "Riga"), ("Estonia", "Tallinn"),
    ("Lithuania", "Vilnius"), ("Ukraine", "Kyiv"), ("Turkey", "Ankara"), ("Egypt", "Cairo"),
    ("Morocco", "Rabat"), ("Tunisia", "Tunis"), ("Kenya", "Nairobi"), ("Ghana", "Accra"),
    ("Nigeria", "Abuja"), ("Ethiopia", "Addis Ababa"), ("Senegal", "Dakar"),
    ("Uganda", "Kampala"), ("Zambia", "Lusaka"), ("Japan", "Tokyo"), ("China", "Beijing"),
    ("South Korea", "Seoul"), ("Mongolia", "Ulaanbaatar"), ("Thailand", "Bangkok"),
    ("Vietnam", "Hanoi"), ("India", "New Delhi"), ("Nepal", "Kathmandu"),
    ("Pakistan", "Islamabad"), ("Bangladesh", "Dhaka"), ("Iran", "Tehran"), ("Iraq", "Baghdad"),
    ("Jordan", "Amman"), ("Canada", "Ottawa"), ("Mexico", "Mexico City"), ("Cuba", "Havana"),
    ("Brazil", "Brasília"), ("Argentina", "Buenos Aires"), ("Chile", "Santiago"), ("Peru", "Lima"),
    ("Colombia", "Bogotá"), ("Ecuador", "Quito"), ("Uruguay", "Montevideo"),
    ("Australia", "Canberra"), ("New Zealand", "Wellington"),
)  # fmt: skip

BOOKS = (
    ("Pride and Prejudice", "Jane Austen"), ("Emma", "Jane Austen"),
    ("Moby-Dick", "Herman Melville"), ("Don Quixote", "Miguel de Cervantes"),
    ("War and Peace", "Leo Tolstoy"), ("Anna Karenina", "Leo Tolstoy"),
    ("Crime and Punishment", "Fyodor Dostoevsky"), ("Hamlet", "William Shakespeare"),
    ("Macbeth", "William Shakespeare"), ("Frankenstein", "Mary Shelley"),
    ("Dracula", "Bram Stoker"), ("Jane Eyre", "Charlotte Brontë"),
    ("Wuthering Heights", "Emily Brontë"), ("Oliver Twist", "Charles Dickens"),
    ("Great Expectations", "Charles Dickens"), ("Middlemarch", "George Eliot"),
    ("Treasure Island", "Robert Louis Stevenson"), ("The Jungle Book", "Rudyard Kipling"),
    ("The Time Machine", "H. G. Wells"), ("Les Misérables", "Victor Hugo"),
    ("Madame Bovary", "Gustave Flaubert"), ("Faust", "Johann Wolfgang von Goethe"),
    ("The Metamorphosis", "Franz Kafka"), ("The Divine Comedy", "Dante Alighieri"),
    ("The Odyssey", "Homer"), ("The Canterbury Tales", "Geoffrey Chaucer"),
    ("Paradise Lost", "John Milton"), ("Robinson Crusoe", "Daniel Defoe"),
    ("Gulliver's Travels", "Jonathan Swift"), ("Little Women", "Louisa May Alcott"),
    ("The Scarlet Letter", "Nathaniel Hawthorne"), ("Walden", "Henry David Thoreau"),
    ("A Doll's House", "Henrik Ibsen"), ("The Cherry Orchard", "Anton Chekhov"),
)  # fmt: skip

MEANINGS = (
    ("photosynthesis", "the making of sugar by plants from light, water and carbon dioxide"),
    ("erosion", "the wearing away of soil or rock by water, wind or ice"),
    ("metaphor", "a figure of speech that calls one thing another to show a likeness"),
    ("inflation", "a general rise of prices, so that money buys less"),
    ("nocturnal", "active at night"),
    ("archipelago", "a group of islands"),
    ("drought", "a long time with too little rain"),
    ("hibernation", "a deep winter rest in which an animal saves energy"),
    ("democracy", "government by the people, usually through elections"),
    ("eclipse", "the hiding of one body in the sky by another or by its shadow"),
    ("herbivore", "an animal that eats plants"),
    ("glacier", "a large mass of ice that moves slowly over land"),
    ("irony", "saying or showing the opposite of what is meant or expected"),
    ("friction", "the force that resists the sliding of one surface over another"),
    ("migration", "the movement from one region to another, often with the seasons"),
    ("peninsula", "land that is almost surrounded by water"),
    ("nostalgia", "a wistful longing for the past"),
    ("algorithm", "a list of exact steps that solves a problem"),
    ("biodiversity", "the variety of living things in a place"),
    ("compromise", "an agreement in which each side gives up something"),
    ("evaporation", "the change of a liquid into a gas at its surface"),
    ("satire", "mockery that points out faults, often in politics"),
)

OPPOSITES = (
    ("hot", "cold"), ("early", "late"), ("generous", "stingy"), ("brave", "cowardly"),
    ("ancient", "modern"), ("shallow", "deep"), ("rough", "smooth"), ("narrow", "wide"),
    ("noisy", "quiet"), ("rare", "common"), ("transparent", "opaque"), ("temporary", "permanent"),
    ("guilty", "innocent"), ("cheap", "expensive"), ("sharp", "blunt"), ("heavy", "light"),
    ("polite", "rude"), ("humble", "proud"), ("victory", "defeat"), ("arrive", "depart"),
    ("expand", "shrink"), ("accept", "refuse"), ("praise", "blame"), ("remember", "forget"),
)  # fmt: skip

PHRASES = {
    "good morning": ("buenos días", "bonjour", "guten Morgen", "buongiorno"),
    "good night": ("buenas noches", "bonne nuit", "gute Nacht", "buonanotte"),
    "thank you": ("gracias", "merci", "danke", "grazie"),
    "please": ("por favor", "s'il vous plaît", "bitte", "per favore"),
    "goodbye": ("adiós", "au revoir", "auf Wiedersehen", "arrivederci"),
    "yes": ("sí", "oui", "ja", "sì"),
    "water": ("agua", "eau", "Wasser", "acqua"),
    "bread": ("pan", "pain", "Brot", "pane"),
    "friend": ("amigo", "ami", "Freund", "amico"),
    "book": ("libro", "livre", "Buch", "libro"),
    "see you tomorrow": ("hasta mañana", "à demain", "bis morgen", "a domani"),
    "Happy birthday!": (
        "¡Feliz cumpleaños!", "Joyeux anniversaire !", "Alles Gute zum Geburtstag!",
        "Buon compleanno!",
    ),
}  # fmt: skip
LANGUAGES = ("Spanish", "French", "German", "Italian")

PAST = (
    ("go", "went"), ("bring", "brought"), ("teach", "taught"), ("swim", "swam"), ("fly", "flew"),
    ("choose", "chose"), ("freeze", "froze"), ("grow", "grew"), ("hide", "hid"), ("keep", "kept"),
    ("lead", "led"), ("ride", "rode"), ("sing", "sang"), ("speak", "spoke"), ("steal", "stole"),
    ("take", "took"), ("throw", "threw"), ("write", "wrote"), ("catch", "caught"),
    ("buy", "bought"), ("drink", "drank"), ("fall", "fell"), ("forgive", "forgave"),
    ("wear", "wore"),
)  # fmt: skip

YOUNG = (
    ("cow", "calf"), ("horse", "foal"), ("sheep", "lamb"), ("goat", "kid"), ("cat", "kitten"),
    ("dog", "puppy"), ("pig", "piglet"), ("duck", "duckling"), ("goose", "gosling"),
    ("swan", "cygnet"), ("bear", "cub"), ("lion", "cub"), ("kangaroo", "joey"), ("frog", "tadpole"),
    ("eagle", "eaglet"), ("deer", "fawn"), ("chicken", "chick"), ("whale", "calf"),
    ("owl", "owlet"), ("seal", "pup"),
)  # fmt: skip

ADVICE = (
    ("sleep better", (
        "Go to bed at the same time each night.", "Keep the bedroom dark and cool.",
        "Put screens away before bed.", "Avoid coffee late in the day.")),
    ("learn a new language", (
        "Practise a little every day.", "Listen to songs and radio in it.",
        "Talk to native speakers.", "Keep a notebook of new words.")),
    ("keep houseplants alive", (
        "Check the soil before you water.", "Use pots with a hole for drainage.",
        "Give each plant the light it likes.", "Dust the leaves now and then.")),
    ("feel calmer before an exam", (
        "Start revising early.", "Breathe slowly and deeply.", "Sleep well the night before.",
        "Pack your things the evening before.")),
    ("waste less food", (
        "Plan your meals before you shop.", "Put older food at the front.",
        "Freeze what you cannot eat soon.", "Cook soups from leftovers.")),
    ("become a better writer", (
        "Read widely.", "Write a bit every day.", "Cut words that add nothing.",
        "Read your drafts aloud.")),
    ("start running", (
        "Begin with short, slow runs.", "Wear shoes that fit.", "Rest between running days.",
        "Warm up before you set off.")),
    ("make friends in a new town", (
        "Join a club or a class.", "Say hello to your neighbours.", "Accept invitations.",
        "Volunteer for something you care about.")),
    ("speak well in public", (
        "Practise aloud.", "Know your first sentence by heart.", "Look at friendly faces.",
        "Speak more slowly than feels natural.")),
    ("save electricity at home", (
        "Switch off lights in empty rooms.", "Unplug chargers that are not in use.",
        "Wash clothes at low temperatures.", "Use LED bulbs.")),
)  # fmt: skip

DIFFERENCES = (
    ("a frog", "a toad", "Frogs have smooth, moist skin, while toads are dry and warty."),
    ("a lake", "a river", "A river flows along a course, while a lake is a body of still water."),
    ("tea", "coffee", "Tea is made from leaves, while coffee is made from roasted beans."),
    ("weather", "climate", "Weather is what happens now; climate is the pattern of many years."),
    ("a virus", "a bacterium", "Bacteria are living cells; viruses need a host to multiply."),
    ("a comet", "an asteroid", "Comets are icy and grow tails; asteroids are rock or metal."),
    ("a novel", "a novella", "Both are prose fiction, but a novella is shorter."),
    ("jam", "jelly", "Jam contains pieces of fruit, while jelly is made from the juice."),
    ("a moth", "a butterfly", "Most moths fly at night; most butterflies fly by day."),
    ("an alligator", "a crocodile", "Alligators have a broad snout; crocodiles have a narrow one."),
    ("hardware", "software", "Hardware is the machine; software is the programs it runs."),
    ("a violin", "a viola", "The viola is larger than the violin and sounds deeper."),
)  # fmt: skip

REASONS = (
    ("is the sky blue", "Air scatters blue light more than red light, so blue reaches us from "
     "everywhere."),
    ("do leaves change colour in autumn", "The green chlorophyll breaks down, and other colours "
     "show."),
    ("does ice float", "Water expands when it freezes, so ice is less dense than water."),
    ("do we have seasons", "The Earth's axis is tilted, so each half gets more sun for part of the "
     "year."),
    ("is the sea salty", "Rivers carry minerals from rocks into the sea, and they stay when water "
     "evaporates."),
    ("do cats purr", "Often because they are content, and sometimes to calm themselves."),
    ("does bread rise", "Yeast makes gas from sugar, and the dough traps the bubbles."),
    ("do onions make us cry", "Cutting them sets free a gas that stings the eyes."),
    ("does thunder follow lightning", "Light travels faster than sound, so the flash comes first."),
    ("do we yawn", "It is not fully understood; being tired or bored often triggers it."),
    ("does iron rust", "It reacts with oxygen and water and turns into iron oxide."),
    ("do birds migrate", "They go where there is more food and milder weather."),
)  # fmt: skip

GROUPS = {
    "fruit": ("apple", "pear", "plum", "banana", "cherry", "mango"),
    "animal": ("horse", "otter", "badger", "camel", "rabbit", "zebra"),
    "tool": ("hammer", "saw", "chisel", "screwdriver", "spanner", "drill"),
    "instrument": ("violin", "flute", "trumpet", "cello", "oboe", "harp"),
    "piece of clothing": ("shirt", "scarf", "sock", "jacket", "hat", "glove"),
    "vehicle": ("bus", "tram", "lorry", "bicycle", "taxi", "scooter"),
}

HISTORY = (
    ("1969", "first walked on the Moon", "Neil Armstrong"),
    ("1953", "first climbed Mount Everest", "Edmund Hillary and Tenzing Norgay"),
    ("1903", "made the first powered aeroplane flight", "Orville Wright"),
    ("1961", "became the first human in space", "Yuri Gagarin"),
    ("1963", "became the first woman in space", "Valentina Tereshkova"),
    ("1928", "discovered penicillin", "Alexander Fleming"),
    ("1911", "first reached the South Pole", "Roald Amundsen and his team"),
    ("1932", "was the first woman to fly alone across the Atlantic", "Amelia Earhart"),
    ("1927", "first flew alone and without a stop across the Atlantic", "Charles Lindbergh"),
    ("1895", "discovered X-rays", "Wilhelm Röntgen"),
    ("1905", "published the special theory of relativity", "Albert Einstein"),
    ("1859", "published On the Origin of Species", "Charles Darwin"),
    ("1687", "published the laws of motion in the Principia", "Isaac Newton"),
    ("1610", "discovered four large moons of Jupiter", "Galileo Galilei"),
)

NUMBER_WORDS = (
    ("24/7", "all the time, at any hour of any day"),
    ("50/50", "in two equal parts, or with equal chances"),
    ("9-to-5", "regular office work during the day"),
    ("20/20 vision", "normal sharpness of sight"),
    ("404", "that a web page was not found"),
    ("101", "a basic introduction to a subject"),
    ("4x4", "a vehicle in which all the wheels are driven"),
    ("a 180", "a complete change of direction or opinion"),
    ("Plan B", "what you do if the first plan fails"),
    ("cloud nine", "a state of great happiness"),
    ("Catch-22", "a situation whose own rules make a way out impossible"),
    ("24-hour clock", "a way of telling time that counts the hours of a day from 0 to 23"),
)

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
