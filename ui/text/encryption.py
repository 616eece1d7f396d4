"""Whether a home is encrypted, in a sentence."""

from assistant.encryption import EncryptionStatus


def sentence(found: EncryptionStatus) -> str:
    match found.state:
        case "encrypted":
            how = "a passphrase" if found.by == "passphrase" else "the system's keyring"
            return f"Your data is encrypted; {how} unlocks it."
        case "plain":
            return "Your data is not encrypted."
        case "damaged":
            return "Your data is encrypted, and its key file is damaged."
        case "missing":
            return "Your data is encrypted, and its key file is missing."
    where = f"there is a keyring ({found.keyring})" if found.keyring else "there is no keyring"
    return f"There is no data yet; {where}."


def mend(found: EncryptionStatus) -> str | None:
    if found.state in ("damaged", "missing"):
        return "assistant encryption recover"
    return "assistant encryption enable" if found.state == "plain" else None
