"""A home in which an answer was based on something told two days before."""

from contextlib import closing
from datetime import UTC, datetime, timedelta

from assistant.context.conversation import Conversation, Exchange
from assistant.events import MemoryUsed
from assistant.language.speakers import USER
from assistant.memory.records.ids import telling
from assistant.memory.transcript.database import Transcript
from assistant.paths import Home

DOG = "My dog is called Max."
CAT = "My cat sleeps all day."
TEA = "I like tea."
WHAT = "What is my dog called?"


def explained(home: Home, user: str = "me") -> list[Exchange]:
    """Store the exchanges in the transcript, and return them: three that were told, then two
    questions. The prompt of the first contained the dog and the cat. The tea was found but left
    out."""
    now = datetime.now(UTC)
    home.create()
    with closing(Transcript.open(home.transcript)) as transcript:
        talk, made = Conversation.begin(user), []
        for turn, said in enumerate((DOG, CAT, TEA), start=1):
            at = now - timedelta(days=2, minutes=-turn)
            talk.append_user(turn, said, at)
            made.append(talk.complete(turn, "I see.", ended=at))
            transcript.store(talk, made[-1])
        dog, cat, tea = (telling(each.id, USER) for each in made)
        used = (MemoryUsed(dog, DOG, 0.91), MemoryUsed(cat, CAT, 0.62))
        missed = ((tea, 0.31, "not close enough"), ("unknown-user", 0.3, "over budget"))
        talk = Conversation.begin(user)
        for turn, (asked, answer) in enumerate(
            ((WHAT, "Your dog is called Max."), ("What is the capital of Peru?", "Lima.")), start=1
        ):
            talk.append_user(turn, asked, now + timedelta(seconds=turn - 9))
            made.append(talk.complete(turn, answer, ended=now))
            log = (used, missed) if turn == 1 else ((), ())
            transcript.store(talk, made[-1], None, *log)
    return made
