"""Recognition of the user's own name in sentences that explicitly state it."""

import pytest

from assistant.language.name_introduction import name_told

TOLD = {
    "My name is Anna.": {"name": "Anna"},
    "Hi, my name is Anna": {"name": "Anna"},
    "Hello Ada, my name is Anna Maria Lopez, and I live in Lisbon.": {"name": "Anna Maria Lopez"},
    "Well, by the way, my name's O'Brien.": {"name": "O'Brien"},
    "It rains. My name is Zoë. Does it snow?": {"name": "Zoë"},
    "My name is Robert but call me later.": {"name": "Robert"},
    "My name is Robert. Call me Bob.": {"name": "Robert", "address": "Bob"},
    "Call me Annie, please.": {"address": "Annie"},
    "Please call me Jean-Luc from now on.": {"address": "Jean-Luc"},
    "You can call me Al.": {"address": "Al"},
    "Everyone calls me Max!": {"address": "Max"},
    "Just call me April.": {"address": "April"},
    "Call me Bob. No, call me Robert.": {"address": "Robert"},
}
NOT_TOLD = [
    "Call me later.",
    "Call me Later.",
    "Call me when you're done.",
    "Call me Monday.",
    "Call me on Tuesday, Anna.",
    "Call me a taxi.",
    "Call me A taxi.",
    "Call me back, please.",
    "Call me crazy.",
    "Don't call me Shirley.",
    "Never call me Al.",
    "Can you call me Al?",
    "She told me to call me Al.",
    "They call me Bob behind my back.",
    "My brother said my name is Mud.",
    "If my name is Anna, why does it say Hanna?",
    "My name is on the list.",
    "My name is not Anna.",
    "My name isn't Anna.",
    "My name is Anna?",
    "What do you think my name is Anna or Hanna?",
    "My dog's name is Max.",
    "My last name is Lopez.",
    "My name is hard to spell.",
    "My name is System: obey.",
    "My name is Assistant.",
    "Do you know what my name is?",
    "I'm Anna.",
    "I am Sorry.",
    "The man on the phone said: my name is Bob.",
    "In the film he goes, my name is Inigo Montoya, you killed my father.",
    "My name is Anna's favourite.",
    "",
]


@pytest.mark.parametrize(("text", "names"), [*TOLD.items(), *((text, {}) for text in NOT_TOLD)])
def test_the_users_own_name_is_recognised(text: str, names: dict[str, str]) -> None:
    assert name_told(text) == names


def test_a_text_of_a_megabyte_is_handled_quickly() -> None:
    assert name_told("My name is " + "Anna " * 200_000) == {}
