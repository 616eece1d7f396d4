"""An invented month of one user's talk with the assistant: facts that are told, repeated in other
words or changed, small talk, and questions.

Each exchange tells one fact at most, so the subject of every memory is known. The sentences were
written before the code that is tested with them was tuned; families at the end of `KINDS` match few
of the patterns in `assistant/memory/curation/conflicts.py`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random

LASTS = timedelta(days=30)
TELLING = 0.18
"""Share of the exchanges that tell a fact."""
ASKING = 0.25
AGAIN = 0.6
"""Of the exchanges that tell a fact, the share about a subject that was told before."""
CHANGING = 0.12

Key = tuple[str, str]
"""The subject of a fact and its value."""


@dataclass(frozen=True, slots=True)
class Family:
    """Facts of one form. `tellings` and `changes` have a placeholder for the value, and another for
    the person or place in `whose` if there are several."""

    about: str
    values: Sequence[str]
    tellings: Sequence[str]
    changes: Sequence[str] = ()
    whose: Sequence[str] = ("",)


CITIES = ("Porto", "Lisbon", "Oslo", "Vienna", "Turin", "Leeds", "Bergen", "Graz", "Nantes", "Cork")
NAMES = (
    *("Clara", "Maria", "Bruno", "Ines", "Tomas", "Hannah", "Peter", "Sofia", "Jonas", "Alice"),
    *("Victor", "Nora", "Felix", "Emma", "Oscar", "Greta", "Hugo", "Lena", "Simon", "Rosa"),
)
KINDS = (
    Family(
        "home",
        CITIES,
        ("I live in {v}.", "We live in {v}, you know.", "I'm living in {v}.", "So, I live in {v}."),
        ("I moved to {v} last week.", "We've moved to {v}."),
    ),
    Family(
        "work",
        ("Siemens", "the library", "Nokia", "the hospital", "Airbus", "the museum"),
        ("I work at {v}.", "I'm working at {v}.", "By the way, I work at {v}."),
        ("I started a new job at {v}.", "I got a new job at {v}."),
    ),
    Family(
        "boss",
        NAMES,
        ("My boss is called {v}.", "My boss's name is {v}.", "Oh, my boss is named {v}."),
        ("My new boss is called {v}.",),
    ),
    Family(
        "dog",
        ("Max", "Bella", "Rocky", "Luna"),
        ("My dog is called {v}.", "My dog's name is {v}.", "I told you my dog is called {v}."),
    ),
    Family(
        "colour",
        ("green", "blue", "orange", "purple", "yellow"),
        ("My favourite colour is {v}.", "My favorite color is {v}.", "{v} is my favourite colour."),
        ("My favourite colour is {v} now.",),
    ),
    Family(
        "film",
        ("Casablanca", "Amelie", "Vertigo", "Alien"),
        ("My favourite film is {v}.", "As I said, my favourite film is {v}."),
        ("My favourite film is {v} now.",),
    ),
    Family(
        "car",
        ("Volvo", "Fiat", "Skoda", "Renault"),
        ("I drive a {v}.", "My car is a {v}.", "Well, I drive a {v}."),
        ("My new car is a {v}.", "I drive a {v} now."),
    ),
    Family(
        "allergic",
        ("peanuts", "shellfish", "penicillin", "pollen", "cats"),
        (
            "I'm allergic to {v}.",
            "I am allergic to {v}, by the way.",
            "I've got an allergy to {v}.",
        ),
    ),
    Family(
        "plays",
        ("the cello", "the piano", "chess", "badminton", "the drums"),
        ("I play {v}.", "I really play {v}.", "I play {v} every week."),
    ),
    Family(
        "likes",
        ("mushrooms", "rainy days", "old maps", "rye bread", "long walks", "jazz"),
        ("I love {v}.", "I really love {v}.", "I like {v}.", "I enjoy {v}."),
    ),
    Family(
        "friend",
        CITIES,
        ("My friend {w} lives in {v}.", "You know, my friend {w} lives in {v}."),
        whose=NAMES,
    ),
    Family(
        "colleague",
        ("gardening", "sailing", "baking", "knitting", "climbing"),
        ("My colleague {w} loves {v}.", "My colleague {w} really loves {v}."),
        whose=NAMES,
    ),
    Family(
        "kin",
        ("nurse", "baker", "pilot", "teacher", "plumber"),
        ("My {w} is a {v}.", "My {w} works as a {v}.", "My {w} is a {v}, as I told you."),
        whose=("sister", "brother", "mother", "father", "aunt", "uncle", "cousin", "neighbour"),
    ),
    Family(
        "bought",
        ("lamp", "kettle", "bicycle", "carpet", "tent", "printer", "clock"),
        ("I bought a {v} from {w}.", "I've bought a {v} from {w}.", "I got a {v} from {w}."),
        whose=NAMES,
    ),
    Family(
        "keeps",
        ("the spare key", "my passport", "the old photos", "the drill"),
        ("I keep {v} in the {w}.", "In the {w}, that's where I keep {v}."),
        whose=("cellar", "attic", "hall", "garage", "blue box", "kitchen drawer"),
    ),
)
TALK = (
    "It's raining again.", "That was a long day.", "Good morning!", "Thanks, that helps.",
    "Never mind.", "Oh well.", "The traffic was awful.", "Nice.", "Somebody is at the door.",
    "The news was dull today.", "Okay, good night.", "Let's talk about something else.",
    "They say it will snow.", "That's funny.", "Right.", "The coffee is cold.",
)  # fmt: skip
ASKED = (
    "What's the capital of {v}?", "How do I boil an egg?", "Can you tell me a joke?",
    "What time is it in {v}?", "Who wrote that book about {v}?", "Is it far to {v}?",
    "What should I cook for {w}?", "Do you know a song about {v}?", "Would {w} like {v}?",
)  # fmt: skip
ANSWERS = ("I see.", "Good to know.", "All right.", "I'm not sure.", "Tell me more.")


@dataclass(frozen=True, slots=True)
class Said:
    """An utterance. `tells` is None if it tells no fact. `change`: whether another value held
    before."""

    conversation: int
    at: datetime
    text: str
    answer: str
    tells: Key | None = None
    change: bool = False


@dataclass
class _Told:
    """The values that hold so far."""

    values: dict[tuple[str, str], str] = field(default_factory=dict)


def month(exchanges: int, conversations: int, until: datetime, seed: int = 1) -> Iterator[Said]:
    """The month's utterances in order; the last is shortly before `until`."""
    chance, told = Random(seed), _Told()
    for number in range(exchanges):
        at = until - LASTS * (1 - number / exchanges)
        talk = number * conversations // exchanges
        drawn = chance.random()
        text, key, change = _something(chance), None, False
        if drawn < TELLING:
            text, key, change = _telling(chance, told)
        elif drawn < TELLING + ASKING:
            asked = chance.choice(ASKED)
            text = asked.format(v=chance.choice(CITIES), w=chance.choice(NAMES))
        yield Said(talk, at, text, chance.choice(ANSWERS), key, change)


def _something(chance: Random) -> str:
    return f"{chance.choice(TALK)} {chance.choice(TALK)}"


def _telling(chance: Random, told: _Told) -> tuple[str, Key, bool]:
    known = list(told.values)
    change = False
    if known and chance.random() < AGAIN:
        name, whose = chance.choice(known)
        family = next(each for each in KINDS if each.about == name)
        value = told.values[name, whose]
        forms = family.tellings
        if family.changes and chance.random() < CHANGING / AGAIN:
            change, forms = True, family.changes
            value = chance.choice([each for each in family.values if each != value])
    else:
        family = chance.choice(KINDS)
        whose = chance.choice(family.whose)
        value = told.values.get((family.about, whose)) or chance.choice(family.values)
        forms = family.tellings
    told.values[family.about, whose] = value
    text = chance.choice(forms).format(v=value, w=whose)
    about = f"{family.about} {whose}".strip()
    return text[:1].upper() + text[1:], (about, value), change
