"""Puts a whole statement ("my sister is called Anna") in place of an older one.

The rules work for English only.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import takewhile
from operator import eq

from assistant.language.sentences import as_sentence
from assistant.language.stemming import TextAnalyzer
from assistant.language.third_person import first_person
from assistant.language.word_lists import listed
from assistant.memory.curation.conflicts import Claim, read
from assistant.memory.curation.correction_values import (
    IDLE,
    MOST_NAMED,
    PROPER,
    TOKEN,
    Corrected,
    bare,
    is_name,
    kind_of,
    kinds_in,
    says_unknown,
    span_of,
)
from assistant.memory.curation.statements import OWN, declarative_sentences, statements

SURE = 100
"""Value of `relation` for two statements that contradict each other about the same thing."""
ALIKE = 2
"""Minimum number of content words shared by two statements that may be about the same thing."""
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
_PASSING = re.compile(
    r"^(?:i|we)(?: (?:have|need|want|got|ought|had)|'ve got|'d like|'m (?:going|about)|'re going)"
    r" to\b"
    r"|^(?:i|we)(?:'ll|'d better| must| should| gotta| can't)\b",
    re.IGNORECASE,
)
"""Matches the beginning of a plan or a wish ("I have to …"), which matters only for the moment."""
_PIECES = re.compile(
    r"(?<=[.!?;])\s+|\s*,?\s+(?:and|but|so)\s+(?=(?:i|i'm|i've|we|we're|my|our)\b)"
    r"|,\s+(?=(?:i|i'm|i've|we|we're|my|our)\b)",
    re.IGNORECASE,
)
_OWN_VERB = frozenset(listed("i'm i've we're we've"))
_ADVERBS = frozenset(listed("never always really just also still often usually don't not do"))
_BEING = _OWN_VERB | frozenset(
    listed("is isn't are aren't was wasn't were weren't am has hasn't have haven't had")
)
_HELPING = frozenset(listed("does doesn't do don't did didn't can can't will won't"))
_OPEN_VERB = re.compile(r"\w+(?:s|ed)")
_NAMING = frozenset(listed("called named"))
_DAYTIME = frozenset(listed("morn afternoon evening night"))
"""Stems of words for parts of the day. A new day does not replace them: "Monday morning"."""
_NOT = re.compile(r"\bnot\b|n't\b", re.IGNORECASE)


def stands_alone(words: str) -> bool:
    """Whether a correction is a whole statement, i.e. clear without the text that it corrects."""
    plain = bare(words)
    if not plain or _POINTS.match(plain) or len(plain.split()) < 2 or says_unknown(words):
        return False
    if is_name(plain.rstrip(" .!")):
        return False
    if _MINE.match(plain):
        return True
    return _VERB.search(plain) is not None and (len(plain.split()) > 2 or bool(OWN.search(plain)))


def is_worth_keeping(words: str) -> bool:
    """Whether a statement that corrects nothing matters beyond the moment."""
    plain = bare(words)
    if not stands_alone(words) or _PASSING.match(plain):
        return False
    return bool(statements(plain) or declarative_sentences(plain))


def telling(text: str) -> str:
    """Return the only statement of an utterance; the whole utterance if it has several or none."""
    found = statements(text)
    return found[0] if len(found) == 1 else text


def relation(old: str, statement: str, lexicon: TextAnalyzer) -> int:
    """Return how closely a correction is related to an old text.

    The result is `SURE` if the texts give different values to something that has only one value.
    Otherwise, the result is the number of content words that the texts share.
    """
    if _conflict(old, statement, lexicon) is not None:
        return SURE
    return len(lexicon.content_and_numbers(old) & lexicon.content_and_numbers(statement))


def with_statement(old: str, statement: str, lexicon: TextAnalyzer) -> Corrected | None:
    """Return the old text with a whole statement in place of the one that it corrects; None if the
    texts are unlikely to be about the same thing. The rest of the old text is kept.

    The result is certain if both statements are about the same subject and relation. But if they
    contradict each other and the old statement says more, only its value is replaced. The result is
    then not certain, because the rest may no longer be true.
    """
    pieces = list(pieces_of(old))
    if not pieces:
        return None
    related = [relation(old[start:end], statement, lexicon) for start, end in pieces]
    start, end = pieces[related.index(max(related))]
    piece = old[start:end]
    nearness = SURE if max(related) >= SURE else _nearness(piece, statement, lexicon)
    if not nearness:
        return None
    if max(related) >= SURE and lost_words(piece, statement, lexicon):
        made = _value_put(piece, statement, lexicon)
        if made is not None:
            return replace(made, text=as_sentence(f"{old[:start]}{made.text}{old[end:]}"))
    was, now = _short(*differing(piece, statement))
    new = statement.strip().rstrip(".!")
    if start and OWN.match(new) and new.split()[0].lower() not in ("i", "i'm", "i've"):
        new = f"{new[0].lower()}{new[1:]}"
    return Corrected(as_sentence(f"{old[:start]}{new}{old[end:]}"), was, now, nearness > 1)


def lost_words(old: str, new: str, lexicon: TextAnalyzer) -> set[str]:
    """Return the stems of words that are in the old statement but not in the new one. The value
    that the new statement replaces doesn't count."""
    old, new = first_person(old), first_person(new)
    lost = lexicon.content_and_numbers(old) - lexicon.content_and_numbers(new)
    was, now = differing(old, new)
    one, two = lexicon.content_and_numbers(was), lexicon.content_and_numbers(now)
    short = bool(_short(was, now)[0]) and len(one) <= max(1, len(two))
    if short or (_same_kind(was, now) and _DAYTIME.isdisjoint(one - two)):
        lost -= one
    conflict = _conflict(old, new, lexicon)
    if conflict is not None and (len(conflict.value) == 1 or conflict.slot[0] in PROPER):
        lost -= {*conflict.value}
    return lost


def differing(old: str, new: str) -> tuple[str, str]:
    """Return, for each of two texts, the words from the first difference to the last. Return empty
    strings if the first words differ, or if one text only adds words to the other."""
    before, after = list(TOKEN.finditer(old)), list(TOKEN.finditer(new))
    one, two = ([each.group().lower() for each in tokens] for tokens in (before, after))
    first = sum(takewhile(bool, map(eq, one, two)))
    last = sum(takewhile(bool, map(eq, one[first:][::-1], two[first:][::-1])))
    was, now = before[first : len(before) - last], after[first : len(after) - last]
    if not (was and now and first):
        return "", ""
    return old[was[0].start() : was[-1].end()], new[now[0].start() : now[-1].end()]


def texts_of(text: str) -> list[str]:
    """Return the statements in a text."""
    return [text[start:end] for start, end in pieces_of(text)]


def pieces_of(text: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of the statements in a text, without punctuation marks at their ends."""
    at = 0
    for start, end in [*(each.span() for each in _PIECES.finditer(text)), (len(text),) * 2]:
        piece = text[at:start].rstrip(" .!?;,")
        if piece.strip():
            yield at, at + len(piece)
        at = end


def denies(text: str) -> bool:
    """Whether a text contains a negation."""
    return _NOT.search(text) is not None


# -- inside ---------------------------------------------------------------------------------------


def _short(was: str, now: str) -> tuple[str, str]:
    """Return the words that differ, or empty strings if there are too many to be read aloud."""
    return (was, now) if max(len(was.split()), len(now.split())) <= MOST_NAMED else ("", "")


def _conflict(old: str, new: str, lexicon: TextAnalyzer) -> Claim | None:
    """Return the claim in an old text whose value differs from that in the new text; None if there
    is none. Claims about what somebody does or likes don't count, because one can do and like many
    things."""
    after = {each.slot: each.value for each in read(new, lexicon) if each.slot[0] != "do"}
    claims = (each for each in read(old, lexicon) if each.slot in after)
    return next((each for each in claims if each.value != after[each.slot]), None)


def _value_put(piece: str, statement: str, lexicon: TextAnalyzer) -> Corrected | None:
    """Return the old statement with its contradicted value replaced by the new value; None if
    either value can't be found."""
    old = _conflict(piece, statement, lexicon)
    new = _conflict(statement, piece, lexicon)
    if old is None or new is None:
        return None
    place, given = span_of(old, piece, lexicon), span_of(new, statement, lexicon)
    if place is None or given is None:
        return None
    value = statement[slice(*given)]
    was, now = _short(piece[slice(*place)], value)
    return Corrected(f"{piece[: place[0]]}{value}{piece[place[1] :]}", was, now, certain=False)


def _nearness(piece: str, statement: str, lexicon: TextAnalyzer) -> int:
    """Return 2 if two statements are certainly about the same subject and relation, 1 if they may
    be, and otherwise 0."""
    shared = len(lexicon.content_and_numbers(piece) & lexicon.content_and_numbers(statement))
    same = _same_relation(piece, statement, shared)
    if same is not None:
        return same
    typed = bool(kinds_in(piece) & kinds_in(statement))
    return int(shared >= ALIKE or bool(shared and typed))


def _same_relation(old: str, new: str, shared: int) -> int | None:
    """Compare the subjects and verbs of two statements: 2 if they are the same, 1 if they are the
    same but allow several values ("I like …"). Return 0 if the verb continues differently ("I have
    to …"), and None if the subjects or verbs differ."""
    one, two = (
        [each.group().lower() for each in TOKEN.finditer(text.replace("’", "'"))]
        for text in (old, new)
    )
    first = sum(takewhile(bool, map(eq, one, two)))
    if denies(old) != denies(new) and shared and _affirmed(one) == _affirmed(two):
        return 2
    if ["to"] in (one[first : first + 1], two[first : first + 1]):
        return 0
    if shared and _same_kind(*differing(old, new)):
        return 2
    verb = _verb_at(one[:first])
    if verb is None:
        return None
    after = set(one[verb + 1 : first])
    if one[0] in _OWN_VERB | {"i", "we"}:
        return 2 if after & (IDLE - {"a", "an", "to"} | _NAMING) else 1
    if after or one[verb] not in _BEING | _HELPING:
        return 2
    return 1 if len(one) == len(two) == first + 1 else None  # "my car is red", "… is blue"


def _affirmed(words: list[str]) -> list[str]:
    """Return the words of a statement without its negation."""
    return [each.removesuffix("n't") for each in words if each not in ("not", "don't", "do")]


def _verb_at(words: list[str]) -> int | None:
    """Return the index of the verb in the first words of a statement; None if they contain no
    verb."""
    if words and words[0] in _OWN_VERB:
        return 0
    own = bool(words) and words[0] in ("i", "we")
    for at, word in enumerate(words[1:], 1):
        known = word in _BEING | _HELPING or (at > 1 and _OPEN_VERB.fullmatch(word))
        if (own and word not in _ADVERBS) or (not own and known):
            return at
    return None


def _same_kind(was: str, now: str) -> bool:
    """Whether two values are of the same kind: two days, two numbers, two names."""
    if not (was and now):
        return False
    kind = kind_of(was)
    return kind == kind_of(now) and (kind is not None or (is_name(was) and is_name(now)))
