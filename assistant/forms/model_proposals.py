"""Has a language model point out what the user's words give to the slots of a form.

For each slot that may be meant, the model is shown the slot's question and the words that may fill
it, and copies the part that answers the question. The value is then read from this part by the same
rules as everywhere, and has to pass the same checks. So nothing can be made up, and a poor answer
mostly leaves a slot empty until the assistant asks for it again. One short question per slot is
easier for small models than one that lists the whole form. English only.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from itertools import chain
from typing import Any

from assistant.context import Exchange, FewShotPrompt, ask_for_json, shipped
from assistant.errors import ModelFailed
from assistant.forms.clauses import Clause, told
from assistant.forms.definition import Form, Slot, SlotType
from assistant.forms.filling import accept, fill
from assistant.forms.proposal import Proposal, Way
from assistant.forms.spans import spans
from assistant.forms.values import Value, mentions, read
from assistant.forms.wording import plain, stripped
from assistant.language.calendar import local_day
from assistant.language.normalisation import APOSTROPHES
from models.interfaces import LanguageModel

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"words": {"type": "array", "items": {"type": "string"}, "maxItems": 8}},
    "required": ["words"],
    "additionalProperties": False,
}
TOKENS = 120
"""Maximum number of tokens of the model's answer."""
LONGEST = 600
"""Maximum number of characters that the model reads."""
MOST_QUESTIONS = 3
"""Maximum number of slots about which the model is asked after an utterance."""
_WORD = re.compile(r"[\w']+(?:\.\d+)?")
_LOOSE = (SlotType.TEXT, SlotType.LIST)


class ModelProposals:
    """Asks the model, on the background lane, what an exchange gives to a form. May be cancelled at
    any time.

    Attributes:
        asked: number of questions to the model in this process.
    """

    def __init__(self, llm: LanguageModel) -> None:
        self._llm = llm
        self._prompt = prompt()
        self.asked = 0

    async def __call__(
        self, form: Form, filled: Mapping[str, Value], asked: str, exchange: Exchange
    ) -> list[Proposal]:
        """Return what the user's words give to those slots of the form that the rules don't fill.

        Args:
            filled: the slots that have a value, in the order in which they were filled or changed.
            asked: name of the slot for which the assistant had asked before, or empty.

        Raises:
            ModelFailed: the model failed, or did not answer the question.
        """
        said, today = exchange.user_text, local_day(exchange.started)
        found: list[Proposal] = []
        for slot, words in meant(form, filled, asked, said, today)[:MOST_QUESTIONS]:
            self.asked += 1
            answer = await ask_for_json(
                self._llm, self._prompt, question(slot, words), SCHEMA, TOKENS
            )
            found += [
                each
                for each in proposals(slot, said, today, copied(answer))
                if accept(form, filled, each, said, today, asked)
            ]
        return found


# -- the questions, and parsing the answers; pure -------------------------------------------------


def meant(
    form: Form, filled: Mapping[str, Value], asked: str, said: str, today: date
) -> list[tuple[Slot, str]]:
    """Return the slots that an utterance may fill, and the words that may fill each. These are the
    slot for which the assistant has asked, and those that the user names. Slots that the rules fill
    are left out, as are words about other people, questions and the like."""
    text = said.translate(APOSTROPHES)
    done = {each.slot for each in fill(form, filled, asked, said, today)}
    clauses = list(chain.from_iterable(each.clauses for each in told(text)))
    found = []
    for slot in form.slots:
        if slot.name not in done:
            usable = [each for each in clauses if _usable(slot, each)]
            words = _words_for(slot, usable, text, asked=slot.name == asked)
            if words and _has_value(slot, words, today):
                found.append((slot, words))
    return sorted(found, key=lambda each: each[0].name != asked)


def question(slot: Slot, words: str) -> str:
    return _question(slot.ask, words)


def copied(answered: object) -> list[str]:
    """Parse the model's answer: the parts of the words that it has copied.

    Raises:
        ModelFailed: the answer has another form.
    """
    words = answered.get("words") if isinstance(answered, Mapping) else None
    if not isinstance(words, Sequence) or isinstance(words, str):
        raise ModelFailed("The model's answer is not in the form requested.")
    return [str(each) for each in words]


def proposals(slot: Slot, said: str, today: date, parts: Sequence[str]) -> Iterator[Proposal]:
    """Yield what follows from the parts of an utterance that the model has copied.

    Each item of a list is a proposal of its own, so that one which fails the checks costs no other.
    """
    found = [at for at in (find(each, said) for each in parts) if at is not None]
    if not found:
        return
    if slot.type is SlotType.TEXT:
        found = [(found[0][0], max(end for _, end in found))]
    elif slot.type is not SlotType.LIST:
        found = found[-1:]  # what is said last corrects what was said before
    for start, end in found:
        words = said[start:end]
        value = _value(slot, words, today)
        if value is not None:
            listed = isinstance(value, list) and bool(value)
            yield Proposal(slot.name, value, words, way=Way.ADD if listed else Way.PUT)


def find(part: str, said: str) -> tuple[int, int] | None:
    """Return where a part stands in an utterance, [start, end), or None if it doesn't. Case and
    punctuation may differ."""
    words = [each.lower() for each in _WORD.findall(part.translate(APOSTROPHES))]
    there = list(_WORD.finditer(said.translate(APOSTROPHES)))
    for first in range(len(there) - len(words) + 1) if words else ():
        run = there[first : first + len(words)]
        if [each[0].lower() for each in run] == words:
            return run[0].start(), run[-1].end()
    return None


def prompt() -> FewShotPrompt:
    """Load the prompt that ships with the project."""
    return shipped("form", _example)


# -- inside ---------------------------------------------------------------------------------------


def _usable(slot: Slot, clause: Clause) -> bool:
    return clause.usable or (slot.asks_who and clause.others)


def _words_for(slot: Slot, usable: Sequence[Clause], text: str, *, asked: bool) -> str:
    """Return the clauses that may fill a slot: if it was asked for, all; otherwise those from the
    one that names it onwards."""
    if not asked:
        named = (at for at, each in enumerate(usable) if mentions(slot).search(plain(each.text)))
        first = next(named, None)
        usable = usable[first:] if first is not None else ()
    said = ""
    for number, each in enumerate(usable):
        together = number > 0 and not text[usable[number - 1].end : each.start].strip(" ,;:")
        gap = text[usable[number - 1].end : each.start] if together else " "
        said += (gap if number else "") + each.text
    return said.strip() if stripped(said) else ""


def _has_value(slot: Slot, words: str, today: date) -> bool:
    """Return whether words contain something of a slot's type, as far as rules can tell."""
    if slot.type in (*_LOOSE, SlotType.BOOL):
        return True
    return bool(spans(slot, words, today))


def _value(slot: Slot, words: str, today: date) -> Value | None:
    value = read(slot, words, today)
    if value is None:
        among = spans(slot, words, today)
        value = among[0][1] if len(among) == 1 else None
    return value


def _question(asked: str, words: str) -> str:
    return f"Asked: {asked}\nSaid: {' '.join(words.split())[:LONGEST]}"


def _example(raw: Mapping[str, Any]) -> tuple[str, str]:
    return _question(raw["asked"], raw["said"]), json.dumps({"words": raw["words"]})
