"""Applies a correction to what the user said before, without a model.

A correction is a whole statement ("my sister is called Anna"), or only replaces the part that was
wrong ("it's Tuesday", "Anna, not Hannah"). The corrected text consists only of words from the old
text and from the correction. In doubtful cases, the rules correct nothing. They work for English
only.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from operator import eq

from assistant.language.calendar import MONTHS, WEEKDAYS
from assistant.language.normalisation import content_words
from assistant.language.numbers import numbers, one_of, ordinal_words
from assistant.language.sentences import as_sentence
from assistant.language.speakers import USER
from assistant.language.stemming import TextAnalyzer
from assistant.language.word_lists import listed
from assistant.memory.curation.conflicts import Claim, read
from assistant.memory.curation.facts import derived
from assistant.memory.curation.statements import OWN, statements
from assistant.memory.records.memory import Memory

SURE = 100
"""Value of `relation` for two statements that contradict each other about the same thing."""
MOST_NAMED = 3
"""Maximum number of words in an old or new value that a reply may name."""
_LEADING = re.compile(
    r"^\W*(?:(?:no+|nope|nah|sorry|actually|wait|well|oh|but|look|listen|wrong|correction"
    r"|(?:that|it)(?:'s| is) (?:wrong|not (?:right|true|correct)|incorrect)|you're wrong"
    r"|(?:as )?i (?:meant|mean|said|told you)(?: that)?)\b[\s,.:;!-]*)+",
    re.IGNORECASE,
)
_POINTS = re.compile(
    r"^(?:(?:it|that|this|there|he|she|they)(?:'s|'re|\b)|(?:his|her|its|their)\b|not\b)",
    re.IGNORECASE,
)
_VERB = re.compile(
    r"\S\s*(?:'s|\b(?:is|isn't|are|aren't|was|wasn't|were|weren't|has|have|had|does|doesn't|do|don't"
    r"|did|didn't|can|can't|will|won't|\w+(?:s|ed)))\b\s+\S",
    re.IGNORECASE,
)
_MINE = re.compile(
    r"^(?:i|we)(?:'m|'ve|'re|'d|'ll)?\b(?: \S+){2,}|^(?:i'm|we're) \S", re.IGNORECASE
)
_SUBJECT = re.compile(
    r"^(?:(?:it|that|this|he|she|they|the name)(?:'s|'re| is| was| are| were)"
    r"|(?:his|her|its|their) (?:real )?name(?:'s| is)|(?:i|we) (?:meant?|said))\s+"
    r"(?:(?:called|named|actually|really|now|in fact)\s+)*",
    re.IGNORECASE,
)
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
_IDLE = frozenset(listed("on at in the for by of to a an from until till"))
"""Words that may stand before a value but are not part of it."""
_PIECES = re.compile(
    r"(?<=[.!?;])\s+|\s*,?\s+(?:and|but|so)\s+(?=(?:i|i'm|i've|we|we're|my|our)\b)"
    r"|,\s+(?=(?:i|i'm|i've|we|we're|my|our)\b)",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"[^\W_]+(?:['’.,:-][^\W_]+)*")
_NAME = re.compile(r"(?<![.!?] )(?<!^)\b[A-Z][\w'-]*(?: [A-Z][\w'-]*)*")


@dataclass(frozen=True, slots=True)
class Corrected:
    """A corrected text. `was` contains the replaced words, and `now` the words that replaced them.
    Both are empty unless the change is a short run of words."""

    text: str
    was: str = ""
    now: str = ""


@dataclass(frozen=True, slots=True)
class Correction:
    """A correction that could be made: `corrected` is the new text, and `old` are the memories that
    it supersedes, the likeliest first."""

    corrected: Corrected
    old: tuple[Memory, ...]


def possible(
    words: str,
    meant: Sequence[Sequence[Memory]],
    contradicted: Sequence[Sequence[Memory]],
    lexicon: TextAnalyzer,
) -> list[Correction]:
    """Return the corrections that `words` may stand for. If there are several, it is unclear which
    of them the user means.

    A whole statement corrects all memories that can't be true together with it. If there are none,
    it corrects the memory that it is most closely related to. The corrected text keeps whatever
    else the corrected memories say.

    Args:
        meant: groups of memories that the user may refer to, likeliest first. All memories in a
            group say the same thing.
        contradicted: groups of other memories that can't be true together with `words`.
    """
    if not stands_alone(words):
        return [
            correction_of(made, [group], lexicon)
            for group in meant
            if (made := with_value(telling(group[0].text), words, lexicon)) is not None
        ]
    statement = bare(words)
    related = [(relation(group[0].text, statement, lexicon), group) for group in meant]
    sure = [group for how, group in related if how >= SURE]
    known = {each.id for group in sure for each in group}
    sure += [group for group in contradicted if known.isdisjoint(each.id for each in group)]
    if sure:
        return [correction_of(_with_statement(sure[0][0], statement, lexicon), sure, lexicon)]
    best = max((how for how, _ in related), default=0)
    return [
        correction_of(_with_statement(group[0], statement, lexicon), [group], lexicon)
        for how, group in related
        if best and how == best
    ]


def correction_of(
    made: Corrected, groups: Sequence[Sequence[Memory]], lexicon: TextAnalyzer
) -> Correction:
    """Return the correction of all memories that are affected by `made`, the corrected text of the
    first memory. Whatever else the user said in these memories is added to the text."""
    old = [
        each
        for group in groups
        for each in group
        if each is group[0] or withdraws(made.text, group[0].text, each.text, lexicon)
    ]
    words, text = lexicon.content_and_numbers, made.text
    replaced = words(" ".join(_lost(old[0].text, made.text)) or old[0].text)
    for said in (_texts(each.text) for each in old[1:] if not derived(each)):
        wrong = max(said, key=lambda piece: len(words(piece) & replaced), default="")
        for piece in said:
            holds = piece != wrong and relation(piece, text, lexicon) < SURE
            if holds and not words(piece) <= words(text):
                text = f"{as_sentence(text)} {as_sentence(piece)}"
    return Correction(replace(made, text=text), tuple(old))


def withdraws(corrected: str, old: str, part: str, lexicon: TextAnalyzer) -> bool:
    """Return whether the correction of an old text also makes `part` wrong. `part` was derived from
    part of the old text, or says the same thing as part of it."""
    stems, lost = lexicon.content_and_numbers, _lost(old, corrected)
    words = stems(part) - stems(USER)
    every = [*lost, *_texts(old)]
    nearest = max(every, key=lambda piece: len(words & stems(piece)), default="")
    if nearest not in lost or words.isdisjoint(stems(nearest)):
        return False
    return len(lost) == 1 or relation(nearest, corrected, lexicon) > 0


def _lost(old: str, corrected: str) -> list[str]:
    """Return the statements of an old text that its correction does not contain."""
    kept = {each.casefold() for each in _texts(corrected)}
    return [each for each in _texts(old) if each.casefold() not in kept]


def _with_statement(old: Memory, statement: str, lexicon: TextAnalyzer) -> Corrected:
    made = with_statement(telling(old.text), statement, lexicon)
    return made if made is not None else Corrected(as_sentence(statement))


def bare(words: str) -> str:
    """Return a correction without the words that only introduce it, such as "no" and "actually"."""
    return _LEADING.sub("", words.replace("’", "'").strip()).strip()


def stands_alone(words: str) -> bool:
    """Whether a correction is a whole statement, i.e. clear without the text that it corrects."""
    plain = bare(words)
    if not plain or _POINTS.match(plain) or len(plain.split()) < 2:
        return False
    if _MINE.match(plain):
        return True
    return _VERB.search(plain) is not None and (len(plain.split()) > 2 or bool(OWN.search(plain)))


def telling(text: str) -> str:
    """Return the only statement of an utterance; the whole utterance if it has several or none."""
    found = statements(text)
    return found[0] if len(found) == 1 else text


# -- whole statements -----------------------------------------------------------------------------


def relation(old: str, statement: str, lexicon: TextAnalyzer) -> int:
    """Return how closely a correction is related to an old text.

    The result is `SURE` if both give different values to the same thing, and it can have only one.
    Otherwise, the result is the number of content words that the texts share.
    """
    before, after = _slots(old, lexicon), _slots(statement, lexicon)
    if any(slot in before and before[slot] != value for slot, value in after.items()):
        return SURE
    return len(lexicon.content_and_numbers(old) & lexicon.content_and_numbers(statement))


def with_statement(old: str, statement: str, lexicon: TextAnalyzer) -> Corrected | None:
    """Return the old text with a whole statement in place of the one that it corrects; None if the
    texts are unrelated. The rest of the old text is kept."""
    pieces = list(_pieces(old))
    if not pieces:
        return None
    related = [relation(old[start:end], statement, lexicon) for start, end in pieces]
    best = max(related)
    if not best:
        return None
    start, end = pieces[related.index(best)]
    was, now = _differing(old[start:end], statement)
    new = statement.strip().rstrip(".!")
    if start and OWN.match(new) and new.split()[0].lower() not in ("i", "i'm", "i've"):
        new = f"{new[0].lower()}{new[1:]}"
    return Corrected(as_sentence(f"{old[:start]}{new}{old[end:]}"), was, now)


def _slots(text: str, lexicon: TextAnalyzer) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Return the values that a text gives to things that can have only one value. What somebody
    does or likes is left out, because one can do and like many things."""
    return {each.slot: each.value for each in read(text, lexicon) if each.slot[0] != "do"}


def _texts(text: str) -> list[str]:
    return [text[start:end] for start, end in _pieces(text)]


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of the statements in a text, without punctuation marks at their ends."""
    at = 0
    for start, end in [*(each.span() for each in _PIECES.finditer(text)), (len(text),) * 2]:
        piece = text[at:start].rstrip(" .!?;,")
        if piece.strip():
            yield at, at + len(piece)
        at = end


def _differing(old: str, new: str) -> tuple[str, str]:
    """Return the run of words in which two texts differ, as it stands in each text. Return empty
    strings if the texts differ in more than a short run, or in their first words."""
    before, after = list(_TOKEN.finditer(old)), list(_TOKEN.finditer(new))
    one, two = ([each.group().lower() for each in tokens] for tokens in (before, after))
    first = sum(takewhile(bool, map(eq, one, two)))
    last = sum(takewhile(bool, map(eq, one[first:][::-1], two[first:][::-1])))
    was, now = before[first : len(before) - last], after[first : len(after) - last]
    if not (was and now) or max(len(was), len(now)) > MOST_NAMED or not first:
        return "", ""
    return old[was[0].start() : was[-1].end()], new[now[0].start() : now[-1].end()]


# -- parts ----------------------------------------------------------------------------------------


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


def with_value(old: str, words: str, lexicon: TextAnalyzer) -> Corrected | None:
    """Return the old text with the new value in place of the old one; None if it is uncertain which
    words to replace."""
    new, was = value_of(words)
    if not new or (was and not _TOKEN.search(was)):
        return None
    found = _named(old, was, new) if was else _place(old, new, lexicon)
    if found is None:
        return None
    start, end, value = found
    before = old[start:end]
    if before.casefold() == value.casefold():
        return None
    named = max(len(before.split()), len(value.split())) <= MOST_NAMED
    text = as_sentence(f"{old[:start]}{value}{old[end:]}")
    return Corrected(text, before, value) if named else Corrected(text)


def is_made_of(text: str, old: str, words: str) -> bool:
    """Whether a text that a model wrote may be the corrected text. All of its content words must be
    in the old text or in the new value. It must contain the new value, and keep some other words of
    the old text."""
    new, _ = value_of(words)
    made, before, value = (set(content_words(each)) for each in (text, old, new))
    free = _IDLE | {"is", "are"}
    return (
        bool(value - free)
        and made - free <= before | value
        and value - free <= made
        and bool(made & before - value - free)
        and made != before
    )


def _named(old: str, was: str, new: str) -> tuple[int, int, str] | None:
    places = list(re.finditer(rf"(?<!\w){re.escape(was)}(?!\w)", old, re.IGNORECASE))
    return (*places[0].span(), new) if len(places) == 1 else None


def _place(old: str, new: str, lexicon: TextAnalyzer) -> tuple[int, int, str] | None:
    """Return the range of the value that the new one replaces, and the new value in a form that
    fits there; None if the range is uncertain."""
    for pattern in _typed():
        given = [each for each in pattern.finditer(new) if _counts(each)]
        if not given:
            continue
        rest = f"{new[: given[0].start()]} {new[given[0].end() :]}".lower().split()
        places = [each for each in pattern.finditer(old) if _counts(each)]
        if len(given) > 1 or len(places) > 1 or not _IDLE.issuperset(rest):
            return None
        if places:
            return _fitted(places[0], given[0])
    if OWN.search(new):
        return None
    claims = list(read(old, lexicon))
    if len(claims) == 1 and (span := _span_of(claims[0], old, lexicon)) is not None:
        if any(pattern.search(old, *span) for pattern in _typed()):
            return None  # "the 13th" can't replace "12 March" as it is
        return (*span, _without_repeated(old[: span[0]], new))
    names = list(_NAME.finditer(old))
    named = [each for each in names if each.group() not in ("I", "I'm", "I've")]
    if len(named) == 1 and new[:1].isupper() and len(new.split()) <= MOST_NAMED:
        return (*named[0].span(), new)
    return None


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


def _fitted(place: re.Match[str], given: re.Match[str]) -> tuple[int, int, str]:
    """Return the range to replace. Words after the old value, such as "pm" or "morning", stay if
    the new value has none of its own."""
    more = place.groupdict().get("more") or ""
    kept = bool(more) and not given.groupdict().get("more")
    return place.start(), place.end() - (len(more) if kept else 0), given.group()


def _span_of(claim: Claim, text: str, lexicon: TextAnalyzer) -> tuple[int, int] | None:
    """Return the range of a claim's value in the text that makes the claim."""
    left, start, end = list(claim.value), -1, -1
    for token in reversed(list(_TOKEN.finditer(text))):
        word = token.group()
        forms = {word.lower(), *lexicon.content(word), *content_words(word)}
        hit = next((each for each in left if each in forms), None)
        if hit is not None:
            left.remove(hit)
            start, end = token.start(), token.end() if end < 0 else end
        elif end >= 0 and word.lower() not in _IDLE:
            break
        if not left:
            return start, end
    return None


def _without_repeated(before: str, new: str) -> str:
    """Return the new value without a leading preposition or article that the text before it already
    ends with."""
    first, _, rest = new.partition(" ")
    last = before.split()[-1].lower() if before.split() else ""
    return rest if rest and first.lower() in _IDLE and first.lower() == last else new
