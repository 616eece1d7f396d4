"""The forms of spoken calculations that aren't plain expressions: "how many grams in two pounds",
"take fifteen percent off sixty", "split eighty between four"."""

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache

from assistant.language import arithmetic
from assistant.language.arithmetic import Impossible, Unreadable, evaluate
from assistant.language.measures import (
    HUNDREDTH,
    MONEY,
    NUMBER,
    PERCENT,
    Amount,
    Unit,
    american,
    as_mass,
    mass_of,
    units,
)

CONVERSIONS = 3
PERIODS: Mapping[tuple[str, str], int | Fraction] = {
    ("month", "year"): 12,
    ("week", "year"): 52,
    ("day", "year"): 365,
    ("day", "week"): 7,
    ("week", "month"): Fraction(13, 3),
    ("hour", "day"): 24,
}
"""(shorter period, longer period) → how many of the shorter period are in the longer one. A price
per month, for example, is paid twelve times a year."""
_SIGN = re.compile(r"\w (?:plus|minus|times|divided|over|multiplied|less|take away)\b")
_EXPLICIT = re.compile(r"\b(?:us|american|uk|imperial)\b")

How = Callable[[re.Match[str]], Amount]


def bracketed(text: str) -> str:
    """Write spoken brackets as signs. In "3 times in brackets 4 plus 5", they enclose what follows,
    up to a spoken closing bracket or the end. In "3 plus 4 in brackets times 5", they enclose what
    precedes."""
    text = re.sub(r"\b(?:open|left)(?: the)? (?:brackets?|parenthes[ie]s)\b", "(", text)
    text = re.sub(r"\b(?:close|closed|end|right)(?: the| of)? (?:brackets?|parenthes[ie]s)\b", ")",
                  text)  # fmt: skip
    before, inside, after = text.partition("in brackets")
    if not inside:
        return text
    if not before.strip() or re.search(r"(?:plus|minus|times|by|over|of|root) $", before):
        return f"{before}( {after}{'' if ')' in after else ' )'}"
    return f"( {before}) {after}"


def value(text: str) -> Amount:
    """Calculate an expression that may have spoken brackets. Raises the same errors as
    `evaluate`."""
    return evaluate(bracketed(text))


def _operand(text: str) -> Amount:
    """Calculate an operand of a form. Raise Unreadable if it contains an operation without
    brackets, because the order of operations is then unclear: "multiply 3 by 4 plus 5"."""
    if _SIGN.search(text) and "bracket" not in text and "(" not in text:
        raise Unreadable(text)
    return value(text)


def _listed(text: str) -> list[Amount]:
    """Read "3, 5 and 10"."""
    parts = [
        each for each in re.split(r" ?, ?and | ?, ?| and |(?<=\d) (?=\d)", text) if each.strip()
    ]
    if len(parts) < 2:
        raise Unreadable(text)
    return [_operand(each) for each in parts]


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
    target = units().get(re.sub(r"^degrees (?=\w)", "", found["unit"].strip()))
    said = found["amount"].strip()
    amount = value(f"1 {said}" if said in units() else said)
    if target is None:
        raise Unreadable(said)
    alike = _EXPLICIT.search(found[0]) is None
    for wanted, given in (
        (target, amount),
        (mass_of(target), as_mass(amount)),
        (_fluid(target), Amount(amount.value, _fluid(amount.unit))),
    ):
        unit, source = _one_variety(wanted, given) if alike else (wanted, given)
        made = source.to(unit)
        if made is not None and unit.dimension not in (NUMBER, PERCENT, MONEY):
            return made
    raise Unreadable(said)


def _fluid(unit: Unit) -> Unit:
    """Return the fluid ounce for an ounce, or else the unit itself."""
    return units()["fluid ounce"] if unit == units()["ounce"] else unit


def _one_variety(unit: Unit, source: Amount) -> tuple[Unit, Amount]:
    """If one unit is American and the other imperial, use American units for both."""
    if {unit.variety, source.unit.variety} == {"American", "imperial"}:
        return american(unit), Amount(source.value, american(source.unit))
    return unit, source


def _share(found: re.Match[str]) -> Amount:
    """Read "12 as a percentage of 80"."""
    part, whole = _operand(found["part"]), _operand(found["whole"])
    return Amount(100 * arithmetic.divide(part, whole).value, HUNDREDTH)


def _percent_more(sign: int) -> How:
    def change(found: re.Match[str]) -> Amount:
        percent = value(f"{found['by']} percent")
        return arithmetic.add(value(found["of"]), percent, sign)

    return change


def _percent_of(found: re.Match[str]) -> Amount:
    return arithmetic.multiply(value(f"{found['by']} percent"), _operand(found["of"]))


def _split(found: re.Match[str]) -> Amount:
    count = value(found["count"])
    if count.unit.dimension != NUMBER or count.value.denominator > 1:
        raise Unreadable(found["count"])
    return arithmetic.divide(value(found["of"]), count)


def _shared(found: re.Match[str]) -> Amount:
    """Read "£86.40 between 6"."""
    if _operand(found["of"]).unit.dimension != MONEY:
        raise Unreadable(found[0])
    return _split(found)


def _binary(operation: Callable[[Amount, Amount], Amount]) -> How:
    return lambda found: operation(_operand(found["a"]), _operand(found["b"]))


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
    price, length = value(found["price"]), value(found["length"])
    per = units().get(found["per"])
    counted = length.to(per) if per else None
    if counted is None or price.unit.dimension not in (MONEY, NUMBER):
        raise Unreadable(found[0])
    return arithmetic.multiply(Amount(counted.value), price)


def _over_period(found: re.Match[str]) -> Amount:
    """Read "£1,150 a month over a year". A year has twelve months and fifty-two weeks."""
    price = value(found["price"])
    length = value(found["length"])
    per = units().get(found["per"])
    if per is None or price.unit.dimension not in (MONEY, NUMBER):
        raise Unreadable(found[0])
    each = PERIODS.get((per.singular, length.unit.singular))
    counted = length.to(per) if each is None else Amount(length.value * each)
    if counted is None:
        raise Unreadable(found[0])
    return arithmetic.multiply(Amount(counted.value), price)


def _each(found: re.Match[str]) -> Amount:
    count, price = value(found["count"]), value(found["price"])
    if count.unit.dimension != NUMBER:
        raise Unreadable(found[0])
    return arithmetic.multiply(count, price)


_PERCENT = r"percent(?:age)?"
_BY = r"(?P<by>[\d./]+)"
_EXTRA = r"(?:vat|tax|sales tax|tip|gratuity|service|service charge|interest|commission|deposit)"


@cache
def forms() -> tuple[tuple[re.Pattern[str], How], ...]:
    """Return the forms that aren't expressions, in the order in which they are tried. The first
    `CONVERSIONS` of them are conversions of units."""
    relation = r"(?:are there in|are in|is in|there are in|do i get in|in|is|are|per|to|make|makes)"
    listed: tuple[tuple[str, How], ...] = (
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
        (rf"increase (?P<of>.+?) by {_BY} percent", _percent_more(1)),
        (rf"(?P<of>.+?) (?:increased|raised) by {_BY} percent", _percent_more(1)),
        (rf"(?:decrease|reduce|discount) (?P<of>.+?) by {_BY} percent", _percent_more(-1)),
        (rf"(?P<of>.+?) (?:decreased|reduced) by {_BY} percent", _percent_more(-1)),
        (rf"(?P<of>.+?) plus (?:{_EXTRA} (?:at|of) {_BY} percent)", _percent_more(1)),
        (rf"(?P<of>.+?) plus {_BY} percent {_EXTRA}", _percent_more(1)),
        (rf"(?P<of>.+?) with (?:an? )?{_BY} percent (?:off|discount)", _percent_more(-1)),
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
        (r"(?P<of>.+?) (?:split|shared|divided)(?: equally| evenly)? (?:between|among|amongst)"
         r"(?: the)? (?P<count>\d+)(?: ways)?", _split),
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
        (r"(?P<of>.+?) (?:between|among) (?:the )?(?P<count>\d+)", _shared),
        (r"(?P<a>[\d.]+) and (?P<b>[\d.]+)(?: (?:make|makes|equals?))?", _binary(arithmetic.add)),
    )  # fmt: skip
    return tuple((re.compile(pattern), how) for pattern, how in listed)
