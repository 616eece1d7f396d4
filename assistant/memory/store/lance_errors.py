"""Turns LanceDB's errors into StoreError with a readable message.

LanceDB has no error classes. Problems with the disk, an object store or damaged files all raise
OSError, RuntimeError or ValueError with a message from LanceDB's Rust libraries, so this module
tells them apart by the message. A ValueError for a wrong argument is passed on unchanged.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from assistant.errors import StoreDamaged, StoreError

_FROM_THE_STORE = re.compile(r"lance error|LanceError|Generic \w+ error|^Invalid input,")
_PANIC = "RustPanic"
"""Name of an exception class that is not public. It is raised for unforeseen problems in a damaged
file."""
_DAMAGED = re.compile(
    r"Not found:|failed to fill whole buffer|file size is too small|Invalid range|os error 20\b"
    r"|Unable to walk dir|orrupt|magic|ecod|rotobuf|ncoding|LanceError\((Arrow|Schema)\)"
    r"|Invalid input,|panicked|outside"
)

_EVERYWHERE = (
    (
        re.compile(r"os error (27|28|122)\b|\[Errno (27|28|122)\]|No space left|QuotaExceeded"),
        "The disk is full: nothing can be stored in the memory store {uri}.",
        "Free some space; everything said in the meantime will then be stored.",
    ),
    (
        re.compile(r"Ambiguous merge"),
        "The memory store {uri} contains a duplicate entry.",
        "Repair it: assistant memory rebuild",
    ),
    (
        re.compile(r"os error (1|13|30)\b|\[Errno (1|13|30)\]"),
        "The memory store {uri} can't be written.",
        "Make its folder writable, or choose another with --home DIR.",
    ),
)
"""Each entry has a pattern for LanceDB's message, the message that replaces it, and advice for the
user."""
_IN_AN_OBJECT_STORE = (
    (
        re.compile(r"NoSuchBucket|ContainerNotFound"),
        "There is no bucket for the memory store {uri}.",
        "Create the bucket, or correct the address in the settings.",
    ),
    (
        re.compile(
            r"AccessDenied|InvalidAccessKeyId|SignatureDoesNotMatch|status: 40[13]|40[13] Forbidden"
            r"|40[13] Unauthorized|redentials"
        ),
        "The memory store {uri} rejects your credentials.",
        "Correct the store's credentials.",
    ),
    (
        re.compile(
            r"kind: Connect|error sending request|dns error|timed out|Connection (refused|reset)"
            r"|status: 5\d\d|after \d+ retries"
        ),
        "The memory store {uri} can't be reached.",
        "Check the network; everything said in the meantime will then be stored.",
    ),
)

_SECRET_NAME = re.compile(r"(AWS|AZURE|GOOGLE)_\w*(KEY|TOKEN|SECRET|PASSWORD|SAS|CREDENTIAL)")
_SIGNED = re.compile(
    r"<(AWSAccessKeyId|StringToSign|Signature\w*|Canonical\w*)>.*?</\1>", re.DOTALL
)


@contextmanager
def explained(uri: str) -> Iterator[None]:
    """Turn failures of the store in this block into StoreError with a message and advice."""
    try:
        yield
    except (OSError, RuntimeError) as error:
        raise _sentence(str(error), uri) from _without_secrets(error, uri)
    except ValueError as error:
        if not _FROM_THE_STORE.search(str(error)):
            raise
        raise _sentence(str(error), uri) from _without_secrets(error, uri)
    except Exception as error:
        if type(error).__name__ != _PANIC:
            raise
        raise damaged(uri) from error


def discreet(words: str) -> str:
    """Return the text without secrets: credentials from the environment, and signatures that a
    store quoted."""
    for name, value in os.environ.items():
        if value and _SECRET_NAME.match(name):
            words = words.replace(value, "•••")
    return _SIGNED.sub(r"<\1>•••", words)


def _without_secrets(error: Exception, uri: str) -> Exception:
    """Return an exception that is safe to log as the cause of the error."""
    return RuntimeError(discreet(str(error))) if "://" in uri else error


def damaged(uri: str) -> StoreError:
    mend = "Restore it from a backup, or choose another store."
    if "://" not in uri:
        mend = "Repair it, keeping everything that can still be read: assistant memory rebuild"
    return StoreDamaged(f"The memory store {uri} is damaged.", mend=mend)


def _sentence(words: str, uri: str) -> StoreError:
    known = (*_EVERYWHERE, *_IN_AN_OBJECT_STORE) if "://" in uri else _EVERYWHERE
    for pattern, sentence, mend in known:
        if pattern.search(words):
            return StoreError(sentence.format(uri=uri), mend=mend)
    if _DAMAGED.search(words):
        return damaged(uri)
    # The rest of the message names source files of the library.
    reason = discreet(words).split(", /")[0].splitlines()[0] if words else "no reason given"
    return StoreError(f"The memory store {uri} failed: {reason[:200].rstrip('.')}.")
