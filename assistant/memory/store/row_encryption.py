"""Encrypts memories before they are stored on disk: texts with AES-256-GCM, vectors with a secret
rotation.

Each value has its own random nonce, and is bound to its user, row and column, so that values can't
be swapped. A rotation preserves lengths and angles. So nearest neighbours stay the same, and
LanceDB's vector search still works. A rotation does leak information. Whoever has the file sees
which memories are similar. If vectors have n dimensions, whoever also knows the texts of n memories
can undo the rotation.

Ids are not encrypted, because rows are found by them. The program's own ids are random. Imported
ids could be words, so they are replaced by a keyed hash. The same file gets the same ids whenever
it is imported, and without the key nobody can guess the originals.

The rotation is derived from the key: Gaussian numbers from an AES-CTR stream are orthogonalised (by
QR with a positive diagonal, which makes it unique; Mezzadri 2007). Machines may differ in the last
bits of double precision. Rounding to single precision should hide that; to be sure, the table
stores a check value of the rotation.
"""

import base64
import binascii
import hmac
import secrets
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from assistant.encryption import NONCE_BYTES, MasterKey
from assistant.language.speakers import ASSISTANT, USER
from assistant.memory.records.arrays import Vectors
from assistant.memory.records.ids import renamed
from assistant.memory.records.memory import Memory
from assistant.memory.store.lance_schema import ROTATION_CHECK

if TYPE_CHECKING:
    import pyarrow as pa

Rows = TypeVar("Rows", "pa.Table", "pa.RecordBatch")

COLUMNS = ("text", "context", "speaker")
"""The encrypted columns of text."""
PLAIN = frozenset({"", USER, ASSISTANT})
"""Values that are not encrypted, because they reveal nothing: the empty text in any column, and
`USER` and `ASSISTANT` in the column `speaker`, by which the table is sorted."""
ID_CHARACTERS = 32
"""Number of characters of a hashed id; the same as in the program's own ids."""
CHECKED = 4
"""How many numbers a check value consists of."""
CHECK_TOLERANCE = 1e-4


class PlainRows:
    """The codec of an unencrypted table. Rows, ids and vectors are left unchanged."""

    key_id = ""

    def close(self, rows: "pa.Table") -> "pa.Table":
        return rows

    def open(self, rows: "Rows", _user_id: str) -> "Rows":
        return rows

    def named(self, memories: Sequence[Memory]) -> list[Memory]:
        return list(memories)

    def turn(self, _encoder: str, vectors: Vectors) -> Vectors:
        return vectors

    def turn_back(self, _encoder: str, vectors: Vectors) -> Vectors:
        return vectors

    def check(self, _encoder: str, _dimensions: int) -> str:
        return ""

    def agrees(self, _field: "pa.Field", _check: str) -> bool:
        return True


class EncryptedRows(PlainRows):
    """The codec of an encrypted table. Thread-safe."""

    def __init__(self, key: MasterKey) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        self.key_id = key.id
        self._key = key
        self._cipher = AESGCM(key.derive("memories"))
        self._names = key.derive("names")
        self._rotations: dict[tuple[str, int], tuple[Vectors, tuple[float, ...]]] = {}

    # -- words ----------------------------------------------------------------------------------

    def close(self, rows: "pa.Table") -> "pa.Table":
        """Return the rows with encrypted texts. Their vectors must be rotated already."""
        return self._texts(rows, rows.column("user_id").to_pylist(), self._close)

    def open(self, rows: "Rows", user_id: str) -> "Rows":
        """Return a user's rows with decrypted texts. Every column except `id` may be missing.

        Raises:
            RuntimeError: a value is damaged, or was moved from another place. `lance_errors` turns
                this into StoreDamaged.
        """
        return self._texts(rows, [user_id] * rows.num_rows, self._open)

    def _texts(self, rows: "Rows", users: Sequence[str], do: Callable[[str, bytes], str]) -> "Rows":
        """Return the rows with each text encrypted or decrypted by `do`. Values that reveal nothing
        are left unchanged."""
        import pyarrow as pa

        ids = rows.column("id").to_pylist()
        for name in COLUMNS:
            if name not in rows.schema.names:
                continue
            values = [
                value
                if value in PLAIN and (name == "speaker" or not value)
                else do(value, _place(user, key, name))
                for value, user, key in zip(rows.column(name).to_pylist(), users, ids, strict=True)
            ]
            at = rows.schema.get_field_index(name)
            rows = rows.set_column(at, rows.schema.field(at), pa.array(values, pa.string()))
        return rows

    def named(self, memories: Sequence[Memory]) -> list[Memory]:
        """Return the memories with hashes in place of ids that this program did not create."""
        return [renamed(each, partial(self._name, each.user_id)) for each in memories]

    def _name(self, user_id: str, key: str) -> str:
        place = f"{len(user_id)}\0{user_id}\0{key}".encode("utf-8", "surrogatepass")
        return hmac.new(self._names, place, "sha256").hexdigest()[:ID_CHARACTERS]

    def _close(self, text: str, place: bytes) -> str:
        nonce = secrets.token_bytes(NONCE_BYTES)
        return base64.b64encode(nonce + self._cipher.encrypt(nonce, text.encode(), place)).decode()

    def _open(self, sealed: str, place: bytes) -> str:
        from cryptography.exceptions import InvalidTag

        try:
            raw = base64.b64decode(sealed, validate=True)
            return self._cipher.decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], place).decode()
        except (InvalidTag, binascii.Error, ValueError, TypeError) as error:
            raise RuntimeError("corrupt: a value does not decrypt") from error

    # -- vectors --------------------------------------------------------------------------------

    def turn(self, encoder: str, vectors: Vectors) -> Vectors:
        """Rotate vectors before they are stored on disk. Vectors of a wrong shape are returned
        unchanged."""
        if vectors.ndim != 2 or not vectors.shape[1]:
            return vectors
        turned: Vectors = np.asarray(vectors, np.float32) @ self._rotation(encoder, vectors)
        return turned

    def turn_back(self, encoder: str, vectors: Vectors) -> Vectors:
        turned: Vectors = vectors @ self._rotation(encoder, vectors).T
        return turned

    def check(self, encoder: str, dimensions: int) -> str:
        """Return a check value of the rotation as text, equal for equal rotations. It is the
        beginning of a rotated vector, and reveals nothing about the rotation, because the original
        vector is secret."""
        return " ".join(f"{number:.7f}" for number in self._drawn(encoder, dimensions)[1])

    def agrees(self, field: "pa.Field", check: str) -> bool:
        """Return whether a column's vectors were rotated by the rotation that this machine
        computes. If not, they are useless and must be computed again."""
        written = (field.metadata or {}).get(ROTATION_CHECK, b"").decode().split()
        pairs = list(zip(map(float, written), map(float, check.split()), strict=False))
        return len(pairs) == CHECKED and all(abs(a - b) < CHECK_TOLERANCE for a, b in pairs)

    def _rotation(self, encoder: str, vectors: Vectors) -> Vectors:
        return self._drawn(encoder, vectors.shape[1])[0]

    def _drawn(self, encoder: str, dimensions: int) -> tuple[Vectors, tuple[float, ...]]:
        known = self._rotations.get((encoder, dimensions))
        if known is None:
            key = self._key.derive(f"rotation/{dimensions}/{encoder}")
            numbers = _gaussians(key, (dimensions + 1) * dimensions)
            square = numbers[: dimensions * dimensions].reshape(dimensions, dimensions)
            rotation, triangle = np.linalg.qr(square)
            rotation = rotation * np.where(np.diag(triangle) < 0, -1.0, 1.0)
            check = (numbers[dimensions * dimensions :] @ rotation)[:CHECKED]
            known = np.ascontiguousarray(rotation, np.float32), tuple(check.tolist())
            self._rotations[encoder, dimensions] = known
        return known


def _gaussians(key: bytes, count: int) -> NDArray[np.float64]:
    """Return normally distributed numbers: the Box-Muller transform of a key stream of uniform
    53-bit numbers."""
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import AES
    from cryptography.hazmat.primitives.ciphers.modes import CTR

    pairs = (count + 1) // 2
    stream = Cipher(AES(key), CTR(bytes(16))).encryptor().update(bytes(16 * pairs))
    uniform = (np.frombuffer(stream, "<u8") >> np.uint64(11)).astype(np.float64) + 0.5
    first, second = (uniform / 2.0**53).reshape(2, pairs)
    radius = np.sqrt(-2.0 * np.log(first))
    both = (radius * np.cos(2 * np.pi * second), radius * np.sin(2 * np.pi * second))
    return np.concatenate(both)[:count]


def _place(user_id: str, key: str, name: str) -> bytes:
    """Return bytes that identify a value. The length separates the user's name from the id."""
    return f"{len(user_id)}\0{user_id}\0{key}\0{name}".encode()
