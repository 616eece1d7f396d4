"""Decides what a correction by the user changes, without a model.

A correction is a whole statement ("my sister is called Anna", see `correction_statements`), or only
replaces the part that was wrong ("it's Tuesday", see `correction_values`). In doubtful cases, the
rules correct nothing. They work for English only.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from assistant.language.sentences import as_sentence, sentences
from assistant.language.speakers import USER
from assistant.language.stemming import TextAnalyzer
from assistant.memory.curation.correction_statements import (
    SURE,
    denies,
    differing,
    lost_words,
    relation,
    stands_alone,
    telling,
    texts_of,
    with_statement,
)
from assistant.memory.curation.correction_values import MOST_NAMED, Corrected, bare, with_value
from assistant.memory.curation.facts import derived
from assistant.memory.records.memory import Memory


@dataclass(frozen=True, slots=True)
class Correction:
    """A correction that could be made: `corrected` is the new text, and `old` are the memories that
    it supersedes, the likeliest first.

    `loses` is the text of an old memory with content that the new text lacks; empty if there is
    none. A correction that loses something is never certain.
    """

    corrected: Corrected
    old: tuple[Memory, ...]
    loses: str = ""

    @property
    def certain(self) -> bool:
        """Whether the correction may be made without asking the user."""
        return self.corrected.certain and not self.loses


def possible(
    words: str,
    meant: Sequence[Sequence[Memory]],
    contradicted: Sequence[Sequence[Memory]],
    lexicon: TextAnalyzer,
) -> list[Correction]:
    """Return the corrections that `words` may stand for. If there are several, it is unclear which
    of them the user means.

    A whole statement corrects all memories that can't be true together with it. If there are none,
    it corrects the memory that is most likely about the same thing. The corrected text keeps
    whatever else the corrected memories say.

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
        text = telling(sure[0][0].text)
        made = with_statement(text, statement, lexicon) or Corrected(as_sentence(statement))
        return [correction_of(made, sure, lexicon)]
    likely = [
        (made.certain, how, correction_of(made, [group], lexicon))
        for how, group in related
        if (made := with_statement(telling(group[0].text), statement, lexicon)) is not None
    ]
    best = max(((certain, how) for certain, how, _ in likely), default=None)
    return [correction for certain, how, correction in likely if (certain, how) == best]


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
    for said in (texts_of(each.text) for each in old[1:] if not derived(each)):
        wrong = max(said, key=lambda piece: len(words(piece) & replaced), default="")
        for piece in said:
            holds = piece != wrong and relation(piece, text, lexicon) < SURE
            if holds and not words(piece) <= words(text):
                text = f"{as_sentence(text)} {as_sentence(piece)}"
    loses = next((each.text for each in old if _loses(each.text, text, lexicon)), "")
    return Correction(replace(made, text=text), tuple(old), loses)


def withdraws(corrected: str, old: str, part: str, lexicon: TextAnalyzer) -> bool:
    """Return whether the correction of an old text also makes `part` wrong. `part` was derived from
    part of the old text, or says the same thing as part of it.

    This is so if the corrected text gives another value to the same thing, or if `part` contains
    words that the correction has replaced.
    """
    stems, lost = lexicon.content_and_numbers, _lost(old, corrected)
    words = stems(part) - stems(USER)
    every = [*lost, *texts_of(old)]
    nearest = max(every, key=lambda piece: len(words & stems(piece)), default="")
    if nearest not in lost or words.isdisjoint(stems(nearest)):
        return False
    related = relation(part, corrected, lexicon)
    if related >= SURE:
        return True
    now = _nearest(nearest, corrected, lexicon)
    was, new = differing(nearest, now)
    short = max(len(was.split()), len(new.split())) <= MOST_NAMED
    wrong = stems(was if was and short else nearest) - stems(corrected)
    if not wrong:
        return related > 0 and denies(part) != denies(now)
    return not words.isdisjoint(wrong) and (bool(was and short) or related > 0)


def _lost(old: str, corrected: str) -> list[str]:
    """Return the statements of an old text that its correction does not contain."""
    kept = {each.casefold() for each in texts_of(corrected)}
    return [each for each in texts_of(old) if each.casefold() not in kept]


def _loses(old: str, corrected: str, lexicon: TextAnalyzer) -> bool:
    """Whether an old text has content that its correction lacks. Questions don't count."""
    old = " ".join(each.text for each in sentences(old) if not each.text.endswith("?"))
    return any(
        lost_words(piece, _nearest(piece, corrected, lexicon), lexicon)
        - lexicon.content_and_numbers(corrected)
        for piece in _lost(old, corrected)
    )


def _nearest(piece: str, corrected: str, lexicon: TextAnalyzer) -> str:
    """Return the statement of a corrected text that replaces the old statement `piece`."""
    return max(
        texts_of(corrected), key=lambda each: relation(piece, each, lexicon), default=corrected
    )
