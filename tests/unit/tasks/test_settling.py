"""What may be settled by an utterance: in the user's words, and never by what is only considered,
asked, reported or said of others."""

import pytest

from assistant.tasks.settling import candidates


def texts(said: str, before: str = "") -> list[str]:
    return [each.text for each in candidates(said, before)]


@pytest.mark.parametrize(
    ("said", "settled"),
    [
        ("Let's fly on the third of May.", ["fly on the third of May"]),
        ("we'll take the morning train", ["take the morning train"]),
        ("The budget is eight hundred euros.", ["the budget is eight hundred euros"]),
        ("Not the hostel.", ["not the hostel"]),
        ("No kids this time, just the two of us.", ["no kids this time, just the two of us"]),
        ("Let's say Tuesday.", ["Tuesday"]),
        ("We decided on the Ritz.", ["the Ritz"]),
        ("I've booked the hotel already.", ["booked the hotel already"]),
        ("Forget the hostel idea.", ["not the hostel"]),
        ("You know what, let's skip the zoo.", ["not the zoo"]),
        ("We're four adults and two children.", ["we're four adults and two children"]),
        ("Tuesday it is, then.", ["Tuesday"]),
        ("I think we'll stay in Alfama.", ["stay in Alfama"]),
        ("For lunch we'll have soup.", ["have soup"]),
        ("We start at seven.", ["start at seven"]),
        ("The fridge I sell.", ["the fridge I sell"]),
        ("Let's change the day to Friday.", ["Friday"]),
        ("Oh and let's invite Grandma too.", ["invite Grandma too"]),
        (
            "Okay so we'll take the train and the budget is a thousand.",
            ["take the train", "the budget is a thousand"],
        ),
        ("And the van, I need it from seven, actually.", ["the van, need it from seven"]),
    ],
)
def test_a_statement_that_settles_something_is_found(said: str, settled: list[str]) -> None:
    assert texts(said) == settled


@pytest.mark.parametrize(
    "said",
    [
        "Shall we take the train?",
        "What about the hostel?",
        "How much is the train",
        "Maybe the night train, I don't know.",
        "If it rains we could visit the museum.",
        "I was thinking of the zoo.",
        "We might stay for a week.",
        "We'll take the train or the bus.",
        "Last year we stayed in a hostel.",
        "My mum says we should take the train.",
        "I heard the hotel has closed.",
        "Let's see what the weather does.",
        "Let's talk about the food.",
        "Let's start with the budget.",
        "We'll see.",
        "I need a coffee.",
        "Can you find me a hotel?",
        "I want you to write it down.",
        "Good, that's settled then.",
        "The second one.",
        "Off the record, let's fly on Monday.",
        "Thanks, that's great.",
        "We haven't decided on a hotel yet.",
        "",
    ],
)
def test_what_settles_nothing_is_not_found(said: str) -> None:
    assert texts(said) == []


@pytest.mark.parametrize(
    "said",
    ["My sister is flying to Rome in June.", "Anna's bringing the cake.", "He can't stand lemon."],
)
def test_what_others_do_is_marked_as_theirs(said: str) -> None:
    assert [each.others for each in candidates(said)] == [True]


@pytest.mark.parametrize(
    ("said", "before", "settled"),
    [
        ("Yes.", "It's cheaper then. Shall we say Tuesday?", ["Tuesday"]),
        ("Okay, that works for me.", "Would the morning train suit you?", ["the morning train"]),
        ("Okay, let's do that.", "I'd suggest the morning train.", ["the morning train"]),
        ("Yes, but in the evening.", "Shall we say Tuesday?", ["Tuesday", "in the evening"]),
        ("No.", "How about the Ritz?", ["not the Ritz"]),
        ("No, Wednesday.", "Shall we say Tuesday?", ["Wednesday"]),
        (
            "Yes, let's take the morning train.",
            "How about the morning train?",
            ["take the morning train"],
        ),
    ],
)
def test_a_yes_or_a_no_refers_to_what_was_proposed(
    said: str, before: str, settled: list[str]
) -> None:
    assert texts(said, before) == settled


@pytest.mark.parametrize(
    ("said", "before"),
    [
        ("Yes, but isn't that expensive?", "How about the Ritz?"),
        ("Yes.", "Would you like the train or the bus?"),
        ("Yes.", "Shall we look at hotels next?"),
        ("Yes.", "Do you want me to go on?"),
        ("Yes.", "The Ritz is in the centre."),
        ("Sure, I'm not sure, maybe.", "Shall we say Tuesday?"),
    ],
)
def test_a_yes_that_agrees_to_nothing_settles_nothing(said: str, before: str) -> None:
    assert texts(said, before) == []


@pytest.mark.parametrize(
    ("said", "before", "settled"),
    [
        ("The third of May.", "When would you like to fly?", ["the third of May"]),
        ("Four nights, I think.", "How long will you stay?", ["four nights"]),
        ("Saturday, from two to five.", "When should it be?", ["Saturday, from two to five"]),
        ("Anna and Tom.", "Who's coming?", ["Anna and Tom"]),
        ("My sister wants ten.", "How many people will come?", []),
        ("Don't ask. Haha.", "When should it be?", []),
        ("Food.", "What's next?", []),
    ],
)
def test_an_answer_needs_no_verb(said: str, before: str, settled: list[str]) -> None:
    found = [each.text for each in candidates(said, before) if not each.others]
    assert found == settled


def test_words_without_a_verb_that_answer_nothing_are_marked() -> None:
    [found] = candidates("Coffee and walnut.", "You make the playlist.")
    assert (found.bare, found.certain) == (True, False)


@pytest.mark.parametrize(
    ("said", "settled"),
    [
        ("Let's meet at six. No, we start at seven.", ["start at seven"]),
        ("Let's get pizza. No, wait, let's get poke bowls instead.", ["get poke bowls"]),
        ("Let's arrive on Monday. Sorry, Tuesday.", ["Tuesday"]),
    ],
)
def test_of_what_the_same_utterance_corrects_only_the_last_word_counts(
    said: str, settled: list[str]
) -> None:
    assert texts(said) == settled


@pytest.mark.parametrize(
    ("said", "corrects"),
    [
        ("Actually, make it the fourth.", True),
        ("Let's take the bus instead.", True),
        ("It's forty boxes, not thirty.", True),
        ("Let's take the bus.", False),
    ],
)
def test_corrections_are_marked(said: str, corrects: bool) -> None:
    assert candidates(said)[0].corrects is corrects


def test_a_long_statement_is_cut_between_two_clauses() -> None:
    said = (
        "We'll rent the little white house with the blue door next to the old church because the "
        "rooms are cool in summer."
    )
    assert texts(said)[0] == "rent the little white house with the blue door next to the old church"
