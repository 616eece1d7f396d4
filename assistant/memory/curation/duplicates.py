"""Decides by cautious rules whether two texts say the same thing.

A high cosine says that they are about the same subject; but encoders hardly notice a `not`, a 5
instead of a 6, or another name. So the words decide: the newer text must not add anything but
fillers. A missed duplicate costs a line; a wrong merge would cost a memory.
"""

import re
from collections.abc import Sequence

from assistant.language.calendar import local_day
from assistant.language.normalisation import ASIDES, content_words
from assistant.language.sentences import stated
from assistant.language.speakers import USER
from assistant.language.stemming import TextAnalyzer
from assistant.language.word_lists import listed
from assistant.memory.records.memory import LONGEST_READ, Memory

DECIDING = frozenset(
    listed(
        "not no never none neither nor nothing nobody anymore hardly barely without but except"
        " unless if when while because was were had did been used will would could should might may"
        " must going want wants wanted hope maybe perhaps probably almost nearly only both all"
        " every some most few many more less least than before after until since from to into onto"
        " up down over under on off in out with against between i my we our you your he his she her"
        " they their who whose now instead either or"
    )
)
"""Words that may reverse the meaning though they carry little content: both must have the same."""

MOMENT = re.compile(
    r"\b(?:today|tonight|tomorrow|yesterday|this|next|last|ago|now|currently|at the moment|lately"
    r"|recently|soon|later|earlier|was|were|had|went|came|saw|ate|slept|felt"
    r"|in (?:a|an|\w+) (?:minutes?|hours?|days?|weeks?|months?)"
    r"|on (?:mon|tues|wednes|thurs|fri|satur|sun)day)\b",
    re.IGNORECASE,
)
"""Words whose meaning depends on the day on which they are said."""
POINTING = re.compile(
    r"\b(?:it|this|these|those|he|him|his|she|her|hers|they|them|their|there|here|ones?|that)\b",
    re.IGNORECASE,
)
"""Words that may refer to something else each time."""
ASKING = re.compile(
    r"^\W*(?:(?:and|so|but|well|hey|okay|um|uh)\W+)*(?:what|who|whom|whose|where|when|why|how|which"
    r"|(?:do|does|did|can|could|would|will|should|is|are|was|were|have|has|am)"
    r" (?:you|i|we|he|she|it|they|there|my|the|your))\b",
    re.IGNORECASE,
)
"""How questions begin; speech recognition drops the question mark."""
REPLIES = frozenset(listed("see know agre understand think guess mean hope suppos doubt"))
"""Stems of replies to what was said before: `I see`."""
SELF = frozenset({"i", "my", "we", "our"})
ENOUGH = 3
"""Content words that make a statement understandable by itself."""
MOST_LEFT_OUT = 0.5
"""Share of the older text's content words that the newer one may leave out."""


def same_telling(older: Memory, newer: Memory, lexicon: TextAnalyzer) -> bool:
    """Whether the newer memory says what the older one says, and nothing else."""
    return (
        complete(newer, lexicon)
        and complete(older, lexicon)
        and _same(older.text, newer.text, lexicon)
        and same_day(older, newer)
    )


def same_day(older: Memory, newer: Memory) -> bool:
    """False if either text is about something temporary and they were said on different days:
    `tomorrow` or a headache then means something else."""
    together = local_day(older.told) == local_day(newer.told)
    return together or not (_passing(older) or _passing(newer))


def _same(older: str, newer: str, lexicon: TextAnalyzer) -> bool:
    english = lexicon.language == "en"
    before, after = content_words(older, english=english), content_words(newer, english=english)
    return before == after or (english and _adds_nothing(before, after))


def _passing(memory: Memory) -> bool:
    """Whether its meaning depends on the day on which it is said."""
    return MOMENT.search(memory.text) is not None


def complete(memory: Memory, lexicon: TextAnalyzer) -> bool:
    """Whether it states something and can be understood by itself, unlike `Yes` or `I love it`."""
    if len(memory.text) > LONGEST_READ:
        return False
    plain = ASIDES.sub(" ", memory.text.lower())
    if "?" in plain or ASKING.search(plain) or not stated(plain):
        return False
    content = len(set(lexicon.content(plain)) - REPLIES)
    if memory.speaker != USER or POINTING.search(plain):
        return content >= ENOUGH
    personal = not SELF.isdisjoint(content_words(plain))
    return content >= (1 if personal else 2)


def _adds_nothing(before: Sequence[str], after: Sequence[str]) -> bool:
    if [word for word in before if _decides(word)] != [word for word in after if _decides(word)]:
        return False
    known, told = _content(before), _content(after)
    left_out = len(set(known) - set(told)) / max(1, len(set(known)))
    return bool(told) and left_out <= MOST_LEFT_OUT and _subsequence(told, known)


def _decides(word: str) -> bool:
    return word in DECIDING or any(letter.isdigit() for letter in word)


def _content(found: Sequence[str]) -> list[str]:
    """The other words in order, each once. Not stems, which hide the tense."""
    return list(dict.fromkeys(word.removesuffix("s") for word in found if not _decides(word)))


def _subsequence(inner: Sequence[str], outer: Sequence[str]) -> bool:
    """`Tom is taller than Anna` is not `Anna is taller than Tom`."""
    rest = iter(outer)
    return all(word in rest for word in inner)
