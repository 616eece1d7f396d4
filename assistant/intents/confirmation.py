"""Recognises "yes" or "no" to a question the assistant has asked."""

from assistant.intents.grammar import language, line
from assistant.intents.normalisation import CommandText, words_of_names
from assistant.intents.recogniser import ENGLISH


def yes_or_no(text: str, names: tuple[str, ...] = (), code: str = ENGLISH) -> bool | None:
    """Whether `text` says yes or no to a question that the assistant has just asked.

    None if it says neither, says both, or asks back: then nothing was agreed to.
    """
    spoken = language(code)
    heard = CommandText(text, spoken)
    if heard.is_question:
        return None
    rest = line(word.plain for word in heard.unaddressed(words_of_names(names)))
    said: set[bool] = set()
    while rest:
        shapes = ((spoken.yes, True), (spoken.no, False), (spoken.beside, None))
        found = [(match.end(), means) for shape, means in shapes if (match := shape.match(rest))]
        if not found:
            return None
        end, means = max(found, key=lambda each: each[0])
        said |= set() if means is None else {means}
        rest = rest[end:]
    return said.pop() if len(said) == 1 else None
