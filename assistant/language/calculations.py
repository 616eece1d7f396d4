"""Answers spoken calculations: sums, percentages, conversions of units, days between dates.

What isn't understood as a whole has no answer. Nothing here guesses.
"""

import re
from collections.abc import Callable
from datetime import datetime
from fractions import Fraction
from functools import cache

from assistant.language import arithmetic
from assistant.language.arithmetic import Impossible, Unreadable, evaluate
from assistant.language.date_sums import date_sum
from assistant.language.measures import (
    HUNDREDTH,
    MONEY,
    NUMBER,
    Amount,
    Unit,
    as_mass,
    mass_of,
    units,
)
from assistant.language.spoken_numbers import rounded, spoken_number
from assistant.language.written_sums import with_signs

LONGEST_TEXT = 200
"""Maximum length of what is calculated, in characters."""
_LEADS = re.compile(
    r"^(?:uh|um|er|so|and|ok|okay|ada|please|hey|then|if|the answer to|can you|could you|quickly"
    r"|what(?: i|'?)s|what(?: are|'re)?|what does|how much(?: is| are| does)?|how many is"
    r"|how (?:long|far|tall|heavy|hot|cold|fast|big|high|deep|wide)(?: is| are)|calculate|compute"
    r"|work out|figure out|tell me|give me|convert|do|is|it|i work|i earn|i save|i pay|i get"
    r"|the (?=[^a-z]|difference|average|sum|total|mean|product|cube|square|remainder|vat|tip))\b,? "
)
_TAILS = re.compile(
    r"[ ,]+(?:please|equals?|equal to|equal|is|makes?|make|come to|comes to|for me|then|ada|worth"
    r"|in total|altogether|roughly|exactly|about|of us|people|friends|persons|bill|meal|again)$"
)
PERIODS = {
    ("month", "year"): 12,
    ("week", "year"): 52,
    ("day", "year"): 365,
    ("day", "week"): 7,
    ("week", "month"): Fraction(13, 3),
    ("hour", "day"): 24,
}
"""How many times a year has a month's rent, and so on."""


def calculate(words: str, now: datetime) -> str | None:
    """Return the sentence that answers a calculation, or None if it isn't understood.

    Args:
        now: local time.
    """
    if len(words) > LONGEST_TEXT:
        return None
    days = date_sum(words, now)
    if days is not None:
        return f"That's {days}."
    try:
        amount = result(words)
    except Impossible as impossible:
        return str(impossible)
    if amount is None:
        return None
    source = _source(words, amount)
    return f"That's {spoken_amount(amount)}{source}."


def result(words: str) -> Amount | None:
    """Calculate what is said, or return None if it isn't understood.

    Raises:
        Impossible: the calculation has no result.
    """
    text = stripped(with_signs(words))
    for pattern, how in _forms():
        found = pattern.fullmatch(text)
        if found is None:
            continue
        try:
            return how(found)
        except Unreadable:
            continue
    try:
        return evaluate(bracketed(text))
    except Unreadable:
        return None


def stripped(text: str) -> str:
    """Remove the words around a calculation."""
    while True:
        shorter = _TAILS.sub("", _LEADS.sub("", text.strip(" ,")))
        if shorter == text:
            return text
        text = shorter


def bracketed(text: str) -> str:
    """Write spoken brackets as signs. After "in brackets" without an end, what follows is in
    brackets up to the end; after a complete expression, what precedes."""
    text = re.sub(r"\b(?:open|left)(?: the)? (?:brackets?|parenthes[ie]s)\b", "(", text)
    text = re.sub(r"\b(?:close|closed|end|right)(?: the| of)? (?:brackets?|parenthes[ie]s)\b", ")",
                  text)  # fmt: skip
    before, inside, after = text.partition("in brackets")
    if not inside:
        return text
    if not before.strip() or re.search(r"(?:plus|minus|times|by|over|of|root) $", before):
        return f"{before}( {after}{'' if ')' in after else ' )'}"
    return f"( {before}) {after}"


# -- the forms ----------------------------------------------------------------------------------

How = Callable[[re.Match[str]], Amount]


def _value(text: str) -> Amount:
    return evaluate(bracketed(text))


def _listed(text: str) -> list[Amount]:
    """Read "3, 5 and 10"."""
    parts = [each for each in re.split(r" ?, ?and | ?, ?| and ", text) if each.strip()]
    if len(parts) < 2:
        raise Unreadable(text)
    return [_value(each) for each in parts]


def _total(found: re.Match[str]) -> Amount:
    first, *others = _listed(found["list"])
    for each in others:
        first = arithmetic.add(first, each)
    return first


def _average(found: re.Match[str]) -> Amount:
    count = Amount(Fraction(len(_listed(found["list"]))))
    return arithmetic.divide(_total(found), count)


def _converted(found: re.Match[str]) -> Amount:
    """Read "how many grams in 2 pounds" or "2 pounds in grams"."""
    unit = units().get(re.sub(r"^degrees (?=\w)", "", found["unit"].strip()))
    said = found["amount"].strip()
    said = f"1 {said}" if said in units() else said
    amount = _value(said)
    if unit is None or amount.unit == HUNDREDTH:
        raise Unreadable(said)
    for target, source in (
        (unit, amount),
        (mass_of(unit), as_mass(amount)),
        (_fluid(unit, amount), _fluid_amount(amount, unit)),
    ):
        made = source.to(target)
        if made is not None and source.unit.dimension not in (NUMBER, MONEY):
            return made
    raise Unreadable(said)


def _fluid(unit: Unit, other: Amount) -> Unit:
    ounces = unit == units()["ounce"] and other.unit.dimension == "volume"
    return units()["fluid ounce"] if ounces else unit


def _fluid_amount(amount: Amount, other: Unit) -> Amount:
    """Return ounces of mass as fluid ounces if a volume is asked for."""
    return Amount(amount.value, _fluid(amount.unit, Amount(Fraction(1), other)))


def _share(found: re.Match[str]) -> Amount:
    """Read "12 as a percentage of 80"."""
    part, whole = _value(found["part"]), _value(found["whole"])
    return Amount(100 * arithmetic.divide(part, whole).value, HUNDREDTH)


def _percent_more(sign: int) -> How:
    def change(found: re.Match[str]) -> Amount:
        percent = _value(f"{found['by']} percent")
        return arithmetic.add(_value(found["of"]), percent, sign)

    return change


def _percent_of(found: re.Match[str]) -> Amount:
    return arithmetic.multiply(_value(f"{found['by']} percent"), _value(found["of"]))


def _split(found: re.Match[str]) -> Amount:
    count = _value(found["count"])
    if count.unit.dimension != NUMBER or count.value.denominator > 1:
        raise Unreadable(found["count"])
    return arithmetic.divide(_value(found["of"]), count)


def _binary(operation: Callable[[Amount, Amount], Amount]) -> How:
    return lambda found: operation(_value(found["a"]), _value(found["b"]))


def _difference(first: Amount, second: Amount) -> Amount:
    made = arithmetic.add(first, second, -1)
    return Amount(abs(made.value), made.unit)


def _minus(first: Amount, second: Amount) -> Amount:
    return arithmetic.add(first, second, -1)


def _swapped(operation: Callable[[Amount, Amount], Amount]) -> Callable[[Amount, Amount], Amount]:
    return lambda first, second: operation(second, first)


def _remainder(first: Amount, second: Amount) -> Amount:
    if not second.value:
        raise Impossible(arithmetic.BY_ZERO)
    whole = first.value.denominator == second.value.denominator == 1
    if not (whole and first.unit.dimension == second.unit.dimension == NUMBER):
        raise Unreadable
    return Amount(first.value % second.value)


def _at_rate(found: re.Match[str]) -> Amount:
    """Read "37.5 hours at £13.20 an hour"."""
    price, length = _value(found["price"]), _value(found["length"])
    per = units().get(found["per"])
    counted = length.to(per) if per else None
    if counted is None or price.unit.dimension not in (MONEY, NUMBER):
        raise Unreadable(found[0])
    return arithmetic.multiply(Amount(counted.value), price)


def _over_period(found: re.Match[str]) -> Amount:
    """Read "£1,150 a month over a year". A year has twelve months and fifty-two weeks."""
    price = _value(found["price"])
    length = _value(found["length"])
    per = units().get(found["per"])
    if per is None or price.unit.dimension not in (MONEY, NUMBER):
        raise Unreadable(found[0])
    each = PERIODS.get((per.singular, length.unit.singular))
    counted = length.to(per) if each is None else Amount(length.value * each)
    if counted is None:
        raise Unreadable(found[0])
    return arithmetic.multiply(Amount(counted.value), price)


def _each(found: re.Match[str]) -> Amount:
    count, price = _value(found["count"]), _value(found["price"])
    if count.unit.dimension != NUMBER:
        raise Unreadable(found[0])
    return arithmetic.multiply(count, price)


_PERCENT = r"percent(?:age)?"
_BY = r"(?P<by>[\d./]+)"
_EXTRA = r"(?:vat|tax|sales tax|tip|gratuity|service|service charge|interest|commission|deposit)"


@cache
def _forms() -> tuple[tuple[re.Pattern[str], How], ...]:
    """The forms that aren't expressions, in the order in which they are tried."""
    relation = r"(?:are there in|are in|is in|there are in|do i get in|in|is|are|per|to|make|makes)"
    forms: tuple[tuple[str, How], ...] = (
        (rf"(?:how (?:many|much)|number of) (?P<unit>[a-z$€£ ]+?) {relation} (?P<amount>.+?)"
         r"(?: have| contain| make)?", _converted),
        (r"(?P<amount>.+?) (?:converted |expressed )?(?:in|to|into|as) (?P<unit>[a-z ]+)",
         _converted),
        (r"(?P<unit>[a-z ]+?) (?:in|per|to) (?P<amount>.+)", _converted),
        (r"(?:average|mean) of (?P<list>.+)", _average),
        (r"(?:(?:sum|total) of|a?dd(?: up| together)?) (?P<list>.+?)(?: together| up)?", _total),
        (r"(?P<list>.+?) (?:added|add) (?:together|up)", _total),
        (rf"(?:add|put) {_BY} percent(?: {_EXTRA})? (?:to|on|onto) (?P<of>.+)", _percent_more(1)),
        (rf"(?:take|subtract|deduct) {_BY} percent (?:off|from|away from) (?P<of>.+)",
         _percent_more(-1)),
        (rf"(?:increase )?(?P<of>.+?) (?:increased )?by {_BY} percent", _percent_more(1)),
        (rf"(?:decrease|reduce|discount) (?P<of>.+?) by {_BY} percent", _percent_more(-1)),
        (rf"(?P<of>.+?) (?:decreased|reduced) by {_BY} percent", _percent_more(-1)),
        (rf"(?P<of>.+?) plus (?:{_EXTRA} (?:at|of) {_BY} percent)", _percent_more(1)),
        (rf"(?P<of>.+?) plus {_BY} percent {_EXTRA}", _percent_more(1)),
        (rf"(?P<of>.+?) with {_BY} percent off", _percent_more(-1)),
        (rf"{_BY} percent (?:{_EXTRA} )?(?:on|for) (?P<of>.+)", _percent_of),
        (rf"(?:{_EXTRA} )(?:on|for|of) (?P<of>.+?) at {_BY} percent", _percent_of),
        (rf"(?:{_EXTRA} )(?:at|of) {_BY} percent (?:on|of|for) (?P<of>.+)", _percent_of),
        (rf"(?P<part>.+?) (?:as|is) (?:a|what|in) {_PERCENT} of (?P<whole>.+)", _share),
        (rf"{_PERCENT} of (?P<whole>.+?) is (?P<part>.+)", _share),
        (rf"{_PERCENT} is (?P<part>.+?) (?:out )?of (?P<whole>.+)", _share),
        (rf"(?P<part>.+?) out of (?P<whole>.+?)(?: as| in)(?: a)? {_PERCENT}", _share),
        (r"(?:split|share|divide) (?P<of>.+?) (?:equally |evenly )?(?:between|among|amongst|by)"
         r"(?: the)? (?P<count>[\d ]+)", _split),
        (r"(?:split )?(?P<of>.+?) (?:split |divided |shared )?(?P<count>\d+) ways", _split),
        (r"(?P<of>.+?) (?:split|shared|divided)(?: equally| evenly)? (?:between|among|amongst"
         r"|by)(?: the)? (?P<count>\d+)(?: ways)?", _split),
        (r"split (?P<of>.+?) (?:in|into) (?P<count>\d+)(?: parts| ways)?", _split),
        (r"add (?P<a>.+?) (?:to|and) (?P<b>.+)", _binary(arithmetic.add)),
        (r"(?:subtract|take|deduct) (?P<a>.+?) (?:away from|from|off) (?P<b>.+)",
         _binary(_swapped(_minus))),
        (r"(?P<a>.+?) (?:subtracted|taken away|taken) from (?P<b>.+)", _binary(_swapped(_minus))),
        (r"(?:multiply|product of) (?P<a>.+?) (?:by|and|with) (?P<b>.+)",
         _binary(arithmetic.multiply)),
        (r"divide (?P<a>.+?) by (?P<b>.+)", _binary(arithmetic.divide)),
        (r"(?P<a>\d+) (?:goes )?into (?P<b>\d+)", _binary(_swapped(arithmetic.divide))),
        (r"difference between (?P<a>.+?) and (?P<b>.+)", _binary(_difference)),
        (r"remainder (?:of|when) (?P<a>.+?) (?:is )?divided by (?P<b>.+)", _binary(_remainder)),
        (r"(?P<a>.+?) (?:mod|modulo|modulus) (?P<b>.+)", _binary(_remainder)),
        (r"(?P<length>.+?) (?:at|for|times) (?P<price>.+?) (?:an?|per|each|every) (?P<per>[a-z]+)",
         _at_rate),
        (r"(?P<price>.+?) (?:an?|per|each|every) (?P<per>[a-z]+) (?:over|for|in|times) "
         r"(?P<length>.+)", _over_period),
        (r"(?P<count>\d+)(?: [a-z]+)? (?:at|for|times) (?P<price>.+?) (?:each|apiece)", _each),
    )  # fmt: skip
    return tuple((re.compile(pattern), how) for pattern, how in forms)


# -- spoken -------------------------------------------------------------------------------------


def spoken_amount(amount: Amount) -> str:
    """Return an amount with its unit: "about two point two seven kilograms", "sixteen pounds
    twenty"."""
    unit = amount.unit
    if unit.dimension == MONEY:
        return _spoken_money(amount)
    if unit.parts and (parted := _parted(amount)):
        return parted
    places = 4 if unit.dimension == NUMBER else 2
    value = rounded(amount.value, places)
    words, exact = spoken_number(value)
    about = "" if exact and value == amount.value else "about "
    name = unit.singular.removesuffix(" of mass") if value == 1 else unit.plural
    return f"{about}{words} {name}".strip()


def _spoken_money(amount: Amount) -> str:
    """Return a sum of money: "sixteen pounds twenty", "five pounds and two pence"."""
    unit, cents = amount.unit, round(abs(amount.value) * 100)
    about = "about " * (cents != abs(amount.value) * 100)
    minus = "minus " * (amount.value < 0 and cents > 0)
    whole, part = divmod(cents, 100)
    singular, plural = unit.hundredth or ("", "")
    name = unit.singular if whole == 1 else unit.plural
    small = f"{spoken_number(Fraction(part))[0]} {singular if part == 1 else plural}"
    if not whole and part:
        return f"{about}{minus}{small}"
    words = f"{about}{minus}{spoken_number(Fraction(whole))[0]} {name}"
    if not part:
        return words
    return f"{words} {spoken_number(Fraction(part))[0]}" if part > 9 else f"{words} and {small}"


def _parted(amount: Amount) -> str | None:
    """Return feet with inches, or stone with pounds, unless a few decimals are exact. Pounds are
    spoken with decimals."""
    unit = amount.unit
    if unit.singular == "pound of mass" or (amount.value * 2).denominator == 1:
        return None
    smaller = units()[unit.parts]
    each = int(unit.factor / smaller.factor)
    count = round(abs(amount.value) * each)
    whole, part = divmod(count, each)
    about = "about " * (count != abs(amount.value) * each)
    if not whole or amount.value < 0 or amount.value > 100:
        return None
    first = Amount(Fraction(whole), unit)
    words = spoken_amount(first)
    return f"{about}{words} {spoken_amount(Amount(Fraction(part), smaller))}" if part else (
        f"{about}{words}"
    )  # fmt: skip


def _source(words: str, amount: Amount) -> str:
    """Return which pint or gallon was meant, if the answer doesn't say so itself."""
    if amount.unit.dimension != "volume" or amount.unit.variety:
        return ""
    text = with_signs(words)
    named = (units().get(word) for word in text.split())
    unit = next((each for each in named if each and each.variety), None)
    return f", for the {unit.singular}" if unit and "us " not in f"{text} " else ""
