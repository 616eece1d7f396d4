"""Fifty facts are told, and half of them are forgotten in all possible ways. Then every byte is
searched, independently of the product's own search."""

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
    """Facts that people told, which share no long runs of words."""
    lines = located("evaluation/paraphrase_facts.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["said"] for line in lines[:FACTS]]


async def obey(here: Bench, command: Command) -> None:
    """Carry out the command, and confirm it if asked."""
    said = await here.obey(command)
    assert said is not None
    if here.skills.waits_for_answer:
        said = await here.answer("Yes.")
    assert said is not None
    assert said.startswith("Forgotten"), said


def own_word(fact: str, told: list[str]) -> str:
    """A word of this fact that none of the other facts contain."""
    lexicon = TextAnalyzer("en")
    others = {stem for each in told if each != fact for stem in lexicon.content(each)}
    words = [word.strip(".,!?'") for word in fact.split()]
    own = (word for word in words if others.isdisjoint(lexicon.content(word)))
    return next(word for word in own if lexicon.content(word))


async def derive(here: Bench, told: dict[str, str]) -> tuple[list[str], list[str]]:
    """Store the kinds of output that idle work derives: reworded facts, a summary with a quote, a
    neighbour whose context quotes, and descriptions. Returns the sentences that are based only on
    the first ten facts, and the descriptions."""
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
    """Store a description of an exchange that stays, with words of one that will be forgotten."""
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
    """Forget half of the facts in all possible ways; returns those to be deleted."""
    texts = list(told)
    desk = here.desk
    await obey(here, Command(Said.FORGET_THAT))
    for text in texts[:8]:
        await obey(here, Command(Said.FORGET_ABOUT, words=own_word(text, texts)))
    for text in texts[8:14]:
        await here.forgetting.hide([told[text]], ())
    for text in texts[14:20]:
        await asyncio.to_thread(forget_now, desk, [f"{told[text]}-{USER}"])
    await obey(here, Command(Said.FORGET_SPAN, minutes=4))
    return {*texts[:20], *texts[-5:]}


async def lived(home: Path) -> tuple[set[str], set[str], list[bytes]]:
    """A session that tells, and one that forgets and waits. Returns the texts to be deleted, those
    to be kept, and the vectors of the deleted texts."""
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
    assert len(before) == 70, "one vector per text and encoder"
    async with bench(home, talk, START.replace(minute=50)) as here:
        gone = await forget_half(here, told)
        assert await here.recalled(facts()[0]) & gone == set()
        assert await here.purge_later()
        assert here.forgetting.hidden == ()
        assert len(here.memory.index._expansions) == 0
    return gone | set(derived) | set(described), set(facts()) - gone, before


async def test_forgotten_facts_leave_no_byte_and_all_others_are_recalled(
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
def test_a_leak_would_be_detected(tmp_path: Path, place: str) -> None:
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
