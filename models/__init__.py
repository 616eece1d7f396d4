"""Every neural model: the catalogue, the download, and one adapter file for each engine."""
