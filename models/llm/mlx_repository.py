"""MLX models that the user names by their repository on the hub, such as mlx-community/NAME.

The catalogue's own models are pinned and verified; these come as their publishers have them today.
"""

from contextlib import suppress
from pathlib import Path

from huggingface_hub import snapshot_download
from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

from assistant.errors import ModelUnavailable

WANTED = ["*.json", "*.safetensors", "*.model", "*.jinja", "*.txt"]


def repository(name: str) -> Path:
    """The folder of `owner/name`: from the hub's local cache or, the first time, from the hub.

    Raises:
        ModelUnavailable: it is not on this machine and can't be downloaded.
    """
    try:
        with suppress(LocalEntryNotFoundError):
            return Path(snapshot_download(name, allow_patterns=WANTED, local_files_only=True))
        return Path(snapshot_download(name, allow_patterns=WANTED))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise ModelUnavailable(
            f"The model {name} is not on this machine, and could not be downloaded from the hub.",
            mend="Check its name and the connection, or unset llm.model.",
        ) from error
