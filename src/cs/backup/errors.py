"""What can go wrong with a backup."""

from cs.runtime.data_folder import DataFolderError


class BackupError(DataFolderError):
    """The backup cannot be made or used; the message says why and what to do."""
