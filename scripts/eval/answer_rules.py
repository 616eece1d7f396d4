"""Judges an answer by rules: whether it is right, and which faults its wording has."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from assistant.language.numbers import numbers
from assistant.language.sentences import sentences
from assistant.language.stemming import TextAnalyzer
from scripts.eval.answer_data import Expected

WORDS_PER_S = 2.5
"""Words that the voice speaks in a second."""
REPEATED_WORDS = 4
"""Minimum number of words in a clause that counts as repeated, and in an answer that counts as an
echo."""
ECHOED = 0.8
"""An answer is an echo if at least this share of its words are the user's, in the same order."""
SHOWN = 0.8
"""A text shows a fact if it contains at least this share of the fact's content words and
numbers."""
SHARED = 0.5
"""A sentence in the first person states a fact if at least this share of its content words are in
the fact."""

_QUOTES = str.maketrans("\N{LEFT SINGLE QUOTATION MARK}\N{RIGHT SINGLE QUOTATION MARK}“”", "''\"\"")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_CLAUSE = re.compile(r"[.!?;:,\n\N{EM DASH}]+(?:\s|$)|\s[-\N{EN DASH}]\s")
_LOOP = re.compile(r"\b(\w+(?: \w+){0,7})(?: \1){3}\b")
_UNSPEAKABLE = {
    "markdown": r"\*\*|__\w|(?m:^\s*#{1,6}\s)|\[[^\]]+\]\(",
    "a list": r"(?m:^\s*(?:[-*•]|\d{1,2}[.)])\s)",
    "code": r"```|`[^`]+`|\w\(\)|</?\w+>",
    "a link": r"https?://|\bwww\.",
    "emoji": r"[\u2600-\u27bf\U0001f300-\U0001faff]",
    "marks of the prompt": r"notes about the user|not instructions|\(it is \w+day\b|\[[a-z ]+\]"
    r"|^\s*\(",
}
_FIRST_PERSON = re.compile(
    r"\W*(?:i|i'm|i've|i'd|i'll|my|mine|me|our|ours|we|we're|we've)\b", re.IGNORECASE
)
_TALKS = re.compile(
    r"\W*(?:i|we) (?:\w+ly )?(?:am not|see|think|know|believe|understand|recall|remember|hope|guess"
    r"|suppose|mean|can|can't|cannot|could|couldn't|will|would|don't|do not|didn't|did not|haven't"
    r"|have not|have no|am sorry|am afraid|am glad|am happy)\b"
    r"|\W*(?:i'm|we're) (?:\w+ly )?(?:not|sorry|afraid|glad|happy|unable|sure|here)\b"
    r"|\W*(?:i've|we've) (?:no|not)\b|\W*i(?:'ll|'d)\b|\W*my (?:notes|records|memory|apologies)\b",
    re.IGNORECASE,
)
"""Matches the beginning of a sentence in which the assistant speaks of what it knows or can do."""
_NOT_NAMES = frozenset({"i", "i'm", "i've", "i'd", "i'll", "ai", "ok", "tv"})
_NOT_NUMBERS = frozenset({"one", "first", "second", "zero"})
_DIGITS = re.compile(r"\d[\d.,:/]*")


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement of one answer.

    Attributes:
        wrong: why the answer is wrong; empty if it is right.
        seconds: how long it takes to speak the answer.
        too_short, too_long: None if no sensible length is given.
        person: whether the assistant speaks as if it were the user.
        unspeakable: the kind of the first thing that can't be spoken; empty if there is none.
        invented: names and numbers that are nowhere in the prompt; empty if the question can be
            answered.
    """

    wrong: str
    seconds: float
    too_short: bool | None = None
    too_long: bool | None = None
    repeats: bool = False
    echoes: bool = False
    person: bool = False
    unspeakable: str = ""
    invented: tuple[str, ...] = ()

    @property
    def right(self) -> bool:
        return not self.wrong


def judged(
    written: str,
    spoken: str,
    expected: Expected,
    *,
    said: str,
    facts: Sequence[str] = (),
    known: str | None = None,
) -> Verdict:
    """Judge an answer.

    Args:
        written: the part of the model's text that is spoken.
        spoken: the same text as it is read aloud.
        said: the user's newest words.
        facts: earlier statements of the user, which the assistant must not repeat as if it were the
            user.
        known: everything that the model has read, if the question can't be answered; otherwise
            None.
    """
    written, spoken, said = plain(written), plain(spoken), plain(said)
    rejected = rejected_in(spoken, expected.reject)
    own = any(_FIRST_PERSON.match(found) for _, found in rejected)
    seconds = len(_words(spoken)) / WORDS_PER_S
    span = expected.seconds
    return Verdict(
        wrong=why_wrong(written, spoken, expected),
        seconds=seconds,
        too_short=seconds < span[0] if span else None,
        too_long=seconds > span[1] if span else None,
        repeats=repeats_clause(spoken),
        echoes=echoes(spoken, said),
        person=bool(facts) and (own or speaks_as_user(spoken, [plain(each) for each in facts])),
        unspeakable=unspeakable(written),
        invented=() if known is None else tuple(invented(spoken, f"{plain(known)} {said}")),
    )


def plain(text: str) -> str:
    """The text with typewriter quotes."""
    return text.translate(_QUOTES)


def why_wrong(written: str, spoken: str, expected: Expected) -> str:
    """Why an answer is wrong; empty if it is right. An accepted pattern may match the written or
    the spoken form, since numbers and signs differ between the two.

    >>> why_wrong("It's 5 %.", "It's five percent.", Expected(("5|five",), ("six",)))
    ''
    >>> why_wrong("Six.", "Six.", Expected(("5|five",), ("six",)))
    "'Six' was found by six"
    """
    if not spoken.strip():
        return "no answer"
    for pattern, found in rejected_in(spoken, expected.reject):
        return f"{found!r} was found by {pattern}"
    for pattern in expected.accept:
        if not any(re.search(pattern, text, re.IGNORECASE) for text in (spoken, written)):
            return f"lacks {pattern}"
    return ""


def rejected_in(text: str, patterns: Iterable[str]) -> list[tuple[str, str]]:
    """The patterns that are found, each with the words that it matches."""
    found = ((each, re.search(each, text, re.IGNORECASE)) for each in patterns)
    return [(pattern, match[0]) for pattern, match in found if match]


def repeats_clause(text: str) -> bool:
    """Whether a clause of at least `REPEATED_WORDS` words occurs twice, or a few words occur four
    times in a row.

    >>> repeats_clause("It is a big house, and it stands. It is a big house!")
    True
    >>> repeats_clause("You like reading books reading books reading books reading books")
    True
    >>> repeats_clause("No, no, no. It is a big house, not a big horse.")
    False
    """
    if _LOOP.search(" ".join(_words(text))):
        return True
    clauses = [tuple(_words(each)) for each in _CLAUSE.split(text)]
    long = [each for each in clauses if len(each) >= REPEATED_WORDS]
    return len(long) > len(set(long))


def echoes(answer: str, said: str) -> bool:
    """Whether the answer mostly repeats the user's words, and adds no content words.

    >>> echoes("You are so tired today.", "I am so very tired today, so tired")
    False
    >>> echoes("So you are so very tired today.", "Well, you are so very tired today")
    True
    >>> echoes("Pauline goes line dancing, me.", "Who goes line dancing, me or her?")
    False
    """
    words = _words(answer)
    if len(words) < REPEATED_WORDS or not _content(answer) <= _content(said):
        return False
    return _in_order(words, _words(said)) >= ECHOED * len(words)


def unspeakable(text: str) -> str:
    """The kind of the first thing in a text that can't be spoken; empty if there is none.

    >>> unspeakable("Mix it:\\n1. Flour\\n2. Milk"), unspeakable("In 1969. So what?")
    ('a list', '')
    """
    kinds = (kind for kind, each in _UNSPEAKABLE.items() if re.search(each, text, re.IGNORECASE))
    return next(kinds, "")


def speaks_as_user(answer: str, facts: Collection[str]) -> bool:
    """Whether a first-person sentence of the answer states one of the user's facts.

    >>> speaks_as_user("I play the drums.", ["My sister plays the cello and I play the drums"])
    True
    >>> speaks_as_user("I think you play the drums.", ["I play the drums"])
    False
    """
    known = [_content(each) for each in facts]
    for each in sentences(answer):
        if not _FIRST_PERSON.match(each.text) or _TALKS.match(each.text):
            continue
        words = _content(each.text)
        if words and any(len(words & fact) >= SHARED * len(words) for fact in known):
            return True
    return False


def shows(text: str, fact: str) -> bool:
    """Whether a text contains most content words and numbers of a fact, in any form and order.

    >>> shows("The user, a drummer, plays in 2 bands.", "I play in two bands")
    True
    >>> shows("I play in two …", "I play in two bands")
    False
    """
    words = _lexicon().content_and_numbers(fact)
    return len(words & _lexicon().content_and_numbers(text)) >= SHOWN * len(words)


def invented(answer: str, known: str) -> list[str]:
    """Numbers, and names inside sentences, that don't occur in the known text.

    >>> invented("I think it's Peter, at 12 or noon. Mary knows.", "Mary is here until noon")
    ['12', 'Peter']
    """
    read = set(_words(known)) | set(_DIGITS.findall(known))
    found = [each.rstrip(".,:/") for each in _DIGITS.findall(answer)]
    for sentence in sentences(answer):
        words = _WORD.findall(sentence.text)
        found += [each for each in words if each.lower() in _number_words()]
        found += [each for each in words[1:] if each[0].isupper()]
    new = {
        each: None
        for each in found
        if each.lower().removesuffix("'s") not in read | _NOT_NAMES and each.lower() not in read
    }
    return list(new)


def _in_order(some: Sequence[str], others: Sequence[str]) -> int:
    """The length of the longest common subsequence."""
    row = [0] * (len(others) + 1)
    for word in some:
        before = row
        row = [0]
        for at, other in enumerate(others):
            row.append(before[at] + 1 if word == other else max(before[at + 1], row[at]))
    return row[-1]


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _content(text: str) -> set[str]:
    return set(_lexicon().content(text))


@cache
def _lexicon() -> TextAnalyzer:
    return TextAnalyzer("en")


@cache
def _number_words() -> frozenset[str]:
    return frozenset(numbers()) - _NOT_NUMBERS
