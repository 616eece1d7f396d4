"""Fifty facts are told, half of them forgotten in every way there is; then every byte is looked at,
by means that owe nothing to the product's own search."""

import asyncio
import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from assistant.context.conversation import Conversation, Summary
from assistant.intents.command import Command
from assistant.intents.command import CommandKind as Said
from assistant.language.speakers import USER
from assistant.language.stemming import TextAnalyzer
from assistant.memory.records.memory import Memory, MemoryKind, new_id
from assistant.memory.retrieval.document_expansion import (
    DESCRIBED,
    Expansion,
    content_of,
    fingerprint,
)
from assistant.memory.store.table import MemoryTable
from assistant.memory.transcript.database import Transcript
from assistant.memory.transcript.derived_outputs import DerivedOutput, DerivedOutputs
from data import located
from tests.support.desks import forget_now
from tests.support.forgetting import START, Bench, bench
from tests.support.remains import found, vectors_of

FACTS = 50


def facts() -> list[str]:
    """Some that people told, which share no long run of words."""
    lines = located("evaluation/paraphrase_facts.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["said"] for line in lines[:FACTS]]


async def obey(here: Bench, command: Command) -> None:
    """Carry out, and agree to what is asked."""
    said = await here.obeying.carry_out(command)
    assert said is not None
    if here.obeying.waits_for_yes:
        said = await here.obeying.answered(yes=True)
    assert said.startswith("Forgotten"), said


def own_word(fact: str, told: list[str]) -> str:
    """A word that stands in no other of the facts."""
    lexicon = TextAnalyzer("en")
    others = {stem for each in told if each != fact for stem in lexicon.content(each)}
    words = [word.strip(".,!?'") for word in fact.split()]
    own = (word for word in words if others.isdisjoint(lexicon.content(word)))
    return next(word for word in own if lexicon.content(word))


async def derive(here: Bench, told: dict[str, str]) -> tuple[list[str], list[str]]:
    """What idle work would make of what was told: facts in other words, a summary that quotes, a
    neighbour whose context does, and descriptions. Returns the sentences that rest on the first ten
    facts alone."""
    sentences, made = [], []
    for number, exchange in enumerate(list(told.values())[:10]):
        sentence = f"Derived knowledge number {number} of the user, from one telling."
        sentences.append(sentence)
        made.append(Memory(new_id(), "ada", MemoryKind.FACT, sentence, START, sources=(exchange,)))
    await asyncio.to_thread(here.memory.put, made)
    texts = list(told)
    neighbour = f"{told[texts[40]]}-{USER}"
    await asyncio.to_thread(
        here.memory.change, [neighbour], lambda old: replace(old, context=f"After: {texts[3]}")
    )
    here.transcript.store_summary(
        here.window.talk,
        Summary(new_id(), f"They said: {texts[4]}", tuple(told.values()), START),
    )
    ids = list(told.values())
    described = [describe(here, (ids[at], texts[at]), ids[at + 30]) for at in range(5)]
    await here.memory.settled()
    return sentences, [*described, *(f"Which is {each}" for each in described)]


def describe(here: Bench, told: tuple[str, str], subject: str) -> str:
    """Of one that stays, with words of one that goes."""
    source, said = told
    about = f"Described after: {said}"
    [(_, exchange)] = here.transcript.exchanges("ada", [subject])
    vectors = here.memory.vectors([about, f"Which is {about}"])
    of = fingerprint(exchange.user_text)
    made = Expansion(of, about, (f"Which is {about}",), vectors, encoder="hashing")
    output = DerivedOutput(subject, content_of(made), (subject, source))
    assert DerivedOutputs(here.transcript, "ada").keep(DESCRIBED, 1, "none", output, START)
    here.memory.enrich([subject])
    return about


async def forget_half(here: Bench, told: dict[str, str]) -> set[str]:
    """In every way; returns the facts that are to be gone."""
    texts = list(told)
    desk = here.desk
    for text in texts[:8]:
        await obey(here, Command(Said.FORGET_ABOUT, about=own_word(text, texts)))
    for text in texts[8:14]:
        await here.forgetting.hide([told[text]], ())
    for text in texts[14:20]:
        await asyncio.to_thread(forget_now, desk, [f"{told[text]}-{USER}"])
    await obey(here, Command(Said.FORGET_THAT))
    await obey(here, Command(Said.FORGET_SPAN, minutes=4))
    return {*texts[:20], *texts[-5:]}


async def lived(home: Path) -> tuple[set[str], set[str], list[bytes]]:
    """A session that tells, and one that forgets and waits. What is to be gone, what is to stay,
    and the vectors of what is to be gone."""
    talk = Conversation.begin("ada")
    async with bench(home, talk) as here:
        told = {}
        for text in facts():
            here.pass_time(60)
            told[text] = here.tell(text).id
        await here.memory.settled()
        derived, described = await derive(here, told)
        assert found(home, set(described), []) != []
        await here.strengthened()
    before = vectors_of(home, {*facts()[:20], *facts()[-5:], *derived})
    assert len(before) == 70, "of two encoders"
    async with bench(home, talk, START.replace(minute=50)) as here:
        gone = await forget_half(here, told)
        assert await here.recalled(facts()[0]) & gone == set()
        assert await here.purge_later()
        assert here.forgetting.hidden == ()
        assert len(here.memory.index._expansions) == 0
    return gone | set(derived) | set(described), set(facts()) - gone, before


async def test_of_what_was_forgotten_no_byte_is_left_and_all_else_is_recalled(
    tmp_path: Path,
) -> None:
    gone, staying, vectors = await lived(tmp_path)
    assert len(staying) == 25
    assert found(tmp_path, gone, vectors) == []
    async with bench(tmp_path, at=START.replace(hour=12)) as again:
        await asyncio.to_thread(again.memory.rebuild, again.transcript)
        for fact in staying:
            assert fact in await again.recalled(fact)
        for fact in gone:
            assert fact not in await again.recalled(fact)
    assert found(tmp_path, gone, vectors) == []


@pytest.mark.parametrize("place", ["file", "log", "row", "vector"])
def test_a_leak_would_be_seen(tmp_path: Path, place: str) -> None:
    secret, vector = facts()[0], Random(1).randbytes(1536)
    Transcript.open(tmp_path / "transcript.sqlite3").close()
    with closing(MemoryTable.open(str(tmp_path / "memories"))) as table:
        table.add([Memory(new_id(), "ada", MemoryKind.FACT, facts()[1], START)])
        assert found(tmp_path, {secret}, [vector]) == []
        if place == "row":
            table.add([Memory("leak", "ada", MemoryKind.FACT, secret, START)])
            table.delete("ada", ["leak"])
    if place == "file":
        (tmp_path / "note.txt").write_bytes(secret.encode("utf-16-le"))
    elif place == "log":
        (tmp_path / "assistant.log").write_text(f"recalled {secret!r} for turn 3\n")
    elif place == "vector":
        (tmp_path / "cache.bin").write_bytes(b"\0" * 7 + vector)
    assert found(tmp_path, {secret}, [vector]) != []
