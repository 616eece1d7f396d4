"""Puts a new value into what the user said before: "it's Tuesday", "Anna, not Hannah".

The corrected text consists only of words from the old text and from the correction. The rules work
for English only.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from assistant.language.calendar import MONTHS, WEEKDAYS
from assistant.language.normalisation import content_words
from assistant.language.numbers import numbers, one_of, ordinal_words
from assistant.language.sentences import as_sentence
from assistant.language.stemming import TextAnalyzer
from assistant.language.word_lists import listed
from assistant.memory.curation.conflicts import Claim, read
from assistant.memory.curation.statements import OWN

MOST_NAMED = 3
"""Maximum number of words in an old or new value that a reply may name."""
LONGEST_VALUE = 6
"""Maximum number of words in a value that is recognised only by its place in the text."""
IDLE = frozenset(listed("on at in the for by of to a an from until till"))
"""Words that may stand before a value but are not part of it."""
TOKEN = re.compile(r"[^\W_]+(?:['’.,:-][^\W_]+)*")
_LEADING = re.compile(
    r"^\W*(?:(?:no+|nope|nah|sorry|actually|wait|well|oh|but|look|listen|wrong|correction"
    r"|(?:that|it)(?:'s| is) (?:wrong|not (?:right|true|correct)|incorrect)|you're wrong"
    r"|(?:as )?i (?:meant|mean|said|told you)(?: that)?)\b[\s,.:;!-]*)+",
    re.IGNORECASE,
)
_UNKNOWN = re.compile(
    r"\W*(?:(?:to be honest|well|oh|hm+|um+|uh|er|sorry|honestly|actually|no|just)\b[\s,.!…-]*)*"
    r"(?:(?:i|we) (?:\w+ly )?(?:don't|do not|didn't|can't|cannot|can not|couldn't) "
    r"(?:(?:really|even|quite) )?(?:(?:know|remember|recall)\b|(?:say|tell|think|care|mind)\W*$)"
    r"|(?:i|we) (?:don't|do not) have (?:an?|any|the (?:slightest|faintest)) (?:idea|clue)\b"
    r"|(?:(?:i|we)(?:'ve| have)?(?: got)? )?(?:absolutely )?"
    r"(?:no|not an?|not the (?:slightest|faintest)) (?:idea|clue)\b"
    r"|(?:i(?:'ve| have)? )?forg(?:et|ot|otten)(?:\W*$| (?:it|what|which|who|when|where|how)\b)"
    r"|(?:(?:i'm|i am|we're|we are) )?(?:really )?(?:not (?:\w+ )?|un)(?:sure|certain)\b"
    r"|(?:don't|can't) (?:know|remember)\b|(?:dunno|who knows|whatever|beats me|search me)\W*$)",
    re.IGNORECASE,
)
_NO_MORE = re.compile(
    r"(?:\W+(?:it|that|yet|either|really|now|right now|any ?more|exactly|for sure"
    r"|about (?:it|that)|at the moment|what it (?:is|was|should be)|what to (?:say|remember)|sorry"
    r"|to be honest))*\W*",
    re.IGNORECASE,
)
_JUDGES = re.compile(
    r"\b(?:should|would|could|might|must|ought|(?:should|would|could|must)n't|can't|cannot|won't"
    r"|let's)\b",
    re.IGNORECASE,
)
"""Matches words that occur in remarks but not in values: "they should have asked me"."""
_SUBJECT = re.compile(
    r"^(?:(?:it|that|this|he|she|they|the name)(?:'s|'re| is| was| are| were)"
    r"|(?:his|her|its|their) (?:real )?name(?:'s| is)|(?:i|we) (?:meant?|said))\s+"
    r"(?:(?:called|named|actually|really|now|in fact)\s+)*",
    re.IGNORECASE,
)
_PERSON = re.compile(r"(?:he|she|they|we|i)(?:'| is| are| am)", re.IGNORECASE)
_POINTS = re.compile(r"(?:it|that|this|he|she|they|we|i|you)\b", re.IGNORECASE)
"""Matches a pronoun at the beginning. Words that begin with one may be a remark, not a value."""
_ONE = re.compile(r"\ban? ", re.IGNORECASE)
_CALLED = re.compile(r"\b(?:called|named|name(?:'s| is))\s", re.IGNORECASE)
_CLOSING = re.compile(r"[\s,.!;]+(?:instead|actually|now|please|sorry)?[\s.!]*$", re.IGNORECASE)
_NOT_FIRST = re.compile(
    r"^(?:(?:it|that|he|she)(?:'s| is)? )?(?:not|isn't) (?P<old>[^,.;]+?)(?:\s*[,.;]\s*|\s+but\s+)"
    r"(?:but\s+|rather\s+)?(?P<new>.+)$",
    re.IGNORECASE,
)
_NOT_LAST = re.compile(
    r"^(?P<new>.+?)\s*[,;]?\s+(?:and )?(?:not|instead of|rather than) (?P<old>[^,.;]+)$",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?<![.!?] )(?<!^)\b[A-Z][\w'-]*(?: [A-Z][\w'-]*)*")
_NAMES = re.compile(
    r"(?!I(?:'\w+)?\b)[A-Z][\w'.-]*"
    r"(?: (?:de|da|do|dos|del|della|di|van|von|der|den|la|le|el|al|bin|of|the|upon|and"
    r"|[A-Z][\w'.-]*)(?= |$)){0,4}"
)
"""Matches a name as it is written: "Anna", "Rio de Janeiro"."""
PROPER = frozenset({"name", "home"})
"""Slots whose values are names of people or places."""


@dataclass(frozen=True, slots=True)
class Corrected:
    """A corrected text. `was` contains the replaced words, and `now` the words that replaced them.
    Both are empty unless the change is a short run of words. `certain` is False if the user may
    mean something else, and should be asked."""

    text: str
    was: str = ""
    now: str = ""
    certain: bool = True


@dataclass(frozen=True, slots=True)
class _Place:
    """The range [start, end) of an old value, and the new value in a form that fits there."""

    start: int
    end: int
    value: str
    certain: bool = True


def bare(words: str) -> str:
    """Return a correction without the words that only introduce it, such as "no" and "actually"."""
    return _LEADING.sub("", words.replace("’", "'").strip()).strip()


def says_unknown(words: str, *, only: bool = False) -> bool:
    """Whether the user says that they don't know or remember something, e.g. "I don't remember my
    locker code".

    Args:
        only: accept only words that don't say what is unknown, e.g. "I really don't know".
    """
    plain = words.replace("’", "'")
    found = _UNKNOWN.match(plain)
    return found is not None and (not only or _NO_MORE.fullmatch(plain, found.end()) is not None)


def value_of(words: str) -> tuple[str, str]:
    """Return the new value in a correction that isn't a whole statement, and the old value if the
    correction names it.

    >>> value_of("no, it's Anna, not Hannah")
    ('Anna', 'Hannah')
    """
    plain, was = bare(words), ""
    for pattern in (_NOT_FIRST, _NOT_LAST):
        if match := pattern.match(plain):
            plain, was = match["new"], match["old"]
            break
    new = _CLOSING.sub("", f"{_SUBJECT.sub('', plain)} ")
    return new.strip(" .,!;"), _CLOSING.sub("", f"{_SUBJECT.sub('', was)} ").strip(" .,!;")


def may_be_value(old: str, words: str, lexicon: TextAnalyzer) -> bool:
    """Whether a correction may contain a new value for an old text, even if the rules can't tell
    which words it replaces. A remark ("he's an idiot", "it's a disgrace") contains none."""
    new, _ = value_of(words)
    if not lexicon.content(new) or says_unknown(words) or _JUDGES.search(new):
        return False
    claims, typed = list(read(old, lexicon)), kind_of(new) is not None
    if len(claims) == 1 and claims[0].slot[0] in PROPER:
        return not typed and _name_fits(new, words) is not None
    alike = bool(_ONE.match(new) and _ONE.search(old))
    short = len(new.split()) <= MOST_NAMED and not _POINTS.match(bare(words))
    return typed or alike or short or _name_fits(new, words) is not None


def with_value(old: str, words: str, lexicon: TextAnalyzer) -> Corrected | None:
    """Return the old text with the new value in place of the old one; None if it is unclear which
    words to replace.

    The result is certain if the user names the old value. It is also certain if the new value has a
    kind that is recognised by its form (a day, a number, a name), and replaces the only value of
    this kind. Any other words might be a remark ("it's ridiculous").
    """
    new, was = value_of(words)
    if not new or says_unknown(words) or (was and not TOKEN.search(was)):
        return None
    place = _named(old, was, new) if was else _place(old, new, words, lexicon)
    if place is None:
        return None
    before = old[place.start : place.end]
    if before.casefold() == place.value.casefold():
        return None
    text = as_sentence(f"{old[: place.start]}{place.value}{old[place.end :]}")
    named = max(len(before.split()), len(place.value.split())) <= MOST_NAMED
    was, now = (before, place.value) if named else ("", "")
    return Corrected(text, was, now, place.certain)


def is_made_of(text: str, old: str, words: str) -> bool:
    """Whether a text that a model wrote may be the corrected text. All of its content words must be
    in the old text or in the new value. It must contain the new value, and keep some other words of
    the old text."""
    new, _ = value_of(words)
    made, before, value = (set(content_words(each)) for each in (text, old, new))
    free = IDLE | {"is", "are"}
    return (
        bool(value - free)
        and made - free <= before | value
        and value - free <= made
        and bool(made & before - value - free)
        and made != before
    )


def kind_of(value: str) -> int | None:
    """Return the kind of a value that is recognised by its form, such as a day; otherwise None."""
    for kind, pattern in enumerate(_typed()):
        if (found := pattern.search(value)) and _counts(found):
            rest = f"{value[: found.start()]} {value[found.end() :]}".lower().split()
            return kind if IDLE.issuperset(rest) else None
    return None


def kinds_in(text: str) -> set[int]:
    """Return the kinds of all values in a text that are recognised by their form."""
    return {
        kind
        for kind, pattern in enumerate(_typed())
        if any(_counts(found) for found in pattern.finditer(text))
    }


def is_name(value: str) -> bool:
    """Whether a value is written like a name. Words such as "the" before it don't count."""
    words = value.split()
    while words and words[0].lower() in IDLE:
        del words[0]
    return _NAMES.fullmatch(" ".join(words)) is not None


def _named(old: str, was: str, new: str) -> _Place | None:
    places = list(re.finditer(rf"(?<!\w){re.escape(was)}(?!\w)", old, re.IGNORECASE))
    return _Place(*places[0].span(), new) if len(places) == 1 else None


def _place(old: str, new: str, words: str, lexicon: TextAnalyzer) -> _Place | None:
    """Return where to put the new value of the correction `words`; None if that is unclear."""
    for pattern in _typed():
        given = [each for each in pattern.finditer(new) if _counts(each)]
        if not given:
            continue
        rest = f"{new[: given[0].start()]} {new[given[0].end() :]}".lower().split()
        places = [each for each in pattern.finditer(old) if _counts(each)]
        if len(given) > 1 or len(places) > 1 or not IDLE.issuperset(rest):
            return None
        if places:
            return _fitted(places[0], given[0])
    if OWN.search(new) or kind_of(new) is not None:
        return None
    claims = list(read(old, lexicon))
    if len(claims) == 1 and (span := span_of(claims[0], old, lexicon)) is not None:
        return _in_claim(claims[0], span, old, new, words)
    names = [each for each in _NAME.finditer(old) if each.group() not in ("I", "I'm", "I've")]
    if len(names) == 1 and is_name(new) and len(new.split()) <= MOST_NAMED:
        return _Place(*names[0].span(), new, _is_inside(new, words))
    return None


def _in_claim(claim: Claim, span: tuple[int, int], old: str, new: str, words: str) -> _Place | None:
    """Return the place of the new value in the only claim of an old text."""
    if any(pattern.search(old, *span) for pattern in _typed()):
        return None  # "the 13th" can't replace "12 March" as it is
    value = _without_repeated(old[: span[0]], new)
    proper = claim.slot[0] in PROPER
    if proper or is_name(old[slice(*span)]):
        fits = _name_fits(new, words)
        return _Place(*span, value, fits) if fits or (proper and fits is False) else None
    few = len(new.split()) <= LONGEST_VALUE and not _JUDGES.search(new)
    return _Place(*span, value, certain=False) if few else None


def _name_fits(new: str, words: str) -> bool | None:
    """Whether a new value is certainly a name; None if it can't be a name. A single word in lower
    case may be a name, except after "she's", because not everybody types capital letters."""
    called = _CALLED.search(words) is not None
    if is_name(new):
        return called or _is_inside(new, words)
    names = [each for each in new.lower().split() if each not in IDLE]
    if len(names) > MOST_NAMED or new.partition(" ")[0].lower() in ("a", "an", "the"):
        return None
    if called:
        return True
    return False if len(names) == 1 and not _PERSON.match(bare(words)) else None


def _is_inside(new: str, words: str) -> bool:
    """Whether other words of the same sentence stand before the new value. If so, its capital
    letter isn't due to the beginning of the sentence."""
    before = words.replace("’", "'").partition(new)[0].rstrip()
    return bool(before) and not before.endswith((".", "!", "?"))


def _typed() -> Sequence[re.Pattern[str]]:
    """Return the patterns of values that are recognised by their form: dates, months, days of the
    week, and numbers, including times of day."""
    day = rf"(?:\d{{1,2}}(?:st|nd|rd|th)?|{ordinal_words()})"
    month = "|".join(each if each in ("May", "March") else f"(?i:{each})" for each in MONTHS)
    number = one_of(numbers())
    return (
        re.compile(rf"\b(?:the )?{day}(?: of)? (?:{month})\b|\b(?:{month}) (?:the )?{day}\b"),
        re.compile(rf"\b(?:{month})\b"),
        re.compile(
            rf"\b(?:{'|'.join(WEEKDAYS)})s?\b(?P<more>(?: (?:morning|afternoon|evening|night))?)",
            re.IGNORECASE,
        ),
        re.compile(
            rf"\b(?:(?:half|quarter|{number}) (?:past|to) )?"
            rf"(?:\d+(?:[.,:/-]\d+)*|{number}(?:[ -](?:and )?{number})*)"
            r"(?P<more>(?: ?(?:am|pm|a\.m\.|p\.m\.|o'clock)\b)?)(?!\w)",
            re.IGNORECASE,
        ),
    )


def _counts(match: re.Match[str]) -> bool:
    """Whether a match is a value; a lone "one" or "second" usually isn't."""
    return match.group().lower() not in ("one", "second")


def _fitted(place: re.Match[str], given: re.Match[str]) -> _Place:
    """Return the range to replace. Words after the old value, such as "pm" or "morning", stay if
    the new value has none of its own."""
    more = place.groupdict().get("more") or ""
    kept = bool(more) and not given.groupdict().get("more")
    return _Place(place.start(), place.end() - (len(more) if kept else 0), given.group())


def span_of(claim: Claim, text: str, lexicon: TextAnalyzer) -> tuple[int, int] | None:
    """Return the range of a claim's value in the text that makes the claim."""
    left, start, end = list(claim.value), -1, -1
    for token in reversed(list(TOKEN.finditer(text))):
        word = token.group()
        forms = {word.lower(), *lexicon.content(word), *content_words(word)}
        hit = next((each for each in left if each in forms), None)
        if hit is not None:
            left.remove(hit)
            start, end = token.start(), token.end() if end < 0 else end
        elif end >= 0 and word.lower() not in IDLE:
            break
        if not left:
            return start, end
    return None


def _without_repeated(before: str, new: str) -> str:
    """Return the new value without its leading preposition or article if the text before it ends
    with the same word."""
    first, _, rest = new.partition(" ")
    last = before.split()[-1].lower() if before.split() else ""
    return rest if rest and first.lower() in IDLE and first.lower() == last else new
