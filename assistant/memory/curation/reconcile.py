"""Decides whether a new memory repeats or supersedes existing ones.

Every new memory is checked here, whatever created it. All functions are pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from assistant.language.stemming import TextAnalyzer
from assistant.memory.curation.conflicts import changes, supersedes
from assistant.memory.curation.corrections import withdraws
from assistant.memory.curation.duplicates import complete, same_telling
from assistant.memory.curation.facts import LIKE_ENOUGH, derived, same_fact
from assistant.memory.records.ids import ADDED_BY_USER
from assistant.memory.records.memory import Memory, MemoryKind

DUPLICATE_COSINE = 0.92
"""Minimum cosine at which two memories may say the same thing."""
RELATED_COSINE = 0.2
"""Minimum cosine at which one memory may supersede another, because both are about the same
thing.
"""


@dataclass(frozen=True, slots=True)
class Repeats:
    """The new memory repeats `old`."""

    old: Memory


@dataclass(frozen=True, slots=True)
class Replaces:
    """The new memory supersedes the memories in `old`, which are no longer true."""

    old: tuple[Memory, ...]


@dataclass(frozen=True, slots=True)
class ReplacedBy:
    """The existing memory `by` supersedes the new memory, because `by` was said later.

    Derived memories are created late, so an older statement can arrive after a newer one.
    """

    by: Memory


Decision = Repeats | Replaces | ReplacedBy | None
"""None means that the new memory neither repeats nor supersedes another."""


def may_matter(new: Memory, lexicon: TextAnalyzer) -> bool:
    """Whether a memory needs comparing with others. Most memories are questions and don't."""
    if new.separate:
        return False
    if derived(new) or ADDED_BY_USER in new.sources:
        return True
    return complete(new, lexicon) or changes(new, lexicon)


def least_cosine(new: Memory, lexicon: TextAnalyzer, duplicate_cosine: float) -> float:
    """Return the minimum cosine at which a memory needs comparing with `new`."""
    if derived(new):
        return RELATED_COSINE
    # A memory that states no change can only be a repetition, so few others need comparing.
    return -1.0 if changes(new, lexicon) else duplicate_cosine


def reconcile(
    new: Memory,
    near: Sequence[tuple[Memory, float]],
    lexicon: TextAnalyzer,
    duplicate_cosine: float = DUPLICATE_COSINE,
) -> Decision:
    """Decide whether a new memory repeats or supersedes existing ones.

    Args:
        near: the existing memories, nearest first, each with its cosine to the new one.
    """
    if new.separate:
        return None
    current = [
        (old, cosine)
        for old, cosine in near
        if old.id != new.id
        and (old.user_id, old.speaker) == (new.user_id, new.speaker)
        and (old.superseded_by is None or (derived(new) and new.told <= old.told))
    ]
    for old, cosine in current:
        if duplicate_cosine <= cosine and duplicate_cosine < 1 and _repeats(new, old, lexicon):
            return Repeats(old)
    for old, cosine in current:
        if cosine >= LIKE_ENOUGH and duplicate_cosine < 1 and same_fact(old, new, lexicon):
            return Repeats(old)
    if derived(new):
        if (by := _withdrawn_by(new, [old for old, _ in near], lexicon)) is not None:
            return ReplacedBy(by)
        for old, cosine in current:
            if cosine >= RELATED_COSINE and _may_end(old, new) and supersedes(old, new, lexicon):
                return ReplacedBy(old)
    if not changes(new, lexicon):
        return None
    ended = tuple(
        old
        for old, cosine in current
        if old.superseded_by is None
        and cosine >= RELATED_COSINE
        and _may_end(new, old)
        and supersedes(new, old, lexicon)
    )
    return Replaces(ended) if ended else None


def _repeats(new: Memory, old: Memory, lexicon: TextAnalyzer) -> bool:
    if new.kind is not old.kind:
        return False  # a derived memory and its source are alike, and both are wanted
    if ADDED_BY_USER in (*new.sources, *old.sources):
        # The transcript doesn't contain these words, so only identical texts are merged.
        return new.text.strip().casefold() == old.text.strip().casefold()
    if new.kind is MemoryKind.SUMMARY:
        return False
    same_words = set(lexicon.content(new.text)) == set(lexicon.content(old.text))
    if new.kind is not MemoryKind.EXCHANGE and not same_words:
        return False  # a derived text is not in the transcript, so a merge could lose words
    return same_telling(old, new, lexicon)


def _withdrawn_by(new: Memory, near: Sequence[Memory], lexicon: TextAnalyzer) -> Memory | None:
    """Return the user's correction that makes `new` wrong; None if there is none. It corrects the
    statement from which `new` was derived, or an earlier correction of that statement."""
    by_id = {each.id: each for each in near}
    for said in near:
        own = said.kind is MemoryKind.EXCHANGE and said.speaker == new.speaker
        if not own or set(new.sources).isdisjoint(said.sources):
            continue
        old = said
        for _ in near:  # bounded, because imported memories may supersede each other in a circle
            by = by_id.get(old.superseded_by or "")
            if by is None or ADDED_BY_USER not in by.sources:
                break
            if withdraws(by.text, old.text, new.text, lexicon):
                return by
            old = by
    return None


def tells_of_change(new: Memory, old: Memory, lexicon: TextAnalyzer) -> bool:
    """Whether `new`, which repeats `old`, also says that something has changed.

    If so, `new` is kept when the two are merged, and can still supersede memories of the earlier
    state. So the result doesn't depend on the order in which facts are extracted.
    """
    return (
        derived(new)
        and old.superseded_by is None
        and not old.supersedes
        and changes(new, lexicon)
        and not changes(old, lexicon)
    )


def _may_end(new: Memory, old: Memory) -> bool:
    return (
        not old.pinned
        and MemoryKind.SUMMARY not in (new.kind, old.kind)
        and old.told <= new.told
        and (ADDED_BY_USER in new.sources or set(new.sources).isdisjoint(old.sources))
    )


def refreshed(old: Memory, new: Memory) -> Memory:
    """Merge the data of the repetition `new` into `old`, whose text, id and creation date don't
    change.
    """
    used = [each for each in (old.last_used, new.last_used) if each is not None]
    limits = [each for each in (old.expires, new.expires) if each is not None]
    return replace(
        old,
        sources=tuple(dict.fromkeys(old.sources + new.sources)),
        refreshed=max(old.told, new.told),
        importance=max(old.importance, new.importance),
        confidence=max(old.confidence, new.confidence),
        uses=old.uses + new.uses,
        last_used=max(used, default=None),
        feedback=old.feedback + new.feedback,
        # If either never expires, the result never expires.
        expires=max(limits) if len(limits) == 2 else None,
        supersedes=tuple(dict.fromkeys(old.supersedes + new.supersedes)),
        pinned=old.pinned or new.pinned,
        never_recall=old.never_recall or new.never_recall,
    )


def superseded(new: Memory, ended: Sequence[Memory]) -> list[Memory]:
    """Return the new memory followed by those that it supersedes, with links in both directions."""
    ids = tuple(old.id for old in ended)
    first = replace(new, supersedes=tuple(dict.fromkeys(new.supersedes + ids)))
    return [first, *(replace(old, superseded_by=new.id) for old in ended)]
