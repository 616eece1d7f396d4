"""Whether a home is encrypted, in a sentence."""

from assistant.encryption import EncryptionStatus


def sentence(found: EncryptionStatus) -> str:
    match found.state:
        case "encrypted":
            how = "a passphrase" if found.by == "passphrase" else "the system's keyring"
            return f"What is kept is encrypted; {how} opens it."
        case "plain":
            return "What is kept is not encrypted."
        case "damaged":
            return "What is kept is encrypted, and its key file is damaged."
        case "missing":
            return "What is kept is encrypted, and its key file is missing."
    where = f"there is a keyring ({found.keyring})" if found.keyring else "there is no keyring"
    return f"Nothing is kept yet; {where}."


def mend(found: EncryptionStatus) -> str | None:
    if found.state in ("damaged", "missing"):
        return "assistant encryption recover"
    return "assistant encryption enable" if found.state == "plain" else None
