"""Decides by cautious rules whether two texts say the same thing.

If the rules reach no decision, the module limits what a language model may propose.

A high cosine means that two texts are about the same subject. But encoders hardly notice a `not`, a
5 instead of a 6, or another name. So the words are compared: the newer text must add nothing but
fillers. A missed duplicate costs a line in a prompt; a wrong merge would lose a memory.

Models small enough to run locally answer "changed" about almost any pair. So a model may only
choose between the verdicts that the words allow. Names, numbers and negations must agree. Memories
that the user wrote, edited, pinned or split are never changed on a model's proposal.
"""

import re
from collections.abc import Sequence

from assistant.language.calendar import local_day
from assistant.language.normalisation import ASIDES, content_words
from assistant.language.sentences import stated
from assistant.language.speakers import USER
from assistant.language.stemming import TextAnalyzer
from assistant.language.word_lists import listed
from assistant.memory.records.ids import ADDED_BY_USER
from assistant.memory.records.memory import LONGEST_READ, Memory, MemoryKind

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
"""Words that may change the meaning although they carry little content, such as negations. Both
texts must contain the same ones.
"""
FREE = frozenset({"our", "in", "on", "at"})
"""Words in `DECIDING` that may differ between two texts when a model is asked."""
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
"""Words that may refer to something different each time."""
ASKING = re.compile(
    r"^\W*(?:(?:and|so|but|well|hey|okay|um|uh)\W+)*(?:what|who|whom|whose|where|when|why|how|which"
    r"|(?:do|does|did|can|could|would|will|should|is|are|was|were|have|has|am)"
    r" (?:you|i|we|he|she|it|they|there|my|the|your))\b",
    re.IGNORECASE,
)
"""Matches the beginning of a question. Speech recognition often omits the question mark."""
REPLIES = frozenset(listed("see know agre understand think guess mean hope suppos doubt"))
"""Stems of words that are typical of replies, e.g. `I see`."""
SELF = frozenset({"i", "my", "we", "our"})
ENOUGH = 3
"""Minimum number of content words that make a statement understandable without its context."""
MOST_LEFT_OUT = 0.5
"""Maximum share of the older text's content words that the newer text may leave out."""
NEAREST = 0.75
"""Minimum cosine at which a model is asked about two memories. Above `duplicate_cosine`, the model
is only asked about pairs on which the rules did not decide.
"""
EDITED = 1.0
"""Confidence of a derived memory that the user has corrected."""


# -- certain -------------------------------------------------------------------------------------


def same_telling(older: Memory, newer: Memory, lexicon: TextAnalyzer) -> bool:
    """Whether the newer memory says the same thing as the older one, and nothing else."""
    return (
        complete(newer, lexicon)
        and complete(older, lexicon)
        and _same(older.text, newer.text, lexicon)
        and _same_day(older, newer)
    )


def complete(memory: Memory, lexicon: TextAnalyzer) -> bool:
    """Whether a memory states something and is clear without its context, unlike `Yes` or `I love
    it`.
    """
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


# -- what a model may propose ---------------------------------------------------------------------


def may_be_merged(memory: Memory) -> bool:
    """Whether a memory may be merged or superseded because a model proposes it."""
    return (
        memory.speaker == USER
        and memory.kind is not MemoryKind.SUMMARY
        and not (memory.pinned or memory.separate or memory.never_recall)
        and memory.superseded_by is None
        and ADDED_BY_USER not in memory.sources
        and (memory.kind is MemoryKind.EXCHANGE or memory.confidence < EDITED)
    )


def comparable(older: Memory, newer: Memory) -> bool:
    """Whether a model may compare two memories: both may be merged, they have the same user and
    kind, and they come from different exchanges.

    Only the first source of each counts: after an interrupted merge, the older memory may already
    list the newer one's exchange.
    """
    return (
        (older.user_id, older.kind) == (newer.user_id, newer.kind)
        and may_be_merged(older)
        and may_be_merged(newer)
        and (older.told, older.created) <= (newer.told, newer.created)
        and older.sources[:1] != newer.sources[:1]  # the first source is the memory's own exchange
    )


def may_be_same(older: Memory, newer: Memory, lexicon: TextAnalyzer) -> bool:
    """Whether the newer memory may say the same thing as the older one.

    The newer memory must not add a content word. Both must contain the same names, numbers and
    personal words ("I", "my") in the same order, and the same other words that change the meaning,
    such as negations, in any order.
    """
    if lexicon.language != "en" or newer.kind is not MemoryKind.EXCHANGE:
        return False  # merges of derived memories can't be undone
    if not (complete(older, lexicon) and complete(newer, lexicon)):
        return False
    if not _same_day(older, newer) or POINTING.search(newer.text) or POINTING.search(older.text):
        return False
    before, after = content_words(older.text), content_words(newer.text)
    names = _names(older.text) | _names(newer.text)
    if _fixed(before, names) != _fixed(after, names):
        return False
    if sorted(map(_decider, before)) != sorted(map(_decider, after)):
        return False
    known, new = ({w.removesuffix("s") for w in ws if w not in DECIDING} for ws in (before, after))
    return bool(new) and new <= known and len(known - new) <= MOST_LEFT_OUT * len(known)


# -- inside -------------------------------------------------------------------------------------


def _same_day(older: Memory, newer: Memory) -> bool:
    """Whether the two texts can mean the same, given the days on which they were said.

    If either is about something temporary, e.g. `tomorrow` or a headache, both must be from the
    same day.
    """
    together = local_day(older.told) == local_day(newer.told)
    return together or not (MOMENT.search(older.text) or MOMENT.search(newer.text))


def _same(older: str, newer: str, lexicon: TextAnalyzer) -> bool:
    english = lexicon.language == "en"
    before, after = content_words(older, english=english), content_words(newer, english=english)
    return before == after or (english and _adds_nothing(before, after))


def _adds_nothing(before: Sequence[str], after: Sequence[str]) -> bool:
    if [word for word in before if _decides(word)] != [word for word in after if _decides(word)]:
        return False
    known, new = _content(before), _content(after)
    left_out = len(set(known) - set(new)) / max(1, len(known))
    rest = iter(known)  # `Tom is taller than Anna` is not `Anna is taller than Tom`
    return bool(new) and left_out <= MOST_LEFT_OUT and all(word in rest for word in new)


def _decides(word: str) -> bool:
    return word in DECIDING or any(letter.isdigit() for letter in word)


def _content(words: Sequence[str]) -> list[str]:
    """Return the content words in order, each once, without words that change the meaning.

    Words are not stemmed, because stems hide the tense.
    """
    return list(dict.fromkeys(word.removesuffix("s") for word in words if not _decides(word)))


def _decider(word: str) -> str:
    return word if word in DECIDING - FREE else ""


def _fixed(words: Sequence[str], names: set[str]) -> list[str]:
    """Return names, numbers and "I", "my" etc. in order: `I owe Paula` is not `Paula owes me`."""
    return [w for w in words if w in names or w in SELF or any(c.isdigit() for c in w)]


def _names(text: str) -> set[str]:
    """Return the capitalised words of a text, except its first word and "I"."""
    rest = text.partition(" ")[2]
    return {
        w for each in rest.split() if each[:1].isupper() for w in content_words(each) if w != "i"
    }
