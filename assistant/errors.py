"""All errors that a user may see.

    AssistantError
    ├── SettingsError          a setting is unknown or out of range
    ├── ModelError
    │   ├── ModelMissing       not in the cache
    │   ├── ModelCorrupt       size or SHA-256 doesn't match the catalogue
    │   ├── ModelUnavailable   no source could provide it
    │   ├── ModelTooLarge      needs more memory than the machine has
    │   └── ModelFailed        crashed, refused, timed out, or its endpoint is down
    ├── AudioError
    │   ├── DeviceMissing      no such microphone or loudspeaker
    │   ├── DeviceBusy         in use by another program
    │   └── RecordingUnreadable  not audio, or empty
    ├── StoreError             the data folder can't be read or written
    │   ├── StoreInUse         another process has it open
    │   ├── StoreBusy          another program has locked it for a moment
    │   ├── StoreDamaged       its files have been altered or truncated
    │   └── StoreLocked        encrypted, and the key is missing or wrong
    └── ToolError              a tool can't be used
        ├── ToolServerDown     the server isn't running; the tool was not called
        ├── ToolLate           the server did not answer in time; the tool may have been called
        └── ToolOutcomeUnknown the tool was called; what it did is unknown

`str(error)` is one clear sentence for the user. `mend`, if set, is a command or step that fixes the
problem. The command line prints the sentence and `mend`, and exits with `exit_code`.
"""


class AssistantError(Exception):
    """Base class of all errors. `exit_code` is the process's exit status when the error ends it."""

    exit_code = 1

    def __init__(self, message: str, *, mend: str | None = None) -> None:
        super().__init__(message)
        self.mend = mend


class SettingsError(AssistantError):
    exit_code = 2


class ModelError(AssistantError):
    exit_code = 3


class ModelMissing(ModelError):
    pass


class ModelCorrupt(ModelError):
    pass


class ModelUnavailable(ModelError):
    pass


class ModelTooLarge(ModelError):
    pass


class ModelFailed(ModelError):
    pass


class AudioError(AssistantError):
    exit_code = 4


class DeviceMissing(AudioError):
    pass


class DeviceBusy(AudioError):
    pass


class RecordingUnreadable(AudioError):
    pass


class StoreError(AssistantError):
    exit_code = 5


class StoreInUse(StoreError):
    pass


class StoreBusy(StoreError):
    pass


class StoreDamaged(StoreError):
    pass


class StoreLocked(StoreError):
    pass


class ToolError(AssistantError):
    exit_code = 6


class ToolServerDown(ToolError):
    pass


class ToolLate(ToolError):
    pass


class ToolOutcomeUnknown(ToolError):
    pass
