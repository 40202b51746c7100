"""Secrets in files that settings name."""

from pathlib import Path

from cs.runtime.private_files import exposed
from cs.settings.loading import BadSettings

#: A line of more is no secret: another file was named by mistake.
_LINE_BYTES = 1_024


def read_secret(file: Path, setting: str, most_bytes: int) -> bytes:
    """Return what is in *file*, up to one byte more than *most_bytes*.

    Raises:
        BadSettings: Others may read it, or it cannot be read.
    """
    try:
        if exposure := exposed(file):
            raise BadSettings(f"{setting}: {exposure}")
        with file.open("rb") as opened:
            return opened.read(most_bytes + 1)
    except OSError as error:
        raise BadSettings(f"{setting}: {file} cannot be read: {error.strerror}") from error


def read_secret_line(file: Path, setting: str) -> str:
    """Return the one line that is in *file*.

    Raises:
        BadSettings: As of `read_secret`, or it holds something else.
    """
    written = read_secret(file, setting, _LINE_BYTES)
    try:
        line = written.decode().rstrip("\r\n")  # which editors and `echo` leave
    except UnicodeDecodeError:
        line = ""
    if not line.isprintable() or not line or len(written) > _LINE_BYTES:
        raise BadSettings(
            f"{setting}: {file}: one line of UTF-8 text, at most {_LINE_BYTES} bytes"
        )
    return line
