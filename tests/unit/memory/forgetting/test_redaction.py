"""Forgotten words are purged from recorded conversations, whatever state the recordings are in."""

import multiprocessing
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from assistant.context.conversation import Conversation
from assistant.encryption.conversion import convert
from assistant.encryption.keys import KeyFile, MasterKey
from assistant.encryption.vault import open_vault
from assistant.events import (
    AnswerText,
    Event,
    MemoryUsed,
    Notice,
    Phase,
    PhaseChanged,
    PromptBuilt,
    PromptSection,
    Recalled,
    Remarked,
    TurnHeard,
)
from assistant.memory import HomeStores
from assistant.memory.forgetting import receipts
from assistant.memory.forgetting.audit import audit
from assistant.memory.forgetting.purge import purge
from assistant.memory.forgetting.redaction import MARK
from assistant.memory.records.hidden import HiddenItems
from assistant.memory.store.table import MemoryTable
from assistant.memory.transcript.conversation_recordings import Recordings
from assistant.memory.transcript.database import Transcript
from assistant.paths import Home
from assistant.settings import Settings
from tests.support import homes
from tests.support.recorded import ANSWER, AT, NICE, OTHER, SECRET, gone, rows, told, turn


@pytest.fixture(params=[None, MasterKey(b"k" * 32)], ids=["plain", "encrypted"])
def recordings(request: pytest.FixtureRequest, home: Home) -> Recordings:
    return Recordings(home.recordings, request.param)


# -- forgetting ---------------------------------------------------------------------------------


def test_a_forgotten_turn_and_all_quotes_of_its_words_are_removed(
    recordings: Recordings,
) -> None:
    path = recordings.begin("talk")
    memory = MemoryUsed("e1-user", SECRET, 0.9)
    staying = MemoryUsed("e0-user", OTHER, 0.5)
    sections = (
        PromptSection("system", "You are Ada.", 3),
        PromptSection("summary", "They spoke of a bird below a stone.", 9),
        PromptSection("history", f"user: {SECRET}\nassistant: {ANSWER}\nuser: {OTHER}", 30),
        PromptSection("memories", "(it sleeps under the third brick of something)", 9),
    )
    events: list[Event] = [
        PhaseChanged(Phase.LISTENING),
        *turn(1, SECRET, ANSWER, "e1"),
        Recalled(2, (memory, staying), missed=False),
        PromptBuilt(2, sections, 100, (("e1-user", "over budget"),)),
        *turn(2, OTHER, NICE, "e2"),
        Remarked("Forgotten: your silver parrot. Say undo to keep it."),
        AnswerText(0, "Forgotten: your silver parrot. Say undo to keep it."),
        Remarked("Good night."),
        Notice(f"Not stored: {SECRET}"),
    ]
    recordings.append(path, rows(events))
    going = gone([SECRET, ANSWER], ["e1"], ["e1-user"], {"talk": frozenset({1})}, [OTHER, NICE])
    assert recordings.purge(going) == 1
    raw, left = path.read_bytes(), told(recordings, path)
    for word in ("parrot", "brick", "e1-user", "stone"):
        assert word not in left
        assert word.encode() not in raw
    read = recordings.read(path)
    assert {row["event"].get("turn") for row in read.rows} == {None, 2}
    assert [row["event"]["text"] for row in read.rows if row["event"]["type"] == "Remarked"] == [
        "Good night."
    ]
    built = next(row["event"] for row in read.rows if row["event"]["type"] == "PromptBuilt")
    texts = {section["name"]: section["text"] for section in built["sections"]}
    assert texts == {
        "system": "You are Ada.",
        "summary": MARK,
        "history": f"user: {MARK}\nassistant: {MARK}\nuser: {OTHER}",
        "memories": MARK,
    }
    kept = [row for row in rows(events) if row["event"].get("turn") == 2][2:]
    assert [row for row in read.rows if row["event"].get("turn") == 2][2:] == kept
    assert recordings.purge(going) == 0
    [searched] = recordings.search(going.patterns)
    assert searched.found == ()


def test_an_answer_in_pieces_that_repeats_forgotten_words_is_removed(
    recordings: Recordings,
) -> None:
    path = recordings.begin("talk")
    recordings.append(path, rows(turn(5, "What did I say?", f"You said: {SECRET}", "e5")))
    assert recordings.purge(gone([SECRET], memories=["m"])) == 1
    left = told(recordings, path)
    assert "parrot" not in left
    assert "AnswerText" not in left
    assert "What did I say?" in left


def test_a_turn_without_a_recorded_end_is_identified_by_its_conversation(
    recordings: Recordings,
) -> None:
    path, other = recordings.begin("talk"), recordings.begin("another")
    for each in (path, other):
        recordings.append(each, rows([TurnHeard(7, "short"), TurnHeard(8, OTHER)]))
    going = gone(["unlike"], ["e7"], turns={"talk": frozenset({7})})
    assert recordings.purge(going) == 1
    assert [row["event"]["turn"] for row in recordings.read(path).rows] == [8]
    assert len(recordings.read(other).rows) == 2


def test_turns_with_the_same_number_are_distinguished_by_their_exchange(
    recordings: Recordings,
) -> None:
    path = recordings.begin("talk")
    recordings.append(path, rows(turn(7, OTHER, NICE, "another")))
    assert recordings.purge(gone(["unlike"], ["e7"], turns={"talk": frozenset({7})})) == 0


def test_the_rest_of_a_truncated_line_is_removed_too(home: Home) -> None:
    recordings = Recordings(home.recordings)
    path = recordings.begin("talk")
    recordings.append(path, rows([TurnHeard(1, OTHER), TurnHeard(2, SECRET)]))
    path.write_bytes(path.read_bytes()[:-12])
    (home.recordings / "killed.new").write_text(SECRET)
    recordings.purge(gone(["something else"]))
    assert homes.holds(home.root, "parrot") == []
    assert len(recordings.read(path).rows) == 1


def test_other_files_and_recordings_with_another_key_are_not_changed(home: Home) -> None:
    strange = home.recordings / "strange.jsonl"
    foreign = Recordings(home.recordings, MasterKey.new()).begin("talk")
    strange.write_text(SECRET)
    before = foreign.read_bytes()
    recordings = Recordings(home.recordings)
    assert recordings.purge(gone([SECRET])) == 0
    assert recordings.foreign() == 1
    assert (strange.read_text(), foreign.read_bytes()) == (SECRET, before)


def test_a_recording_outside_the_home_is_purged_only_while_it_is_being_written(
    home: Home, tmp_path: Path
) -> None:
    recordings = Recordings(home.recordings)
    path = recordings.begin("talk", tmp_path / "elsewhere.jsonl")
    recordings.append(path, rows([TurnHeard(1, SECRET)]))
    assert recordings.purge(gone([SECRET])) == 1
    assert b"parrot" not in path.read_bytes()
    recordings.append(path, rows([TurnHeard(2, SECRET)]))
    recordings.end(path)
    assert recordings.purge(gone([SECRET])) == 0


def test_a_recording_in_progress_is_purged_and_continues(recordings: Recordings) -> None:
    path = recordings.begin("talk")
    stop = threading.Event()
    written: list[int] = []

    def write() -> None:
        while not stop.is_set():
            written.append(len(written))
            text = SECRET if written[-1] < 5 else OTHER
            recordings.append(path, rows([TurnHeard(written[-1], text)]))

    thread = threading.Thread(target=write)
    thread.start()
    while len(written) < 20:
        time.sleep(0.001)
    for _ in range(5):
        recordings.purge(gone([SECRET], kept=[OTHER]))
    stop.set()
    thread.join()
    texts = [row["event"]["text"] for row in recordings.read(path).rows]
    assert texts == [MARK] * 5 + [OTHER] * (len(written) - 5)


# -- in a home ----------------------------------------------------------------------------------


def _recorded(transcript: Transcript) -> tuple[Path, str]:
    """Store and record a conversation of two turns. Returns the recording, and the id of the first
    exchange."""
    talk = Conversation.begin("me")
    recordings = transcript.recordings
    path = recordings.begin(talk.id)
    ids = []
    for number, (said, answer) in enumerate(((SECRET, ANSWER), (OTHER, NICE)), start=1):
        talk.append_user(number, said, AT)
        exchange = talk.complete(number, answer)
        transcript.store(talk, exchange)
        ids.append(exchange.id)
        recordings.append(path, rows(turn(number, said, answer, exchange.id)))
    history = PromptSection("history", f"user: {SECRET}", 9)
    recordings.append(path, rows([PromptBuilt(3, (history,), 100)]))
    return path, ids[0]


@pytest.mark.parametrize(
    ("mode", "remembers"), [("off", True), ("passphrase", True), ("off", False)]
)
def test_a_purge_includes_recordings_and_its_receipt_says_so(
    home: Home, mode: str, remembers: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assistant.encryption.keys.ARGON2", homes.CHEAP_ARGON2)
    answers = homes.knowing(new_passphrase=homes.PASSPHRASE, passphrase=homes.PASSPHRASE)
    vault = open_vault(home, homes.settings(mode), answers, create=True)
    with (
        closing(vault),
        closing(Transcript.open(home.transcript, vault.key)) as transcript,
        closing(MemoryTable.open(str(home.memories), key=vault.key)) as table,
    ):
        path, exchange = _recorded(transcript)
        recordings = transcript.recordings
        assert (homes.holds(home.recordings, "parrot") == []) == (mode != "off")
        [found] = [
            each
            for each in audit(table, transcript, [SECRET]).receipt.searched
            if each.name == "recordings"
        ]
        assert found.found == (f"recordings/{path.name}",)
        items = HiddenItems.of("me", [exchange], (), AT)
        receipt = purge(items, transcript, table if remembers else None).receipt
        assert receipt.clean
        assert receipts.read(home.root) == [receipt.as_json()]
        names = {each.name: each for each in receipt.searched}
        assert {"transcript", "recordings"} <= set(names)
        assert names["recordings"].versions == names["files of recordings"].files - 1 == 1
        assert any("copied out" in sentence for sentence in receipt.unprovable)
        assert "parrot" not in told(recordings, path)
        assert OTHER in told(recordings, path)
    assert homes.holds(home.root, "parrot") == []


def _purge_until_killed(folder: Path, begun: "multiprocessing.synchronize.Event") -> None:
    recordings = Recordings(folder)
    going = gone([SECRET], kept=[OTHER])
    begun.set()
    recordings.purge(going)


def test_a_killed_purge_leaves_either_the_old_or_the_new_file(home: Home) -> None:
    """The next purge finishes it."""
    events = rows([TurnHeard(n, SECRET if n % 2 else OTHER) for n in range(400)])
    recordings = Recordings(home.recordings)
    context = multiprocessing.get_context("fork")
    for kill in range(3):
        path = recordings.begin("talk")
        recordings.append(path, events)
        begun = context.Event()
        child = context.Process(target=_purge_until_killed, args=(home.recordings, begun))
        child.start()
        assert begun.wait(10)
        time.sleep(0.02 * kill)
        child.kill()
        child.join()
        texts = [row["event"]["text"] for row in recordings.read(path).rows]
        assert len(texts) == 400
        assert set(texts) in ({SECRET, OTHER}, {MARK, OTHER})
        recordings.purge(gone([SECRET], kept=[OTHER]))
        assert homes.holds(home.root, "parrot") == []
        path.unlink()


def test_a_conversion_includes_recordings(home: Home) -> None:
    vault = open_vault(home, Settings())
    homes.talk_in(home, vault)
    vault.close()
    with closing(Transcript.open(home.transcript)) as transcript:
        path, _ = _recorded(transcript)
        before = transcript.recordings.read(path).rows
    key = MasterKey.new()
    convert(home, HomeStores(home, Settings()), None, key, KeyFile.locked(key, "keyring", "0" * 64))
    assert homes.holds(home.root, "parrot") == []
    assert Recordings(home.recordings, key).read(path).rows == before
    convert(home, HomeStores(home, Settings()), key, None, None)
    assert Recordings(home.recordings).read(path).rows == before
