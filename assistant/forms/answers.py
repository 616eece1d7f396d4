"""Finds the answer to the question that the assistant has just asked. English only."""

import re
from collections.abc import Iterator

from assistant.forms.clauses import Clause, Told, about_others
from assistant.forms.definition import Slot, SlotType
from assistant.forms.proposal import Found, Turn
from assistant.forms.spans import spans
from assistant.forms.values import UNKNOWN, Value, read, same_value, says_none, says_unknown
from assistant.forms.wording import is_phrase, plain, stripped, without_lead
from assistant.language.dialogue_acts import is_courtesy
from assistant.language.enumerations import names_act, parts
from assistant.language.numbers import number_of

LONGEST_TEXT = 8
"""Maximum number of words of a text that is taken without a model."""
LONGEST_STATEMENT = 16
"""Maximum number of words of a statement about the user's own that answers "What …?"."""
LONGEST_ITEM = 5
_VERB = re.compile(
    r"\b(?:i|i'm|i've|i'd|i'll|you|he|she|it|it's|we|we're|they|there's|that's|what|who|how|why|is|are"
    r"|was|were|am|be|been|has|had|have|do|does|did|don't|doesn't|didn't|can|can't|could|will|won't"
    r"|would|should|must|might|if|let|let's|gonna|ain't|\w+n't)\b"
)
"""Words of sentences, which answers of a few words don't contain."""
_DEFERRED = re.compile(
    r"\b(?:hang on|hold on|wait|(?:one|a) (?:second|sec|moment|minute)|just a|give me"
    r"|let me|think|question|bear with|later|pardon|excuse me|come again|say that again"
    r"|repeat|anyway|by the way|never ?mind|sorry|hello|hi|bye|goodbye|night|stop|cancel|undo"
    r"|good (?:morning|afternoon|evening|day)|forget|remove|delete|help)\b"
)
"""Words of those who don't answer yet, or say something else."""
_NOT_SO = re.compile(r"\b(?:not|never|no|except|\w+n't)\b")
"""Words that may turn a value among other words into its opposite."""
_LIMIT = re.compile(r"\b(?:before|after|until|till)(?: the)?\s*$")
"""Words before a value that is only a limit."""
_OFTEN = re.compile(
    r"(?:(?:once|twice|(?:\w+ )?times) (?:a|per) (?:day|week|month)|every \w+|daily|in the \w+"
    r"|at night|as needed)"
)
"""Words that say how often something is taken, and are no items."""

_IT_IS = re.compile(r"(?:it's|it is|that's|that is|it was|there's|there is)\b")
_NOUN = re.compile(
    r"\b(?:[Mm]y|[Oo]ur|[Tt]hese|[Tt]hose)\b|^(?!I\b)[A-Z]|^(?:about|with|at|in|on|for)\b"
)
"""What a text after "it's" has to contain. "It's cold in here" and "it's a nice day" are no
answers."""
_WHAT = re.compile(r"what\b", re.IGNORECASE)
_OWN = re.compile(r"(?:my|our) (?!(?:name|wife|husband|partner|friend|boss)\b)\w", re.IGNORECASE)
_FURTHER = re.compile(r"(?:oh )?(?:and )?(?:also|plus|as well)\b")
_POINTERS = frozenset(["that", "it", "this", "them", "those", "one", "the same", "more", "else"])


def answers(turn: Turn) -> list[Found]:
    """Return what answers the question, if anything does. A day may come with its time."""
    slot = turn.asked
    if slot is None:
        return []
    found = list(_read_answers(turn, slot))
    given = [each for each in found if each.value != UNKNOWN]
    best = given[-1:] or found[-1:]
    if not best and slot.type not in (SlotType.TEXT, SlotType.LIST, SlotType.BOOL):
        best = _among_words(turn, slot)
    best = [*best, *_beside(turn, slot)]
    return [each for each in best if turn.may_put(slot, each.value) or _adds(each, turn)]


def _adds(found: Found, turn: Turn) -> bool:
    return isinstance(found.value, list) and bool(found.value) and bool(turn.way_for(found.slot))


def _read_answers(turn: Turn, slot: Slot) -> Iterator[Found]:
    """Yield what whole sentences, or whole clauses, say."""
    for sentence in turn.told:
        whole = _read(turn, slot, sentence.whole, sentence)
        if whole is not None:
            yield whole
            continue
        for clause in sentence.clauses:
            part = _read(turn, slot, clause, sentence)
            if part is not None:
                yield part


def _read(turn: Turn, slot: Slot, clause: Clause, sentence: Told) -> Found | None:
    if not clause.usable and not (slot.asks_who and clause.others):
        return None
    if says_unknown(clause.text):
        return Found(slot, UNKNOWN, clause.start, clause.end)
    if slot.type is SlotType.LIST:
        value: Value | None = list_value(slot, clause, sentence)
    elif slot.type is SlotType.TEXT:
        value = text_value(slot, clause, turn)
    else:
        value = read(slot, clause.text, turn.today)
    if value is None:
        return None
    return Found(slot, value, clause.start, clause.end, turn.way_for(slot))


def _among_words(turn: Turn, slot: Slot) -> list[Found]:
    """Return the only value among other words, if there is only one."""
    found: list[Found] = []
    for sentence in turn.told:
        for clause in sentence.clauses:
            if _NOT_SO.search(plain(clause.text)) or _DEFERRED.search(plain(clause.text)):
                return []
            for words, value in spans(slot, clause.text, turn.today):
                if _LIMIT.search(clause.text.lower().partition(words.lower())[0]):
                    return []
                at = clause.start + clause.text.lower().find(words.lower())
                found.append(Found(slot, value, at, at + len(words)))
    if any(not same_value(each.value, found[0].value) for each in found):
        return []
    usable = [clause for sentence in turn.told for clause in sentence.clauses if clause.usable]
    return [each for each in found if any(c.start <= each.start < c.end for c in usable)][-1:]


def _beside(turn: Turn, slot: Slot) -> list[Found]:
    """Return the time that is told with the day that was asked for, or the other way round, if the
    form has only one slot for it, which is empty: "Friday at three"."""
    other = {SlotType.DATE: SlotType.TIME, SlotType.TIME: SlotType.DATE}.get(slot.type)
    empty = [each for each in turn.form.slots if each.type is other]
    if len(empty) != 1 or empty[0].name in turn.filled:
        return []
    for sentence in turn.told:
        for clause in sentence.clauses:
            given = spans(slot, clause.text, turn.today) if clause.usable else []
            rest = clause.text.replace(given[0][0], " ") if len(given) == 1 else ""
            more = spans(empty[0], rest, turn.today)
            if len(more) == 1:
                at = clause.start + clause.text.find(more[0][0])
                return [Found(empty[0], more[0][1], at, at + len(more[0][0]))]
    return []


def text_value(slot: Slot, clause: Clause, turn: Turn) -> str | None:
    """Return the text that a clause gives, if it is surely an answer: a few words without a verb at
    the beginning, or what follows "it's about" or the like there."""
    if _no_answer(clause.text) or not _comes_first(clause, turn):
        return None
    value = read(slot, clause.text, turn.today)
    if isinstance(value, str) and _states_own(slot, value, turn):
        return value
    if not isinstance(value, str) or len(value.split()) > LONGEST_TEXT:
        return None
    if plain(value) in _POINTERS or _number(value):
        return None
    if _FURTHER.match(plain(clause.text)):
        return None
    it_is = _IT_IS.match(plain(stripped(clause.text))) is not None
    if it_is and not (slot.asks_who or _NOUN.search(value)):
        return None
    if _VERB.search(plain(value)) or (about_others(value) and not slot.asks_who):
        return None
    return value


def _states_own(slot: Slot, value: str, turn: Turn) -> bool:
    """Return whether a whole utterance is a statement about something of the user's that answers
    "What …?": "my left knee hurts when I climb stairs"."""
    if not _WHAT.match(slot.ask) or not _OWN.match(value) or turn.text.rstrip().endswith("?"):
        return False
    return len(value.split()) <= LONGEST_STATEMENT and stripped(turn.text) == stripped(value)


def _number(text: str) -> bool:
    """Return whether a text is only a number, which is none of the texts that are asked for."""
    return number_of(re.sub(r"^an? ", "", plain(text))) is not None


def _comes_first(clause: Clause, turn: Turn) -> bool:
    """Return whether only fillers precede a clause, or words about others if it has a lead-in. A
    clause that isn't a whole sentence needs one, too."""
    led = without_lead(clause.text, "before_text") != stripped(clause.text)
    if not led and all(clause != each.whole for each in turn.told):
        return False
    before = [
        each
        for sentence in turn.told
        for each in sentence.clauses
        if each.end <= clause.start and stripped(each.text)
    ]
    return not before or (led and not any(each.usable for each in before))


def list_value(slot: Slot, clause: Clause, sentence: Told) -> list[str] | None:
    """Return the items that a sentence gives, if it surely does nothing else. Clauses after them
    may say more about them: "It's just the penicillin, I come up in a rash"."""
    if says_none(slot, clause.text):
        return []
    if _no_answer(clause.text):
        return None
    if clause.text != sentence.whole.text:
        after = [each for each in sentence.clauses if each.start >= clause.end]
        if not _led(clause.text) or not all(_VERB.search(plain(each.text)) for each in after):
            return None
    return items(without_lead(clause.text, "before_list"))


def _no_answer(text: str) -> bool:
    """Return whether words are certainly no text and no items."""
    if _DEFERRED.search(plain(stripped(text))) or is_courtesy(text):
        return True
    return is_phrase(text, "yes") or is_phrase(text, "no")


def items(words: str) -> list[str] | None:
    """Return the items of an enumeration, or None if a part of it can't be one."""
    found = [without_lead(each, "before_list") for each in parts(words)]
    found = [each for each in found if not _OFTEN.fullmatch(plain(each))]
    for each in found:
        said = plain(each)
        if (
            not said
            or is_phrase(each, "none")
            or len(said.split()) > LONGEST_ITEM
            or _VERB.search(said)
            or names_act(each)
        ):
            return None
    return list(dict.fromkeys(found)) or None


def _led(text: str) -> bool:
    return without_lead(text, "before_list") != stripped(text)
