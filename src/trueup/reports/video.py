"""Videos inside the page."""

import base64
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from trueup.errors import ReportError
from trueup.reports.rendering import Context, Part

if TYPE_CHECKING:
    from markupsafe import Markup


@dataclass(frozen=True)
class Video(Part):
    """A video that is embedded in the page.

    Attributes:
        source: path of an MP4, WebM or GIF file, or its bytes.
        title: heading above it.
        caption: small print below it.
        width: largest width on the page [pixels].
    """

    source: str | PathLike[str] | bytes
    title: str = ""
    caption: str = ""
    width: int = 720

    def read(self) -> bytes:
        """Return the bytes of the video.

        Raises:
            ReportError: the file cannot be read or is empty.
        """
        if isinstance(self.source, bytes):
            content, where = self.source, "the bytes given"
        else:
            where = f"'{self.source}'"
            try:
                content = Path(self.source).read_bytes()
            except OSError as error:
                raise ReportError(f"cannot read the video {where}: {error.strerror}") from error
        if not content:
            raise ReportError(f"the video {where} is empty: render it again")
        return content

    def markup(self, context: Context) -> "Markup":
        """Return the video element with the file inside."""
        from markupsafe import Markup

        content = self.read()
        kind = media_type(content)
        address = Markup(f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}")
        return context.render(
            "video.html", video=self, address=address, image=kind.startswith("image/")
        )


def media_type(content: bytes) -> str:
    """Return the media type from the first bytes of a file.

    Raises:
        ReportError: not an MP4, WebM or GIF file.
    """
    if content[4:8] == b"ftyp":
        return "video/mp4"
    if content[:4] == b"\x1a\x45\xdf\xa3":
        return "video/webm"
    if content[:6] in (b"GIF87a", b"GIF89a"):
        return "image/gif"
    raise ReportError(
        f"unsupported video format, first bytes {content[:8]!r}: give an MP4, WebM or GIF"
    )
