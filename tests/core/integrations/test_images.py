"""Images of documents: what is read, and what is not."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import pytest
from fixture_cases import examples

from structrag.errors import InvalidDocument
from structrag.integrations.images import ImageSource, open_image

PIXELS = b"\x89PNG of a pump"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of documents with images, beside a file that is none of theirs."""
    images = tmp_path / "docs" / "images"
    images.mkdir(parents=True)
    for name in ("pump.png", "pump.jpeg", "pump"):
        (images / name).write_bytes(PIXELS)
    (tmp_path / "secret.png").write_bytes(b"secret")
    return tmp_path / "docs"


@pytest.mark.parametrize("address", ["http://x.org/a.png", "HTTPS://x.org/a"])
def test_an_address_of_the_web_stays_as_it_is(address: str) -> None:
    assert open_image(address, None) == ImageSource(url=address)


@examples
def test_an_image_written_as_data_is_decoded(kind: str, media_type: str) -> None:
    address = f"data:{kind},{b64encode(PIXELS).decode()}"
    source = open_image(address, None)
    assert (source.url, source.data, source.media_type) == ("", PIXELS, media_type)


def test_data_that_is_no_base64_is_said_by_its_beginning() -> None:
    address = "data:image/png;base64," + "a" * 101
    with pytest.raises(InvalidDocument) as error:
        open_image(address, None)
    assert f"The image {address[:40]!r}... is not valid base64" in str(error.value)


@examples
def test_a_file_in_the_folder_is_read(
    folder: Path, address: str, media_type: str
) -> None:
    source = ImageSource(data=PIXELS, media_type=media_type)
    assert open_image(address, folder) == source
    assert open_image(str(folder / address), str(folder)) == source
