"""Money: interest, discounts, taxes, wages, budgets, exchange, profit, loans and shares."""

from __future__ import annotations

from curta.delegate.data.draw import Draw, Written, a

CATEGORY = "finance"

CURRENCIES = (("$", "dollars"), ("€", "euros"), ("£", "pounds"))
GOODS = ("jackets", "lamps", "bicycles", "backpacks", "kettles", "headphones", "chairs", "tents")
CRAFTS = ("candles", "mugs", "scarves", "bracelets", "posters", "jars of jam", "birdhouses")
COMPANIES = (
    "Northfield Mills",
    "Blue Harbour Foods",
    "Alder Rail",
    "Quarry Glass",
    "Lumen Textiles",
)


def price(draw: Draw, low: int, high: int) -> str:
    """An amount with cents."""
    cents = draw.choose("00", "50", "99", "25", "75", "40", f"{draw.between(1, 98):02d}")
    return f"{draw.between(low, high)}.{cents}"


def simple_interest(draw: Draw) -> Written:
    who, money = draw.name(), draw.number() + 1
    rate, years = draw.decimal(1, 9, 1), draw.between(2, 10)
    sign, word = draw.choose(*CURRENCIES)
    interest = draw.rounded(f"{money} * {rate} / 100 * {years}")
    total = draw.calc(f"{money} + {interest.text}")
    question = draw.choose(
        f"{who} puts {sign}{money:,} into an account that pays {rate}% simple interest a year. "
        f"How much is in it after {years} years?",
        f"What is the final balance of {sign}{money} at {rate}% simple interest for {years} years?",
        f"A bank pays {rate}% simple interest per year. Find the total value of a deposit of "
        f"{money} {word} after {years} years.",
        f"An aunt lends {who} {money} {word} for {years} years at simple interest of {rate}% a "
        "year. How much has to be paid back in all?",
        f"Simple interest, principal {sign}{money}, rate {rate}%, {years} years: total amount?",
    )
    answer = draw.choose(
        f"The interest of {years} years is {interest} {word}. "
        f"With the principal the total is {total} {word}.",
        f"Interest for {years} years: {interest}.\nTotal: {total}.",
    )
    return draw.written(question, answer, total)


def compound_interest(draw: Draw) -> Written:
    who, money = draw.name(), draw.number() + 99
    rate, years = draw.between(2, 12), draw.between(2, 8)
    sign, word = draw.choose(*CURRENCIES)
    factor = draw.calc(f"1 + {rate} / 100")
    balance = draw.rounded(f"{money} * {factor.text} ^ {years}")
    earned = draw.calc(f"{balance.text} - {money}")
    question = draw.choose(
        f"How much interest does {sign}{money} earn in {years} years at {rate}% compounded yearly?",
        f"{who} leaves {sign}{money:,} in a savings account for {years} years. The bank adds "
        f"{rate}% at the end of each year, and nothing is taken out. How much interest is earned?",
        f"Find the compound interest on {money} {word} at {rate}% a year for {years} years.",
        f"When a child was born, the family invested {money} {word} at {rate}%, compounded once a "
        f"year. By how much has it grown after {years} years?",
        f"Compound interest only: {sign}{money} at {rate}% for {years} years, yearly compounding.",
    )
    answer = draw.choose(
        f"Each year multiplies the money by {factor}. After {years} years there are {balance} "
        f"{word}, so the interest is {earned} {word}.",
        f"The growth factor is {factor}. The balance becomes {balance}. "
        f"Taking off the deposit leaves {earned}.",
    )
    return draw.written(question, answer, earned)


def discount(draw: Draw) -> Written:
    thing, percent = draw.choose(*GOODS), draw.between(2, 18) * 5
    cost, who = price(draw, 12, 400), draw.name()
    sign, word = draw.choose(*CURRENCIES)
    off = draw.rounded(f"{cost} * {percent} / 100")
    pays = draw.calc(f"{cost} - {off.text}")
    question = draw.choose(
        f"A shop sells {thing} at {sign}{cost} each, today with {percent}% off. What does one cost "
        "now?",
        f"{who} has a voucher for {percent}% off and spends {sign}{cost} before the discount. "
        "How much is paid in the end?",
        f"What is {sign}{cost} after {a(percent)}% discount?",
        f"In the summer sale all {thing} are reduced by {percent}%. The old price tag says "
        f"{sign}{cost}. What is the sale price?",
        f"Price {cost} {word}, discount {percent}%. New price?",
    )
    answer = draw.choose(
        f"The discount is {off} {word}. That leaves {pays} {word} to pay.",
        f"First the reduction: {off}. Then the new price: {pays}.",
    )
    return draw.written(question, answer, pays)


def two_discounts(draw: Draw) -> Written:
    thing, first, second = draw.choose(*GOODS), draw.between(2, 10) * 5, draw.between(1, 6) * 5
    cost, who = price(draw, 20, 600), draw.name()
    sign, word = draw.choose(*CURRENCIES)
    once = draw.calc(f"{cost} * (100 - {first}) / 100")
    twice = draw.rounded(f"{once.text} * (100 - {second}) / 100")
    question = draw.choose(
        f"The price of {sign}{cost} is cut by {first}%, and members get another {second}% off the "
        "reduced price. What does a member pay?",
        f"{who} finds {thing} marked down {first}%, and at the till a further {second}% comes off. "
        f"One of them was {sign}{cost} before. What does {who} pay for one?",
        f"Take {first}% off {cost} {word}, and then {second}% off the rest. What remains?",
        f"Two discounts in a row, {first}% and then {second}%, on {sign}{cost}. Final price?",
    )
    answer = draw.choose(
        f"After the first cut it costs {once} {word}. After the second it costs {twice} {word}.",
        f"The first discount brings the price to {once}, the second to {twice}.",
    )
    return draw.written(question, answer, twice)


def sales_tax(draw: Draw) -> Written:
    thing, count, rate = draw.choose(*GOODS), draw.number() + 1, draw.between(4, 25)
    cost, who = price(draw, 5, 90), draw.name()
    sign, word = draw.choose(*CURRENCIES)
    net = draw.calc(f"{count} * {cost}")
    tax = draw.rounded(f"{net.text} * {rate} / 100")
    total = draw.calc(f"{net.text} + {tax.text}")
    question = draw.choose(
        f"{who} orders {count} {thing} at {sign}{cost} each. Sales tax of {rate}% is added. What "
        "is the total?",
        f"What do {count} {thing} cost with {rate}% tax if one is {sign}{cost} before tax?",
        f"An invoice lists {count:,} {thing} at {sign}{cost} apiece, plus {rate}% VAT, payable in "
        "30 days. What amount is due?",
        f"Add {rate}% tax to an order of {count} {thing} at {cost} {word} each.",
        f"The school buys {count} {thing} for {cost} {word} each, before a tax of {rate}%. How "
        "much money leaves its account?",
    )
    answer = draw.choose(
        f"Before tax that is {net} {word}. The tax is {tax}. Together they come to {total} {word}.",
        f"Net: {net}. Tax: {tax}. Total: {total}.",
    )
    return draw.written(question, answer, total)


def tip(draw: Draw) -> Written:
    who, bill, percent = draw.name(), price(draw, 9, 180), draw.choose(8, 10, 12, 15, 18, 20, 22)
    sign, word = draw.choose(*CURRENCIES)
    extra = draw.rounded(f"{bill} * {percent} / 100")
    total = draw.calc(f"{bill} + {extra.text}")
    question = draw.choose(
        f"The bill is {sign}{bill} and {who} wants to leave {a(percent)}% tip. How much is it "
        "altogether?",
        f"{sign}{bill} plus a tip of {percent}%: what is the total?",
        f"After a long dinner by the river, {who} gets a bill of {bill} {word}. The waiter was "
        f"very kind, so {who} adds {percent}%. What does the evening cost?",
        f"Work out the total with {percent}% gratuity on a meal of {sign}{bill}.",
    )
    answer = draw.choose(
        f"The tip is {extra} {word}. With it the meal costs {total} {word}.",
        f"Tip: {extra}. Total: {total}.",
    )
    return draw.written(question, answer, total)


def overtime_wage(draw: Draw) -> Written:
    who, hours, over = draw.name(), draw.between(20, 40), draw.between(2, 12)
    rate = draw.between(11, 45)
    sign, word = draw.choose(*CURRENCIES)
    normal = draw.calc(f"{hours} * {rate}")
    extra = draw.calc(f"{over} * {rate} * 1.5")
    total = draw.calc(f"{normal.text} + {extra.text}")
    question = draw.choose(
        f"{who} earns {sign}{rate} an hour and one and a half times as much for overtime. Last "
        f"week it was {hours} normal hours and {over} hours of overtime. What was the pay?",
        f"What is the pay for {hours} hours at {sign}{rate} and {over} overtime hours at 1.5 times "
        "that rate?",
        f"At the warehouse the wage is {rate} {word} an hour; overtime is paid at 150%. {who} "
        f"worked {hours} regular hours and {over} extra ones. How much does {who} get?",
        f"Compute this week's wage: {hours} h regular, {over} h overtime (time and a half), "
        f"{sign}{rate} per hour.",
    )
    answer = draw.choose(
        f"The normal hours pay {normal} {word}. The overtime pays {extra} {word}. "
        f"Together that is {total} {word}.",
        f"Regular pay is {normal}, overtime is {extra}, and the sum is {total}.",
    )
    return draw.written(question, answer, total)


def yearly_salary(draw: Draw) -> Written:
    who, rate = draw.name(), price(draw, 11, 60)
    hours, weeks = draw.between(12, 42), draw.between(44, 52)
    sign, word = draw.choose(*CURRENCIES)
    weekly = draw.calc(f"{rate} * {hours}")
    yearly = draw.calc(f"{weekly.text} * {weeks}")
    question = draw.choose(
        f"{who} is paid {sign}{rate} an hour for {hours} hours a week, {weeks} weeks a year. What "
        "is the yearly income?",
        f"How much is {sign}{rate} per hour in a year of {weeks} weeks with {hours} hours each?",
        f"A job offer says {rate} {word} an hour, {hours} hours a week and {weeks} paid weeks. "
        "What does that make in a year?",
        f"Yearly pay at {sign}{rate}/hour, {hours} hours/week, {weeks} weeks?",
    )
    answer = draw.choose(
        f"A week brings {weekly} {word}, and a year {yearly} {word}.",
        f"Per week: {weekly}. Per year: {yearly}.",
    )
    return draw.written(question, answer, yearly)


def monthly_budget(draw: Draw) -> Written:
    who, rent, food = draw.name(), draw.number() + 9, draw.number() + 4
    travel, left = draw.between(15, 180), draw.number()
    sign, word = draw.choose(*CURRENCIES)
    income = rent + food + travel + left
    spent = draw.calc(f"{rent} + {food} + {travel}")
    rest = draw.calc(f"{income} - {spent.text}")
    question = draw.choose(
        f"{who} takes home {sign}{income} a month and spends {sign}{rent} on rent, {sign}{food} on "
        f"food and {sign}{travel} on travel. How much is left?",
        f"Income {sign}{income}, rent {rent}, food {food}, transport {travel}. What remains?",
        f"A club has {income:,} {word} a month. Its rooms cost {rent:,}, meals {food:,} and travel "
        f"{travel}. What is left for everything else?",
        f"If you earn {sign}{income} and pay {sign}{rent}, {sign}{food} and {sign}{travel} for "
        "housing, meals and transport, what can you save?",
    )
    answer = draw.choose(
        f"The costs add up to {spent} {word}. That leaves {rest} of the income.",
        f"Spent: {spent}. Left: {rest}.",
    )
    return draw.written(question, answer, rest)


def exchange(draw: Draw) -> Written:
    who, amount = draw.name(), draw.number() + 1
    (_, have), (_, want) = draw.some(CURRENCIES, 2)
    rate = draw.decimal(0.7, 1.5, 3)
    result = draw.rounded(f"{amount} * {rate}")
    rate_said = f"1 {have[:-1]} buys {rate} {want}"
    question = draw.choose(
        f"{who} changes {amount} {have} into {want}. At the counter {rate_said}. How many {want} "
        "is that?",
        f"Convert {amount} {have} to {want} at a rate of {rate}.",
        f"If {rate_said}, how many {want} are {amount:,} {have}?",
        f"Before the trip, {who} goes to the bank with {amount} {have}. The rate is good today: "
        f"{rate_said}, and there is no fee. How many {want} does the bank give?",
        f"How much is {amount} {have} in {want}, when {rate_said}?",
    )
    answer = draw.choose(
        f"The amount times the rate is {result} {want}.",
        f"Multiply by the rate: {result}.",
    )
    return draw.written(question, answer, result)


def profit(draw: Draw) -> Written:
    who, thing, count = draw.name(), draw.choose(*CRAFTS), draw.number() + 1
    cost = draw.between(2, 30)
    sale = cost + draw.between(1, 25)
    sign, word = draw.choose(*CURRENCIES)
    spent = draw.calc(f"{count} * {cost}")
    earned = draw.calc(f"{count} * {sale}")
    gain = draw.calc(f"{earned.text} - {spent.text}")
    question = draw.choose(
        f"{who} makes {count} {thing} for {sign}{cost} each and sells them all for {sign}{sale} "
        "each. What is the profit?",
        f"A stall buys {count:,} {thing} at {cost} {word} and sells every one at {sale}. How much "
        "does it gain?",
        f"Profit on {count} {thing}: cost {sign}{cost}, selling price {sign}{sale} apiece?",
        f"It rained all day, but at the market {who} still sold all {count} {thing}. Each had cost "
        f"{sign}{cost} to make and went for {sign}{sale}. How much profit was made?",
    )
    answer = draw.choose(
        f"They cost {spent} {word} and bring in {earned} {word}. The profit is {gain} {word}.",
        f"Costs: {spent}. Sales: {earned}. Profit: {gain}.",
    )
    return draw.written(question, answer, gain)


def margin(draw: Draw) -> Written:
    who, thing, cost = draw.name(), draw.choose(*GOODS), draw.number() + 4
    sale = cost + draw.between(2, cost)
    sign, word = draw.choose(*CURRENCIES)
    gain = draw.calc(f"{sale} - {cost}")
    share = draw.rounded(f"{gain.text} / {sale} * 100")
    question = draw.choose(
        f"A shop buys a batch of {thing} for {sign}{cost} and sells it for {sign}{sale}. What is "
        "the profit margin in percent of the sales, to two decimals?",
        f"Cost {sign}{cost}, revenue {sale}. Profit in percent of the revenue (two decimals)?",
        f"Last month {who}'s shop sold {thing} for {sale:,} {word}; they had cost {cost:,}. Find "
        "the margin on sales as a percentage, rounded to 2 places.",
        f"What profit margin, in percent to two decimals, do you have if you sell for {sign}{sale} "
        f"what cost you {sign}{cost}?",
    )
    answer = draw.choose(
        f"The profit is {gain} {word}. As a share of the sales that is {share} percent.",
        f"Profit: {gain}. Margin in percent: {share}.",
    )
    return draw.written(question, answer, share)


def loan_cost(draw: Draw) -> Written:
    who, months, rate = draw.name(), draw.choose(6, 12, 18, 24, 36, 48), draw.number() + 9
    borrowed = rate * months - draw.between(1, max(1, rate * months // 6))
    sign, word = draw.choose(*CURRENCIES)
    paid = draw.calc(f"{months} * {rate}")
    extra = draw.calc(f"{paid.text} - {borrowed}")
    question = draw.choose(
        f"{who} borrows {sign}{borrowed} and pays it back in {months} monthly payments of "
        f"{sign}{rate}. How much does the loan cost on top of what was borrowed?",
        f"A loan of {borrowed:,} {word} is repaid with {months} instalments of {rate:,}. How much "
        "interest is that in all?",
        f"What is the total interest on {sign}{borrowed}, repaid at {sign}{rate} a month for "
        f"{months} months?",
        f"To buy a used van, {who} took out a loan of {borrowed} {word}. The bank wants {rate} "
        f"{word} a month for {months} months. How much more than the loan goes to the bank?",
    )
    answer = draw.choose(
        f"All payments together are {paid} {word}. That is {extra} more than was borrowed.",
        f"Paid back: {paid}. Interest: {extra}.",
    )
    return draw.written(question, answer, extra)


def saving_goal(draw: Draw) -> Written:
    who, weekly, weeks = draw.name(), draw.number() + 2, draw.between(3, 60)
    have, thing = draw.number() + 1, draw.choose("present", "trip", "project", "collection")
    goal = have + weekly * weeks - draw.between(0, min(weekly - 1, 5))
    sign, word = draw.choose(*CURRENCIES)
    missing = draw.calc(f"{goal} - {have}")
    needed = draw.calc(f"ceil({missing.text} / {weekly})")
    question = draw.choose(
        f"{who} is saving for a {thing} that costs {sign}{goal}, has {sign}{have} already and puts "
        f"{sign}{weekly} aside each week. How many weeks does it take?",
        f"How many weeks of saving {sign}{weekly} turn {sign}{have} into at least {sign}{goal}?",
        f"A {thing} costs {goal} {word}. With {have} {word} in the jar and {weekly} more every "
        f"week, after how many weeks can {who} buy it?",
        f"Goal {sign}{goal}, saved so far {have}, weekly saving {weekly}. Weeks still to go?",
    )
    answer = draw.choose(
        f"Still missing are {missing} {word}. Rounded up to whole weeks, it takes {needed}.",
        f"Missing: {missing}. Weeks, rounded up: {needed}.",
    )
    return draw.written(question, answer, needed)


def share_gain(draw: Draw) -> Written:
    who, company, count = draw.name(), draw.choose(*COMPANIES), draw.number() + 1
    low, rise, years = draw.between(3, 90), draw.decimal(0.1, 20), draw.between(2, 9)
    sign, word = draw.choose(*CURRENCIES)
    high = draw.calc(f"{low} + {rise}")
    each = draw.calc(f"{high.text} - {low}")
    gain = draw.calc(f"{count} * {each.text}")
    question = draw.choose(
        f"{who} bought {count} shares of {company} at {sign}{low} and sold them at "
        f"{sign}{high.text}. What was the gain, leaving out fees?",
        f"Gain on {count} shares, bought at {low}, sold at {high.text} {word}?",
        f"{count:,} shares of {company} rise from {sign}{low} to {sign}{high.text}. By how much "
        "does their value grow?",
        f"For {years} years {who} has held {count} shares of {company}, bought at {low} {word}. "
        f"Now they stand at {high.text} {word}. How much has {who} gained on paper?",
    )
    answer = draw.choose(
        f"Each share gains {each} {word}. All of them together gain {gain} {word}.",
        f"Gain per share: {each}. In total: {gain}.",
    )
    return draw.written(question, answer, gain)


def split_bill(draw: Draw) -> Written:
    who, people, percent = draw.name(), draw.between(3, 9), draw.choose(10, 20)
    each = draw.between(11, 60)
    bill = price_before(people * each, percent)
    sign, word = draw.choose(*CURRENCIES)
    total = draw.rounded(f"{bill} * (100 + {percent}) / 100")
    part = draw.rounded(f"{total.text} / {people}")
    question = draw.choose(
        f"{who} and {people - 1} friends share a bill of {sign}{bill} equally, after adding "
        f"{percent}% for service. What does each pay?",
        f"Split {sign}{bill} plus {percent}% service among {people} people. How much per person?",
        f"{people} colleagues went for lunch. The bill says {bill} {word} and they leave a tip of "
        f"{percent}%. If all pay the same, how much is it for each?",
        f"Dinner was {sign}{bill}, service of {percent}% not included. There are {people} of us. "
        "What do I owe?",
    )
    answer = draw.choose(
        f"With service it is {total} {word}. Each pays {part} {word}.",
        f"Total: {total}. Per person: {part}.",
    )
    return draw.written(question, answer, part)


def price_before(total: int, percent: int) -> str:
    """An amount that comes to a total, or just about, after a percentage is added."""
    cents = total * 10000 // (100 + percent)
    return f"{cents // 100}.{cents % 100:02d}"


def dividend_yield(draw: Draw) -> Written:
    company, count = draw.choose(*COMPANIES), draw.number() + 1
    value, paid = draw.between(10, 200), draw.decimal(0.2, 6)
    sign, word = draw.choose(*CURRENCIES)
    income = draw.calc(f"{count} * {paid}")
    worth = draw.calc(f"{count} * {value}")
    share = draw.rounded(f"{income.text} / {worth.text} * 100")
    question = draw.choose(
        f"I own {count} shares of {company}, worth {sign}{value} each. Each paid a dividend of "
        f"{sign}{paid}. What did my holding yield, in percent to two decimals?",
        f"{company} pays {paid} {word} a share. Someone holds {count:,} at {value} {word} each. "
        "Find the dividend as a percentage of the value of the holding, to two decimals.",
        f"Dividend yield in percent (2 decimals): {count} shares, price {value}, dividend {paid}?",
        f"An investor with {count} shares at {sign}{value} receives {sign}{paid} for each of them. "
        "What percentage of the investment is that, rounded to two decimals?",
    )
    answer = (
        f"The dividends come to {income} {word}. The shares are worth {worth} {word}. "
        f"The yield in percent is {share}."
    )
    return draw.written(question, answer, share)


def break_even(draw: Draw) -> Written:
    who, thing, cost = draw.name(), draw.choose(*CRAFTS), draw.between(2, 20)
    sale, fixed = cost + draw.between(2, 18), draw.number() + 10
    sign, word = draw.choose(*CURRENCIES)
    each = draw.calc(f"{sale} - {cost}")
    needed = draw.calc(f"ceil({fixed} / {each.text})")
    question = draw.choose(
        f"Renting the workshop costs {sign}{fixed}. Making {thing} costs {sign}{cost} apiece and "
        f"they sell for {sign}{sale}. How many must be sold so that there is no loss?",
        f"Fixed costs {sign}{fixed}, unit cost {cost}, price {sale}: how many units to break even?",
        f"{who} wants to sell {thing} at {sale} {word}, which cost {cost} {word} each to make, and "
        f"has paid {fixed} {word} for equipment. After how many sales is that earned back?",
        f"How many {thing} at {sign}{sale} cover a stall fee of {sign}{fixed}, if each one costs "
        f"{sign}{cost} to make?",
    )
    answer = (
        f"Each one sold brings {each} {word}. To cover the fixed costs, rounded up, it takes "
        f"{needed} sales."
    )
    return draw.written(question, answer, needed)


def depreciation(draw: Draw) -> Written:
    thing = draw.choose("tractor", "printing press", "machine", "boat", "lift")
    life, yearly = draw.between(4, 12), draw.number() + 5
    rest = draw.number() + 1
    cost, after = rest + life * yearly, draw.between(2, life - 1)
    sign, word = draw.choose(*CURRENCIES)
    loss = draw.calc(f"({cost} - {rest}) / {life}")
    lost = draw.calc(f"{loss.text} * {after}")
    value = draw.calc(f"{cost} - {lost.text}")
    question = draw.choose(
        f"A {thing} bought for {sign}{cost} is written off evenly over {life} years down to "
        f"{sign}{rest}. What is its book value after {after} years?",
        f"Straight-line depreciation from {cost} to {rest} {word} in {life} years: what is the "
        f"value after {after} years?",
        f"The company's {thing} cost {cost:,} {word}. It loses the same value each year and will "
        f"be worth {rest:,} after {life} years. What is it worth after {after}?",
        f"Find the value of a {thing} after {after} years, if it cost {sign}{cost} and falls "
        f"evenly to {sign}{rest} over {life} years.",
    )
    answer = (
        f"It loses {loss} {word} a year. In {after} years that is {lost}. "
        f"So the value is {value} {word}."
    )
    return draw.written(question, answer, value)


TRAIN = (
    simple_interest,
    compound_interest,
    discount,
    two_discounts,
    sales_tax,
    tip,
    overtime_wage,
    yearly_salary,
    monthly_budget,
    exchange,
    profit,
    margin,
    saving_goal,
    share_gain,
)
TEST = (loan_cost, split_bill, dividend_yield, break_even, depreciation)
