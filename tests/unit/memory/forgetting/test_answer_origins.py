"""What "that" means in "forget that" after different kinds of turns."""

from collections.abc import Mapping
from typing import NamedTuple

import pytest

from assistant.language.second_person import spoken_phrase
from assistant.language.stemming import TextAnalyzer
from assistant.memory.forgetting.last_turn import that
from tests.support.told import Said, earlier, remembered, turned

LEXICON = TextAnalyzer("en")


class Case(NamedTuple):
    """A conversation and what "forget that" must select in it.

    `gone` holds the ids of the exchanges to be deleted; ids `o…` belong to earlier conversations.
    """

    name: str
    old: Mapping[str, Said]
    talk: list[tuple[str, str, str]]
    gone: str
    newest: str
    things: int = 1


DOG = {"o1": ("My dog is called Max.", "Max is a good name.")}
PETS = {**DOG, "o2": ("My cat is called Biscuit.", "How sweet.")}
HOME = {"o1": ("I live in Porto, in a small flat.", "Nice."), "o2": ("I work as a nurse.", "Oh.")}
FACTS = {
    "o1": ("My sister's birthday is on the third of May.", "Noted."),
    "o2": ("I'm allergic to peanuts.", "I'll keep that in mind."),
    "o3": ("We pay 950 euros of rent.", "That's a lot."),
    "o4": ("I've been swimming every Tuesday since spring.", "Well done."),
    "o5": ("I never drink coffee after lunch.", "Sensible."),
    "o6": ("Anna works at the town hall.", "I see."),
}

CASES = [
    # statements just told
    Case("a statement just told",
         {}, [("My dog is called Max.", "Lovely.", "")], "t1", "your dog is called Max"),
    Case("a statement told after a question that memory answered", DOG,
         [("What's my dog called?", "Max.", "o1"), ("I've got a new bike.", "Great!", "")],
         "t2", "you've got a new bike"),
    Case("a statement whose answer mentions a recalled memory", DOG,
         [("I bought a puppy called Rex.", "How does Max like Rex?", "o1")],
         "t1", "you bought a puppy called Rex"),
    Case("a statement, then thanks", {},
         [("I owe Ben forty euros.", "Noted.", ""), ("Thanks.", "Any time, you and Ben!", "")],
         "t1 t2", "you owe Ben forty euros"),
    Case("a statement, then two courtesies", {},
         [("I owe Ben forty euros.", "Noted.", ""), ("OK, great.", "Yes.", ""),
          ("Thank you very much!", "Welcome.", "")],
         "t1 t2 t3", "you owe Ben forty euros"),
    Case("nothing but thanks", {}, [("Thanks.", "Sure.", "")], "t1", "Thanks"),
    Case("a statement together with a question of general knowledge", DOG,
         [("My aunt lives in Oslo. What's the capital of Peru?", "Lima.", "o1")],
         "t1", "your aunt lives in Oslo"),
    Case("a statement inside a request for a joke", DOG,
         [("Tell me a joke, my dog is bored.", "Why did the dog sit in the shade?", "o1")],
         "t1", '"Tell me a joke, my dog is bored"'),
    Case("a statement that sounds like a question", HOME,
         [("When I was young I lived in Rome.", "Rome! Now you are in Porto.", "o1")],
         "t1", "when you were young you lived in Rome"),
    Case("a statement of one word", {}, [("Biscuit.", "A cat's name?", "")], "t1", "Biscuit"),
    Case("a statement with a request to remember it", {},
         [("Remember that the spare key is under the pot.", "I will.", "")],
         "t1", "the spare key is under the pot"),
    # memories that an answer used
    Case("a name in a sentence",
         DOG, [("What's my dog called?", "Your dog is called Max.", "o1")], "o1 t1",
         "your dog is called Max"),
    Case("a bare name", DOG, [("What's my dog called?", "Max.", "o1")], "o1 t1",
         "your dog is called Max"),
    Case("asked without a question mark",
         DOG, [("what's my dog called", "It's Max.", "o1")], "o1 t1",
         "your dog is called Max"),
    Case("the answer used only the second memory",
         PETS, [("What's my cat called?", "Biscuit.", "o1 o2")],
         "o2 t1", "your cat is called Biscuit"),
    Case("the answer used only the last of three memories",
         {**PETS, "o3": ("I had a hamster, Pip.", "Aw.")},
         [("Which pet did I have before?", "You had a hamster named Pip.", "o1 o2 o3")],
         "o3 t1", "you had a hamster, Pip"),
    Case("the answer used both memories",
         PETS, [("What are my pets called?", "Max and Biscuit.", "o1 o2")],
         "o1 o2 t1", "your cat is called Biscuit", 2),
    Case("both memories say the same", {**DOG, "o2": ("Max is my dog's name.", "Yes.")},
         [("What's my dog called?", "Your dog is called Max.", "o1 o2")],
         "o1 o2 t1", "Max is your dog's name", 2),
    Case("a fact told twice in the same words",
         {**DOG, "o2": ("Oh, my dog is called Max!", "Yes.")},
         [("What's my dog called?", "Max.", "o1 o2")], "o1 o2 t1", "your dog is called Max"),
    Case("a date", FACTS, [("When is my sister's birthday?", "On 3 May.", "o2 o1")], "o1 t1",
         "your sister's birthday is on the third of May"),
    Case("a number", FACTS, [("How much rent do we pay?", "You pay 950 euros.", "o1 o3")],
         "o3 t1", "you pay 950 euros of rent"),
    Case("a number in words", {"o1": ("I have twenty-one cousins.", "Wow.")},
         [("How many cousins do I have?", "21.", "o1")], "o1 t1", "you have twenty-one cousins"),
    Case("a number that another note has too",
         {"o1": ("My locker is number 12.", "OK."), "o2": ("I have 12 nephews.", "Wow.")},
         [("What's my locker's number?", "It's 12.", "o2 o1")], "o1 t1",
         "your locker is number 12"),
    Case("the same word in another inflection",
         FACTS, [("What do I do on Tuesdays?", "You swim.", "o6 o4")],
         "o4 t1", "you've been swimming every Tuesday since spring"),
    Case("a plain word", FACTS, [("What am I allergic to?", "Peanuts.", "o5 o2")], "o2 t1",
         "you're allergic to peanuts"),
    Case("the same word as another part of speech", FACTS,
         [("Is there anything I can't eat?", "Peanuts, because of your allergy.", "o5 o2")],
         "o2 t1", "you're allergic to peanuts"),
    Case('answered "no"', FACTS, [("Do I drink coffee in the evening?", "No, you don't.", "o2 o5")],
         "o5 t1", "you never drink coffee after lunch"),
    Case('answered "yes"',
         FACTS, [("Am I allergic to peanuts?", "Yes, you are.", "o5 o2")], "o2 t1",
         "you're allergic to peanuts"),
    Case('answered "no", and the recalled memory is hardly related', FACTS,
         [("Do I like coffee?", "No.", "~o5")], "t1", 'your question "Do I like coffee?"'),
    Case("a fact about somebody else", FACTS,
         [("Where does Anna work?", "At the town hall.", "o6")], "o6 t1",
         "Anna works at the town hall"),
    Case("the answer adds small talk", PETS,
         [("What's my dog called?", "Max! A fine name for a walk with a cat.", "o1 o2")],
         "o1 t1", "your dog is called Max"),
    Case("the answer says how it knows", HOME,
         [("Where do I live?", "You told me that you live in Porto.", "o2 o1")], "o1 t1",
         "you live in Porto, in a small flat"),
    Case("the answer is interrupted after the name",
         DOG, [("What's my dog called?", "Your dog is Max", "o1")],
         "o1 t1", "your dog is called Max"),
    Case("the answer is interrupted before the name",
         DOG, [("What's my dog called?", "", "o1")], "o1 t1", "your dog is called Max"),
    Case("a question after an unrelated statement", DOG,
         [("I was at the park today. What's my dog called again?", "Max.", "o1")], "o1 t1",
         "your dog is called Max"),
    Case("a question, then thanks", DOG,
         [("What's my dog called?", "Max.", "o1"), ("Thanks!", "A pat for Max.", "")],
         "o1 t1 t2", "your dog is called Max"),
    Case("a follow-up question", {**DOG, "o2": ("Max turned seven in June.", "Old boy.")},
         [("What's my dog called?", "Max.", "o1"), ("And how old is he?", "Seven.", "o2 o1")],
         "o2 t2", "Max turned seven in June"),
    Case("the assistant's earlier answer was recalled",
         {**DOG, "o2": ("What's my dog called?", "Your dog is called Max.")},
         [("What's my dog's name?", "Max.", "o2:a")], "o1 o2 t1", "your dog is called Max"),
    Case("an earlier answer contains the fact too",
         {**DOG, "o2": ("Which dog is mine?", "Your dog is Max."), "o3": ("Hi.", "Hello.")},
         [("What's my dog called?", "Max.", "o1")], "o1 o2 t1", "your dog is called Max"),
    # exchanges that are still in the window
    Case("a statement three turns ago", {},
         [("My dog is called Max.", "Nice.", ""), ("What's up?", "Not much.", ""),
          ("Any news?", "None.", ""), ("What's my dog called?", "Max.", "")],
         "t1 t4", "your dog is called Max"),
    Case("said in the window, while an unrelated memory is recalled",
         {"o2": ("My cat is called Biscuit.", "Aw.")},
         [("My dog is called Max.", "Nice.", ""), ("What's my dog called?", "Max.", "o2")],
         "t1 t2", "your dog is called Max"),
    Case("the question repeated", DOG,
         [("What's my dog called?", "Max.", "o1"), ("Sorry?", "Your dog is called Max.", ""),
          ("What's my dog called?", "Max.", "o1")],
         "o1 t1 t2 t3", "your dog is called Max"),
    Case("the answer came from an earlier answer", DOG,
         [("What's my dog called?", "Your dog is called Max.", "o1"),
          ("What's my dog's name again?", "Max.", "")],
         "o1 t1 t2", "your dog is called Max"),
    Case("the assistant's own suggestion, asked about again", {},
         [("Which tea should I drink?", "Try Assam.", ""),
          ("Which tea did you tell me to drink?", "Assam.", "")],
         "t1 t2", 'what I said, "Try Assam"'),
    # answers that used nothing
    Case("general knowledge", HOME, [("What's the capital of Peru?", "Lima.", "o1 o2")], "t1",
         'your question "What\'s the capital of Peru?"'),
    Case("the assistant didn't know", DOG,
         [("What's my dog's birthday?", "I don't know when Max was born.", "o1")], "t1",
         'your question "What\'s my dog\'s birthday?"'),
    Case("the assistant wasn't told", DOG,
         [("How old is my dog?", "You haven't told me how old Max is.", "o1")], "t1",
         'your question "How old is my dog?"'),
    Case("the assistant didn't know, then was told", DOG,
         [("How old is my dog?", "You haven't told me.", "o1"), ("He is seven.", "OK.", "")],
         "t2", "he is seven"),
    Case("chat", DOG, [("How are you?", "Fine, thank you.", "o1")], "t1",
         'your question "How are you?"'),
    Case("a question without memories", {}, [("Will it rain?", "I can't look outside.", "")], "t1",
         'your question "Will it rain?"'),
    Case("a suggestion that used nothing", HOME,
         [("What should I cook?", "How about soup?", "o1 o2")], "t1",
         'your question "What should I cook?"'),
    Case("the note shares words only with the question, not with the answer", HOME,
         [("How long do I work this week?", "Until Friday, I suppose.", "o2")], "t1",
         'your question "How long do I work this week?"'),
]  # fmt: skip


LOCKER = {
    "o1": ("My locker code is 4471.", "OK."),
    "o2": ("My locker is on the third floor.", "I see."),
    "o3": ("Anna works at the town hall.", "I see."),
    "o4": ("I go to the gym on Mondays.", "Good."),
}
UNANSWERED = [
    Case("the assistant says that it doesn't know what it recalled", LOCKER,
         [("What is my locker code?", "I'm sorry, I don't know that.", "o1 o4")],
         "o1 t1", "your locker code is 4471"),
    Case("the answer is invented", LOCKER,
         [("What is my locker code?", "Your locker code is 1234.", "o1 o4")],
         "o1 t1", "your locker code is 4471"),
    Case("the answer talks of something else", LOCKER,
         [("What is my locker code?", "Codes are fun! Shall we play?", "o1")],
         "o1 t1", "your locker code is 4471"),
    Case("what was asked about was said in the same conversation", {},
         [("My locker code is 4471.", "OK.", ""), ("It rains.", "Yes.", ""),
          ("What is my locker code?", "I can't help with that.", "")],
         "t1 t3", "your locker code is 4471"),
    Case("the assistant doesn't know what somebody else does", LOCKER,
         [("Where does Anna work?", "I don't know.", "o3")],
         "o3 t1", "Anna works at the town hall"),
    Case("many words, of which the statement lacks one", LOCKER,
         [("What's the code of my gym locker?", "I don't know.", "o1")],
         "o1 t1", "your locker code is 4471"),
    Case("what was recalled is about something else", LOCKER,
         [("What is my bank card's code?", "I don't know.", "o1 o2")],
         "t1", 'your question "What is my bank card\'s code?"'),
]  # fmt: skip


def test_an_answer_from_elsewhere_and_what_was_asked_about_are_both_named() -> None:
    before = earlier(LOCKER)
    everything = remembered(before)
    answer = "You go to the gym on Mondays."
    turns = turned([("What is my locker code?", answer, "o1 o4")], everything)
    everything |= remembered([turn.exchange for turn in turns])
    meant = that(turns, everything, LEXICON)
    assert meant is not None
    assert meant.needs_confirmation
    assert [set(each.exchanges) for each in meant.alternatives] == [{"o4", "t1"}, {"o1", "t1"}]
    assert set(meant.exchanges) == {"o1", "o4", "t1"}


@pytest.mark.parametrize(
    ("asked", "answer", "meant"),
    [
        ("Where is my locker?", "I don't know.", [{"o2", "t1"}, {"o1", "t1"}]),
        ("Where does Anna work?", "Anna is a name with Hebrew roots.", [{"o3", "t1"}, {"t1"}]),
    ],
)
def test_if_two_things_could_be_meant_both_are_alternatives(
    asked: str, answer: str, meant: list[set[str]]
) -> None:
    everything = remembered(earlier(LOCKER))
    turns = turned([(asked, answer, "o2 o1 o3")], everything)
    plan = that(turns, everything, LEXICON)
    assert plan is not None
    assert [set(each.exchanges) for each in plan.alternatives] == meant
    assert plan.count == 2


@pytest.mark.parametrize(
    "case", [*CASES, *UNANSWERED], ids=[case.name for case in (*CASES, *UNANSWERED)]
)
def test_forget_that_selects_the_exchanges_meant(case: Case) -> None:
    before = earlier(case.old)
    everything = remembered(before)
    turns = turned(case.talk, everything)
    everything |= remembered([turn.exchange for turn in turns])

    meant = that(turns, everything, LEXICON)

    assert meant is not None
    assert set(meant.exchanges) == set(case.gone.split())
    newest = meant.items[0]
    assert spoken_phrase(newest.text, newest.speaker) == case.newest
    assert meant.count == case.things
    assert meant.needs_confirmation is (case.things > 1)
    assert set(meant.memories) == {
        key for key, memory in everything.items() if set(memory.sources) <= set(meant.exchanges)
    }
