"""Sentences about lists and their items."""

from collections.abc import Sequence

from assistant.language.enumerations import joined, names_act
from assistant.language.numbers import number_word, numbers
from assistant.language.second_person import spoken_topic
from assistant.skills.lists.stored_lists import Item, UserList

MOST = 7
"""Maximum number of items that are read out."""
_ARTICLES = ("a ", "an ")
_SINGULAR_ENDS = ("ss", "us", "is")


def your(name: str) -> str:
    return f"your {name} list"


def a(name: str) -> str:
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def items(texts: Sequence[str], *, most: int | None = None) -> str:
    """Return items as part of a sentence, in the second person.

    >>> items(["milk", "my boiler's filter"])
    "milk and your boiler's filter"
    """
    return joined([spoken_topic(each) for each in texts], most=most)


def known(texts: Sequence[str]) -> str:
    """Return items that were named before: "a tin of tomatoes" becomes "the tin of tomatoes"."""
    return items([_definite(each) for each in texts])


def contents(of: UserList) -> str:
    """Return the sentence that reads a list out. Items that are done are left out."""
    texts = [each.text for each in of.open]
    if not texts:
        return _sentence(
            f"everything on {your(of.name)} is ticked off."
            if of.items
            else f"{your(of.name)} is empty."
        )
    read = items(texts, most=MOST)
    if any(map(names_act, texts)):
        return f"On {your(of.name)}: {read}."
    return _sentence(f"{your(of.name)} has {read}.")


def overview(lists: Sequence[UserList]) -> str:
    """Return the sentence that names several lists, with the number of open items on each."""
    each_one = [f"{each.name} {_state(each)}" for each in lists]
    return f"You have {number_word(len(lists))} lists: {joined(each_one, most=MOST)}."


def shall_clear(whole: UserList) -> str:
    done = len(whole.items) - len(whole.open)
    ticked = f", {number_word(done)} of them ticked off" if done else ""
    if done == len(whole.items):
        ticked = ", and it's ticked off" if done == 1 else ", all ticked off"
    return f"Shall I clear {your(whole.name)}? It has {_counted(len(whole.items))}{ticked}."


def already(texts: Sequence[str], where: str) -> str:
    """Return e.g. "Milk is already on your shopping list."."""
    return _sentence(f"{are(texts)} already on {where}.")


def ticked_before(texts: Sequence[str]) -> str:
    return _sentence(f"{are(texts)} ticked off already.")


def is_on(found: Sequence[Item], where: str) -> str:
    """Return the sentence that confirms that the items `found` are on a list."""
    texts = [each.text for each in found]
    return f"Yes, {items(texts)} {_are(texts)} on {where}."


def missing(text: str, where: str) -> str:
    """Return e.g. "There's no milk on your shopping list."."""
    plain = text
    for article in _ARTICLES:
        plain = plain.removeprefix(article)
    first = plain.split()[0].lower()
    if names_act(plain) or first in numbers() or first[0].isdigit() or first in ("my", "our"):
        return f"I can't find {spoken_topic(plain)} on {where}."
    return f"There {'are' if _is_plural(plain) else 'is'} no {plain} on {where}.".replace(
        "There is", "There's"
    )


def are(texts: Sequence[str]) -> str:
    """Return e.g. "the eggs are"."""
    return f"{known(texts)} {_are(texts)}"


def _state(of: UserList) -> str:
    if of.open:
        return f"has {_counted(len(of.open))}"
    return "is all ticked off" if of.items else "is empty"


def _counted(number: int) -> str:
    return "one thing" if number == 1 else f"{number_word(number)} things"


def _definite(text: str) -> str:
    for article in _ARTICLES:
        if text.lower().startswith(article):
            return f"the {text[len(article) :]}"
    return text


def _are(texts: Sequence[str]) -> str:
    return "are" if len(texts) > 1 or _is_plural(texts[0]) else "is"


def _is_plural(text: str) -> bool:
    """Return whether an item is probably a plural: "two pints of milk", "eggs", but not "a box of
    eggs" or "wash the windows"."""
    words = text.lower().partition(" of ")[0].split()
    if names_act(text) or words[0] in ("a", "an", "one"):
        return False
    many = numbers().get(words[0], 0) > 1 or (words[0].isdecimal() and words[0] != "1")
    last = words[-1]
    return many or (len(last) > 3 and last.endswith("s") and not last.endswith(_SINGULAR_ENDS))


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"
