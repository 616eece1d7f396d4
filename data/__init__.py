"""The data that the project ships: prompts, demo recordings, evaluation sets. Never the user's."""

from importlib import resources
from pathlib import Path


def located(name: str) -> Path:
    """The file or folder `name` of this package, such as `recordings/today.flac`.

    Raises:
        FileNotFoundError: the package has no such file or folder.
    """
    path = Path(str(resources.files(__name__).joinpath(name)))
    if not path.exists():
        raise FileNotFoundError(f"{name} is not among the project's data")
    return path
