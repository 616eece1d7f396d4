"""Finds what changes or takes back something that was filled in before. English only."""

import re
from collections.abc import Iterator
from functools import cache

from assistant.forms.answers import items
from assistant.forms.clauses import Clause
from assistant.forms.definition import Slot, SlotType
from assistant.forms.proposal import Found, Turn, Way, items_named
from assistant.forms.spans import spans
from assistant.forms.values import Value, mentions, read, same_value
from assistant.forms.wording import plain, stripped, without_lead
from assistant.language.stemming import TextAnalyzer

LONGEST_TEXT = 6
_NOT_LAST = re.compile(r"^(?P<new>[^,]+?),? (?:and )?not (?P<old>[^,]+)$", re.IGNORECASE)
_NOT_FIRST = re.compile(r"^not (?P<old>[^,]+?),?(?: but|,) (?P<new>[^,]+)$", re.IGNORECASE)
_CHANGE = re.compile(
    r"\b(?:change|set|update|switch|correct|move|make|put)\s+(?:my |the )?(?P<what>[\w ]+?)"
    r"\s+(?:to|at|as|down as)\s+(?P<new>.+)$",
    re.IGNORECASE,
)
_STRONG = re.compile(
    r"\b(?:actually|i meant?|wait|sorry|scratch|scrap|change|correction|instead|rather|in fact"
    r"|wrong|second thoughts?|(?:move|push|shift|switch) (?:it|that))\b"
)
"""Words that show that the value that was filled in last is meant, even if another is asked for."""
_OPEN = re.compile(r"\b(?:make (?:that|it)|should be|call it)\b")
"""Words that mean this unless they answer what is asked for."""
_LIST = r"(?: (?:of|from|off|to|on) (?:the|my|that) [\w ]+)?"
_REMOVED = tuple(
    re.compile(pattern)
    for pattern in (
        rf"^(?:take|leave|cross|strike|scratch) (?:off |out )?(?P<what>.+?)(?: off| out)?{_LIST}$",
        rf"^(?:remove|drop|scrap|delete|forget|skip|lose) (?P<what>.+?){_LIST}$",
        r"^(?P<what>.+?) (?:take|leave) (?:that|it|those|them) (?:off|out)$",
        r"^no (?P<what>.+?) (?:after all|any ?more)$",
        r"^i don't (?:need|want|take|use|have) (?:the |any )?(?P<what>.+?)"
        r"(?: after all| any ?more)?$",
    )
)
_ADDED = tuple(
    re.compile(pattern)
    for pattern in (
        rf"^(?:add|put on|include) (?P<what>.+?){_LIST}$",
        r"^put (?P<what>.+?) (?:on|on the list|on there|down too)$",
        r"^(?P<what>.+?) (?:add|put) (?:that|it|those|them)(?: (?:on|to the list))?$",
    )
)


_ALSO = re.compile(r"^(?:oh )?(?:and )?(?:also|plus) (?P<what>.+)$")


def corrections(turn: Turn) -> Iterator[Found]:
    """Yield what the utterance changes, clause by clause."""
    for sentence in turn.told:
        whole = _corrected(turn, sentence.whole)
        if whole is not None:
            yield whole
            continue
        parts = (_corrected(turn, each) for each in sentence.clauses)
        yield from (each for each in parts if each is not None)


def _corrected(turn: Turn, clause: Clause) -> Found | None:
    if not clause.usable:
        return None
    return (
        _changed_item(turn, clause)
        or _changed(turn, clause)
        or _not_but(turn, clause)
        or _put_instead(turn, clause)
    )


def _changed(turn: Turn, clause: Clause) -> Found | None:
    """Read "change the day to Friday"."""
    match = _CHANGE.search(clause.text.strip(" .!?"))
    if match is None:
        return None
    named = [each for each in turn.form.slots if mentions(each).search(plain(match["what"]))]
    if len(named) != 1:
        return None
    return _found(turn, named[0], match["new"], clause)


def _not_but(turn: Turn, clause: Clause) -> Found | None:
    """Read "ten, not two": the old value says which slot is meant."""
    said = without_lead(clause.text, "before_correction")
    match = _NOT_LAST.match(said) or _NOT_FIRST.match(said)
    if match is None:
        return None
    for name in reversed([*turn.filled]):
        slot = turn.form.slot(name)
        old = read(slot, match["old"], turn.today) if slot is not None else None
        if slot is not None and old is not None and same_value(old, turn.filled[name]):
            return _found(turn, slot, match["new"], clause)
    return None


def _put_instead(turn: Turn, clause: Clause) -> Found | None:
    """Read "actually since Monday" and "no, make that fifty"."""
    said = without_lead(clause.text, "before_correction")
    before = f" {plain(clause.text)} ".replace(f" {plain(said)} ", " ", 1)
    if not said or not _is_lead(before):
        return None
    strong = _STRONG.search(before) is not None
    if not strong and _answers(turn, said):
        return None
    strong = strong or _OPEN.search(before) is not None
    for slot in _meant(turn, said, clause, strong=strong):
        found = _found(turn, slot, said, clause)
        if found is not None:
            return found
    return None


def _answers(turn: Turn, said: str) -> bool:
    """Return whether words are a value of the slot that is asked for, and empty."""
    slot = turn.asked
    if slot is None or slot.name in turn.filled or slot.type in (SlotType.TEXT, SlotType.LIST):
        return False
    return read(slot, said, turn.today) is not None


def _is_lead(before: str) -> bool:
    return bool(before.strip()) and without_lead(before, "before_correction") == ""


def _meant(turn: Turn, said: str, clause: Clause, *, strong: bool) -> list[Slot]:
    """Return the slots that a correction may mean: those that it names, or whose value stands
    before it ("Ten is too early, make it eleven"). Otherwise the one that was filled last, or else
    the only one to which the new value could belong."""
    slots = [turn.form.slot(name) for name in reversed([*turn.filled])]
    filled = [each for each in slots if each is not None]
    named = [each for each in filled if mentions(each).search(plain(said))]
    if named:
        return named
    before = turn.text[: clause.start]
    doubted = [each for each in filled if _stands_in(turn, each, before)]
    if doubted:
        return doubted[:1] if len(doubted) == 1 else []
    recent = filled[0] if filled else None
    if recent is None:
        return []
    if not strong and turn.asked not in (None, recent) and not _only_for(turn, recent, said):
        return []
    typed = [each for each in filled if each.type not in (SlotType.TEXT, SlotType.LIST)]
    able = [each for each in typed if read(each, said, turn.today) is not None]
    if able and recent not in able:
        return able if len(able) == 1 else []
    return [recent]


def _only_for(turn: Turn, recent: Slot, said: str) -> bool:
    """Return whether words are a value of the slot that was filled last, and none of the one that
    is asked for."""
    counted = recent.type not in (SlotType.TEXT, SlotType.LIST, SlotType.BOOL)
    other = turn.asked is not None and read(turn.asked, said, turn.today) is not None
    return counted and not other and read(recent, said, turn.today) is not None


def _stands_in(turn: Turn, slot: Slot, before: str) -> bool:
    values = [value for _, value in spans(slot, before, turn.today)]
    return any(same_value(each, turn.filled[slot.name]) for each in values)


def _found(turn: Turn, slot: Slot, words: str, clause: Clause) -> Found | None:
    if slot.type is SlotType.LIST:
        return None
    value = read(slot, words, turn.today)
    if value is None or not _fits(turn, slot, value):
        return None
    return Found(slot, value, clause.start, clause.end)


def _fits(turn: Turn, slot: Slot, value: Value) -> bool:
    before = turn.filled.get(slot.name)
    if before is not None and same_value(before, value):
        return False
    if slot.type is SlotType.TEXT and isinstance(value, str):
        other = turn.asked is not None and turn.asked != slot
        free = turn.asked is not None and turn.asked.type in (SlotType.TEXT, SlotType.LIST)
        return (
            items(value) is not None and len(value.split()) <= LONGEST_TEXT and not (other and free)
        )
    return True


def _changed_item(turn: Turn, clause: Clause) -> Found | None:
    """Read "take the milk off" and "add eggs"."""
    whole = plain(clause.text)
    said = plain(stripped(without_lead(clause.text, "before_correction")))
    lists = [each for each in turn.form.slots if each.type is SlotType.LIST]
    for match in (pattern.match(words) for pattern in _REMOVED for words in (said, whole)):
        gone = [_removed(turn, slot, match["what"], clause) for slot in lists] if match else []
        found = [each for each in gone if each is not None]
        if found:
            return found[0] if len(found) == 1 else None
    if match := next(filter(None, (pattern.match(said) for pattern in _ADDED)), None):
        return _added(turn, lists, match["what"], clause)
    further = _ALSO.match(whole)
    if further and turn.recent in lists and turn.asked not in lists:
        return _added(turn, [turn.recent] if turn.recent else [], further["what"], clause)
    return None


def _removed(turn: Turn, slot: Slot, what: str, clause: Clause) -> Found | None:
    there = turn.filled.get(slot.name)
    gone = items_named(what, there, _lexicon()) if isinstance(there, list) else []
    return Found(slot, gone, clause.start, clause.end, Way.REMOVE) if gone else None


def _added(turn: Turn, lists: list[Slot], what: str, clause: Clause) -> Found | None:
    named = [each for each in lists if mentions(each).search(plain(clause.text))]
    to = named if len(named) == 1 else [turn.asked] if turn.asked in lists else lists
    new = items(_verbatim(what, clause.text))
    if len(to) != 1 or to[0] is None or new is None:
        return None
    return Found(to[0], new, clause.start, clause.end, Way.ADD)


def _verbatim(plain_words: str, text: str) -> str:
    """Return words as they are written in the text, with its commas."""
    words = [re.escape(each) for each in plain_words.split()]
    match = re.search(r"\W+".join(words), text, re.IGNORECASE)
    return match[0] if match else plain_words


@cache
def _lexicon() -> TextAnalyzer:
    return TextAnalyzer("en")
