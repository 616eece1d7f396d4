"""The memory store on an S3-compatible server on loopback."""

import signal
import subprocess
import sys
import threading
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from moto.server import ThreadedMotoServer
from pyarrow.fs import FileSelector, S3FileSystem

from assistant.encryption.keys import MasterKey
from assistant.errors import StoreError, StoreLocked
from assistant.memory.forgetting import verify
from assistant.memory.forgetting.pattern_search import SearchPatterns
from assistant.memory.records.memory import Memory, MemoryKind, new_id
from assistant.memory.store import writer_lock
from assistant.memory.store.rewrite import Layout
from assistant.memory.store.table import MemoryTable
from tests.support.object_store import BUCKET, endpoint

pytestmark = pytest.mark.real

ROOT = Path(__file__).resolve().parents[2]
NOW = datetime(2026, 11, 21, 10, tzinfo=UTC)
URI = "s3://memories/home"


def options(endpoint: str) -> dict[str, str]:
    return {
        "endpoint": endpoint,
        "allow_http": "true",
        "region": "us-east-1",
        "aws_access_key_id": "key",
        "aws_secret_access_key": "secret",
    }


def open_table(server: ThreadedMotoServer, key: MasterKey | None = None) -> MemoryTable:
    return MemoryTable.open(URI, key=key, storage_options=options(endpoint(server)))


def memory(text: str, at: int = 0) -> Memory:
    return Memory(new_id(), "ada", MemoryKind.EXCHANGE, text, NOW + timedelta(seconds=at))


def texts(table: MemoryTable) -> list[str]:
    return [text for batch in table.scan("ada") for text in batch.values("text")]


def test_a_store_on_a_server_works_like_one_in_a_folder(server: ThreadedMotoServer) -> None:
    told = [memory(f"number {number}", number) for number in range(5)]
    vectors = np.random.default_rng(1).standard_normal((2, 8), dtype=np.float32)
    with closing(open_table(server)) as table:
        table.add_encoder("small", 8)
        for one in told:
            table.add([one])
        assert table.set_vectors("ada", "small", [told[1].id, told[2].id], vectors) == 2
        assert table.delete("ada", [told[0].id]) == 1
        assert table.compact()
    with closing(open_table(server)) as table:
        assert table.get("ada", [each.id for each in told]) == told[1:]
        assert table.without_vectors("ada", "small", 9) == told[3:]
        [batch] = table.scan("ada", ["id"], vectors=["small"])
        np.testing.assert_array_equal(batch.vectors("small")[0][:2], vectors)
        assert table.users() == ["ada"]


@pytest.mark.parametrize("key", [None, MasterKey(b"k" * 32)], ids=["plain", "sealed"])
def test_after_rewriting_no_object_contains_a_deleted_memory(
    server: ThreadedMotoServer, key: MasterKey | None
) -> None:
    told = [memory(f"number {number}", number) for number in range(40)]
    vectors = np.random.default_rng(1).standard_normal((40, 64), dtype=np.float32)
    with closing(open_table(server, key)) as table:
        table.add_encoder("small", 64)
        table.add(told, {"small": vectors})
        [batch] = table.scan("ada", ["id"], ["small"], [told[3].id])
        needles = SearchPatterns.of([], [batch.stored_vectors("small")[0][0].tobytes()])
        table.delete("ada", [told[3].id])
        assert table.compact()
        assert any(needles.found_in(content) for content in objects(server).values())
        assert table.rewrite()
        assert not any(needles.found_in(content) for content in objects(server).values())
        assert table.layout() == Layout(1, 0, None)
        kept = [name for name in objects(server) if name.startswith("home/memories.lance/")]
        assert sum("/data/" in name for name in kept) == 1
        assert sum("/_deletions/" in name for name in kept) == 0
        assert sum(name.endswith(".manifest") for name in kept) == 1
        assert not verify.search_table(table, needles).found
    with closing(open_table(server, key)) as table:
        assert table.get("ada", [each.id for each in told]) == [*told[:3], *told[4:]]


def objects(server: ThreadedMotoServer) -> dict[str, bytes]:
    """All objects in the bucket."""
    host, port = server.get_host_and_port()
    store = S3FileSystem(
        access_key="key", secret_key="secret", endpoint_override=f"{host}:{port}", scheme="http"
    )
    found = store.get_file_info(FileSelector(BUCKET, recursive=True))
    paths = [each.path for each in found if each.is_file]
    return {
        path.removeprefix(f"{BUCKET}/"): bytes(store.open_input_stream(path).readall())
        for path in paths
    }


def test_two_machines_share_an_encrypted_store_with_one_key(server: ThreadedMotoServer) -> None:
    """The second machine has only the recovery key."""
    key = MasterKey.new()
    told = memory("the zebra sleeps")
    vector = np.random.default_rng(1).standard_normal((1, 8), dtype=np.float32)
    with closing(open_table(server, key)) as table:
        table.add_encoder("small", 8)
        table.add([told], {"small": vector})
    with closing(open_table(server, MasterKey.from_recovery(key.recovery()))) as table:
        [batch] = table.scan("ada", vectors=["small"])
        assert batch.memories() == [told]
        np.testing.assert_allclose(batch.vectors("small")[0], vector, atol=1e-6)
    for other in (None, MasterKey.new()):
        with pytest.raises(StoreLocked, match="is encrypted"):
            open_table(server, other)


def test_a_second_writer_is_refused_until_the_first_has_closed(server: ThreadedMotoServer) -> None:
    first = open_table(server)
    said = rf"The memory store {URI} is in use by another assistant \(process \d+ on .+\)\."
    with pytest.raises(StoreError, match=said):
        open_table(server)
    first.add([memory("the first goes on")])
    first.close()
    with closing(open_table(server)) as second:
        assert texts(second) == ["the first goes on"]


def test_only_one_of_many_simultaneous_writers_opens_the_store(server: ThreadedMotoServer) -> None:
    open_table(server).close()
    opened: list[MemoryTable] = []
    refused: list[str] = []

    def race() -> None:
        try:
            opened.append(open_table(server))
        except StoreError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=race) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for table in opened:
        table.close()
    assert len(opened) == 1
    assert len(refused) == 3
    assert all("in use by another assistant" in sentence for sentence in refused)


def test_a_lease_is_renewed_while_its_owner_lives(
    server: ThreadedMotoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    lasts = 6.0  # long, since a machine may stop for seconds and would rightly lose a shorter lease
    monkeypatch.setattr(writer_lock, "LEASE_S", lasts)
    with closing(open_table(server)):
        assert not threading.Event().wait(1.2 * lasts)
        with pytest.raises(StoreError, match="in use"):
            open_table(server)


SLEEPER = """
import sys
from datetime import UTC, datetime
from assistant.errors import StoreError, StoreLocked
from assistant.memory.store import writer_lock
from assistant.encryption.keys import MasterKey
from assistant.memory.records.memory import Memory, MemoryKind, new_id
from assistant.memory.store.table import MemoryTable

writer_lock.LEASE_S = 1.0
uri, *pairs = sys.argv[1:]
table = MemoryTable.open(uri, storage_options=dict(pair.split("=", 1) for pair in pairs))
print("open", flush=True)
sys.stdin.readline()
try:
    table.add([Memory(new_id(), "ada", MemoryKind.EXCHANGE, "too late", datetime.now(UTC))])
    print("stored")
except StoreError as error:
    print(error)
"""


def test_a_writer_that_was_suspended_too_long_loses_its_lease(server: ThreadedMotoServer) -> None:
    pairs = [f"{key}={value}" for key, value in options(endpoint(server)).items()]
    sleeper = subprocess.Popen(
        [sys.executable, "-c", SLEEPER, URI, *pairs],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert sleeper.stdout is not None
        assert sleeper.stdout.readline() == "open\n"
        sleeper.send_signal(signal.SIGSTOP)
        threading.Event().wait(1.2)
        with closing(open_table(server)) as table:
            table.add([memory("in time")])
            sleeper.send_signal(signal.SIGCONT)
            said, _ = sleeper.communicate("write\n", timeout=60)
            assert "in use by another assistant" in said
            assert texts(table) == ["in time"]
    finally:
        sleeper.kill()
        sleeper.communicate()


@pytest.mark.long
def test_a_store_can_be_written_again_after_its_server_was_down(
    server: ThreadedMotoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_lock, "LEASE_S", 0.6)
    told = memory("said meanwhile")
    with closing(open_table(server)) as table:
        table.add([memory("before", -1)])
        _, port = server.get_host_and_port()
        server.stop()
        threading.Event().wait(1)
        with pytest.raises(
            StoreError, match=rf"The memory store {URI} can't be reached\."
        ) as caught:
            table.add([told])
        assert caught.value.mend is not None
        back = ThreadedMotoServer(ip_address="127.0.0.1", port=port, verbose=False)
        back.start()
        try:
            table.add([told])
            assert texts(table) == ["before", "said meanwhile"]
        finally:
            table.close()
            back.stop()


def test_an_unreachable_server_is_reported_in_one_sentence() -> None:
    with pytest.raises(StoreError, match=rf"The memory store {URI} can't be reached\.") as caught:
        MemoryTable.open(URI, storage_options=options("http://127.0.0.1:9"))
    assert caught.value.mend is not None


def test_a_missing_bucket_is_reported_in_one_sentence(server: ThreadedMotoServer) -> None:
    with pytest.raises(
        StoreError, match=r"There is no bucket for the memory store s3://nowhere/home\."
    ):
        MemoryTable.open("s3://nowhere/home", storage_options=options(endpoint(server)))
