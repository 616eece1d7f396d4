"""Rewording of the user's sentences so that they can be said back to the user."""

import pytest

from assistant.language.second_person import LONGEST, second_person, spoken_phrase, spoken_topic

TURNED = [
    # my, me, mine, myself
    ("My dog is called Max.", "Your dog is called Max."),
    ("That dog is mine.", "That dog is yours."),
    ("Mine is the red one.", "Yours is the red one."),
    ("A friend of mine lives there.", "A friend of yours lives there."),
    ("Max bit me.", "Max bit you."),
    ("Anna gave me her bike.", "Anna gave you her bike."),
    ("I cut my own hair myself.", "You cut your own hair yourself."),
    ("Ben is older than me.", "Ben is older than you."),
    ("Me and Anna went home.", "You and Anna went home."),
    ("It belongs to me.", "It belongs to you."),
    ("Nobody told me that my bus was late.", "Nobody told you that your bus was late."),
    ("The cat likes my lap.", "The cat likes your lap."),
    # verbs
    ("I am a nurse.", "You are a nurse."),
    ("I was a nurse.", "You were a nurse."),
    ("I do like tea.", "You do like tea."),
    ("I don't like tea.", "You don't like tea."),
    ("I have two cats.", "You have two cats."),
    ("I can't swim.", "You can't swim."),
    ("I am not a nurse.", "You are not a nurse."),
    ("I wasn't there.", "You weren't there."),
    ("I really was there.", "You really were there."),
    ("I never was in Rome.", "You never were in Rome."),
    ("I went home and was tired.", "You went home and were tired."),
    ("My dog died and I was sad.", "Your dog died and you were sad."),
    ("My dog was ill.", "Your dog was ill."),
    ("I think my dog was ill.", "You think your dog was ill."),
    ("I know it was Max.", "You know it was Max."),
    ("If I were rich I would travel.", "If you were rich you would travel."),
    ("So am I.", "So are you."),
    ("Nor was I asked.", "Nor were you asked."),
    ("Am I late?", "Are you late?"),
    ("Was I late?", "Were you late?"),
    ("Do I like tea?", "Do you like tea?"),
    ("Who am I?", "Who are you?"),
    ("Where did I leave my keys?", "Where did you leave your keys?"),
    ("Why am I tired when I wake up?", "Why are you tired when you wake up?"),
    # contractions
    ("I'm a nurse.", "You're a nurse."),
    ("I’m a nurse.", "You're a nurse."),
    ("I've moved to Lisbon.", "You've moved to Lisbon."),
    ("I'd rather walk.", "You'd rather walk."),
    ("I'll be away in May.", "You'll be away in May."),
    ("im a nurse", "You're a nurse"),
    ("i live in porto", "You live in porto"),
    ("Today I'm ill and I've no voice.", "Today you're ill and you've no voice."),
    # we, us, our
    ("We live in Lisbon.", "You live in Lisbon."),
    ("We were in Rome.", "You were in Rome."),
    ("We're moving.", "You're moving."),
    ("We've got a garden.", "You've got a garden."),
    ("Our flat is small.", "Your flat is small."),
    ("The garden is ours.", "The garden is yours."),
    ("Anna visits us on Sundays.", "Anna visits you on Sundays."),
    ("We built it ourselves.", "You built it yourselves."),
    ("Nobody believes us or our neighbours.", "Nobody believes you or your neighbours."),
    ("We moved to the US.", "You moved to the US."),
    # the user and another person
    ("My wife and I are moving.", "You and your wife are moving."),
    ("Anna and I went home.", "You and Anna went home."),
    ("I like my dog and I walk him.", "You like your dog and you walk him."),
    ("Yesterday Anna and I argued.", "Yesterday you and Anna argued."),
    # `you` means the assistant
    ("I told you about Max.", "You told me about Max."),
    ("I asked you for a recipe.", "You asked me for a recipe."),
    ("I love you.", "You love me."),
    ("I said to you that I'm ill.", "You said to me that you're ill."),
    ("We told you twice.", "You told me twice."),
    # names, and words that only look like pronouns
    ("Max is nagging me.", "Max is nagging you."),
    ("Elizabeth I was a queen.", "Elizabeth I was a queen."),
    ("It was after World War I.", "It was after World War I."),
    ("I get up at 7 am.", "You get up at 7 am."),
    ("I get up at seven am.", "You get up at seven am."),
    ("The old mine is closed.", "The old mine is closed."),
    ("He works in a coal mine near us.", "He works in a coal mine near you."),
    ("I drive on the I-90.", "You drive on the I-90."),
    ("Anna likes tea.", "Anna likes tea."),
    ("Mimi and Amy are twins.", "Mimi and Amy are twins."),
    ("Oh my god, I lost my keys.", "Oh my god, you lost your keys."),
    # quoted speech
    ('Anna said "I love my dog" to me.', 'Anna said "I love my dog" to you.'),
    ("I said “my name is Bo” to him.", "You said “my name is Bo” to him."),
    # derived facts
    ("The user's name is Anna.", "Your name is Anna."),
    ("The user wants to be called Annie.", "You want to be called Annie."),
    ("The user is a nurse.", "You are a nurse."),
    ("The user isn't a nurse.", "You are not a nurse."),
    ("The user was born in May.", "You were born in May."),
    ("The user has a dog.", "You have a dog."),
    ("The user doesn't eat meat.", "You don't eat meat."),
    ("The user never watches football.", "You never watch football."),
    ("The user studies law.", "You study law."),
    ("The user misses the sea.", "You miss the sea."),
    ("The user can't swim.", "You can't swim."),
    ("Max is the user's dog.", "Max is your dog."),
    # several sentences
    ("I live in Porto. My flat is small.", "You live in Porto. Your flat is small."),
    ("My dog is ill! I'm worried.", "Your dog is ill! You're worried."),
    ("", ""),
]

DOUBTFUL = [
    "You can't get good bread here.",
    "I bet you like dogs.",
    "Between you and me, I hate my job.",
    "I need your help with my taxes.",
    "Let's go to my place.",
    "I have a dog that bit me and was put down.",
    'I said "my dog is nice.',
    "The user likes her dog.",
    "You and I should talk.",
    "I think it happens to you when you're tired.",
    "My doctor says you should drink more.",
]

PHRASES = [
    ("Oh, by the way, my dog is called Max.", "your dog is called Max"),
    ("Well, actually I'm a nurse, you know.", "you're a nurse"),
    ("Remember that my dog is called Max.", "your dog is called Max"),
    ("I told you my dog is called Max.", "your dog is called Max"),
    ("I told you that I'm ill.", "you're ill"),
    ("As I told you, my dog is ill.", "your dog is ill"),
    ("I told you about Max.", "you told me about Max"),
    ("My god, I lost my keys.", "you lost your keys"),
    ("The dentist is on Friday.", "the dentist is on Friday"),
    ("Max is my dog.", "Max is your dog"),
    ("Dr. Smith is my dentist. He is kind.", "Dr. Smith is your dentist"),
    ("Hi! I've got a new bike.", "you've got a new bike"),
    ("Isn't it nice? My bike is new.", "your bike is new"),
    ("No longer do I eat meat.", "no longer do you eat meat"),
    ("So far I like my job.", "so far you like your job"),
    ("Well-made shoes are my thing.", "Well-made shoes are your thing"),
    ("Call me Annie.", '"Call me Annie"'),
    ("Don't tell my wife.", '"Don\'t tell my wife"'),
    ("You can't get bread here.", '"You can\'t get bread here"'),
    ('Ben said "no.', '"Ben said \'no"'),
    ("What's my dog called?", 'your question "What\'s my dog called?"'),
    (
        "Max is nagging me again, that dog just loves his walks and a good game of fetch",
        "Max is nagging you again, that dog just loves his walks…",
    ),
    (
        "I found a very small brown shaggy lost wet hungry dog near the old river bridge",
        "you found a very small brown shaggy lost wet hungry dog near…",
    ),
]


@pytest.mark.parametrize(("said", "told"), TURNED)
def test_sentences_are_put_in_the_second_person(said: str, told: str) -> None:
    assert second_person(said) == told


@pytest.mark.parametrize("said", DOUBTFUL)
def test_doubtful_sentences_are_quoted_instead(said: str) -> None:
    assert second_person(said) is None
    assert spoken_phrase(said).startswith('"')


@pytest.mark.parametrize(("said", "told"), PHRASES)
def test_a_phrase_is_short_and_fits_into_a_sentence(said: str, told: str) -> None:
    assert spoken_phrase(said) == told
    assert len(spoken_phrase(said).split()) <= LONGEST + len(["your", "question"])


def test_words_of_the_assistant_and_of_other_people_are_quoted() -> None:
    assert (
        spoken_phrase("I am glad, my friend.", "assistant") == 'what I said, "I am glad, my friend"'
    )
    assert spoken_phrase("I live here.", "Maria") == 'what Maria said, "I live here"'


def test_sentences_in_other_languages_are_quoted() -> None:
    assert spoken_phrase("Mein Hund heißt Max.", english=False) == '"Mein Hund heißt Max"'


@pytest.mark.parametrize(
    ("topic", "told"),
    [
        ("my dog", "your dog"),
        ("Anna", "Anna"),
        ("me", "you"),
        ("my sister's wedding.", "your sister's wedding"),
        ("The house", "the house"),
        ("your name", "your name"),
    ],
)
def test_topics_are_put_in_the_second_person(topic: str, told: str) -> None:
    assert spoken_topic(topic) == told


@pytest.mark.parametrize(
    "text", ["a " * 50_000, "I was " * 5_000, '"' * 20_001, "my and I " * 9000]
)
def test_a_phrase_from_a_very_long_text_is_short(text: str) -> None:
    assert len(spoken_phrase(text).split()) <= LONGEST + 2
