"""Pictures of PDFs as image blocks, and as files."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from fixture_cases import examples
from pdf_making import made, write

from structrag import parse, read_file
from structrag.errors import InvalidParameter
from structrag.reading.pdf.document import pages_of, pdf_document
from structrag.reading.pdf.reader import read_pdf
from structrag.records import Block, Document

pytest.importorskip("pypdfium2", reason="the extra 'pdf' is not installed")
pytest.importorskip("reportlab")

ABOVE = ["The pump moves the water up to the tank.", "A valve keeps it there."]
BELOW = ["The tank feeds the house by its own weight.", "Nothing else is needed."]
CAPTION = "Figure 3: The way of the water"


def picture(color: str = "red", size: tuple[int, int] = (30, 20)) -> Any:
    from PIL import Image
    from reportlab.lib.utils import ImageReader

    return ImageReader(Image.new("RGB", size, color))


def page(
    canvas: Any,
    boxes: Sequence[tuple[float, float, float, float]],
    caption: tuple[str, float] | None = None,
) -> None:
    """Text above and below a gap from y 650 to 450; pictures by x, y, width and height."""
    write(canvas, ABOVE, 72, 700)
    for x, y, width, height in boxes:
        canvas.drawImage(picture(), x, y, width, height)
    if caption:
        write(canvas, [caption[0]], 72, caption[1])
    write(canvas, BELOW, 72, 400)
    canvas.showPage()


def blocks_of(document: Document) -> list[Block]:
    outline = parse(document)
    return [block for section in outline.sections for block in outline.blocks(section)]


def blocks(data: bytes) -> list[str]:
    """The texts of the blocks, those that are images behind their kind."""
    document = pdf_document(data)
    found = []
    for block in blocks_of(document):
        text = document.text[block.text_start : block.end].strip()
        found.append(f"image {text}" if block.kind == "image" else text)
    return found


def of_page(*arguments: Any) -> list[str]:
    return blocks(made(lambda canvas: page(canvas, *arguments)))


@pytest.mark.parametrize("y", [435, 655])
def test_a_picture_stands_before_its_caption(y: float) -> None:
    found = of_page([(72, 450, 300, 200)], (CAPTION, y))
    at = found.index("image ![Figure 3]()")
    assert found[at + 1] == CAPTION
    assert found[at - 1].endswith("keeps it there.")


@examples
def test_a_picture_without_a_place_changes_nothing(
    boxes: list[tuple[float, float, float, float]], caption: tuple[str, float] | None
) -> None:
    assert of_page(boxes, caption) == of_page([], caption)


def test_a_logo_on_every_page_is_no_picture_of_the_text() -> None:
    def draw(canvas: Any, *, pages: int) -> None:
        for _ in range(pages):
            page(canvas, [(72, 450, 300, 200)], (CAPTION, 435))

    assert [read.pictures for read in read_pdf(made(lambda c: draw(c, pages=3)))] == [
        (),
        (),
        (),
    ]
    assert all(read.pictures for read in read_pdf(made(lambda c: draw(c, pages=2))))


def test_strips_that_touch_are_one_picture() -> None:
    strips = [(72, 450 + 20 * i, 300, 20) for i in range(10)]
    (read,) = read_pdf(made(lambda canvas: page(canvas, strips)))
    (shown,) = read.pictures
    assert [round(side) for side in shown.box] == [72, 842 - 650, 372, 842 - 450]


def test_pictures_side_by_side_share_a_caption_and_two_below_each_other_do_not() -> (
    None
):
    def draw(canvas: Any) -> None:
        canvas.drawImage(picture("red"), 72, 640, 200, 100)
        canvas.drawImage(picture("blue"), 300, 640, 200, 100)
        write(canvas, ["Figure 1: Two pumps of a kind"], 72, 625)
        canvas.drawImage(picture("green"), 72, 500, 200, 100)
        write(canvas, ["Figure 2: A pump of another kind"], 72, 485)

    assert blocks(made(draw)) == [
        "image ![Figure 1]()",
        "Figure 1: Two pumps of a kind",
        "image ![Figure 2]()",
        "Figure 2: A pump of another kind",
    ]


def tagged(alt: str, *, boxes: str = "300 0 0 200 72 450") -> bytes:
    """A PDF whose structure has a figure with an alternative text."""
    content = (
        f"/P <</MCID 0>> BDC BT /F 10 Tf 72 700 Td ({ABOVE[0]}) Tj ET EMC "
        f"/Figure <</MCID 1>> BDC q {boxes} cm /I Do Q EMC "
        f"/P <</MCID 2>> BDC BT /F 10 Tf 72 400 Td ({BELOW[0]}) Tj ET EMC"
    )
    objects = [
        "<</Type/Catalog/Pages 2 0 R/MarkInfo<</Marked true>>/StructTreeRoot 6 0 R>>",
        "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R/StructParents 0"
        "/Resources<</Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>"
        "/XObject<</I 5 0 R>>>>>>",
        f"<</Length {len(content)}>>stream\n{content}\nendstream",
        "<</Type/XObject/Subtype/Image/Width 1/Height 1/BitsPerComponent 8"
        "/ColorSpace/DeviceGray/Length 1>>stream\nx\nendstream",
        "<</Type/StructTreeRoot/K[7 0 R 8 0 R 9 0 R]"
        "/ParentTree<</Nums[0[7 0 R 8 0 R 9 0 R]]>>>>",
        "<</Type/StructElem/S/P/P 6 0 R/Pg 3 0 R/K 0>>",
        f"<</Type/StructElem/S/Figure/P 6 0 R/Pg 3 0 R/K 1/Alt({alt})>>",
        "<</Type/StructElem/S/P/P 6 0 R/Pg 3 0 R/K 2>>",
    ]
    data = "%PDF-1.7\n"
    places = []
    for number, body in enumerate(objects, start=1):
        places.append(len(data))
        data += f"{number} 0 obj\n{body}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    count = len(objects) + 1
    data += f"xref\n0 {count}\n0000000000 65535 f \n{table}"
    data += (
        f"trailer<</Size {count}/Root 1 0 R>>\nstartxref\n{data.index('xref')}\n%%EOF"
    )
    return data.encode("latin-1")


def test_the_alternative_text_of_the_tags() -> None:
    assert blocks(tagged("A pump [old]\n and `its` tank")) == [
        ABOVE[0],
        "image ![A pump (old) and \\`its\\` tank]()",
        BELOW[0],
    ]
    assert blocks(tagged("")) == blocks(tagged("a sign", boxes="30 0 0 20 72 450"))


def turned(draw: Callable[[Any], None]) -> Callable[[Any], None]:
    def draw_turned(canvas: Any) -> None:
        canvas.setPageRotation(90)
        canvas.translate(595, 0)
        canvas.rotate(90)
        draw(canvas)

    return draw_turned


@pytest.mark.parametrize("turn", [False, True])
def test_pictures_as_files(tmp_path: Path, *, turn: bool) -> None:
    from PIL import Image

    def draw(canvas: Any) -> None:
        write(canvas, ABOVE, 72, 500)
        canvas.drawImage(picture("red"), 72, 350, 144, 72)
        canvas.drawImage(picture("blue"), 300, 350, 72, 72)
        write(canvas, BELOW, 72, 300)

    file = tmp_path / "a pump.pdf"
    file.write_bytes(made(turned(draw) if turn else draw))
    folder = tmp_path / "pictures (1)"
    document = read_file(file, images_to=folder)
    first, second = (folder / f"a pump-page-1-picture-{k}.png" for k in (1, 2))
    assert sorted(folder.iterdir()) == [first, second]
    for path, color, size in (
        (first, (255, 0, 0), (400, 200)),
        (second, (0, 0, 255), (200, 200)),
    ):
        with Image.open(path) as image:
            assert all(abs(a - b) <= 2 for a, b in zip(image.size, size, strict=True))
            assert image.getpixel((image.width // 2, image.height // 2)) == color
    kinds = [block.kind for block in blocks_of(document)]
    assert kinds == ["paragraph", "image", "image", "paragraph"]
    assert "pictures%20%281%29/a%20pump-page-1-picture-1.png)" in document.text
    apart = read_file(file, isolated=True, images_to=folder)
    assert apart.text == document.text
    assert pdf_document(file).text == document.text.replace(
        document.text[document.text.index("![") : document.text.index("The tank")], ""
    )


def test_files_of_bytes_are_named_by_page_and_number(tmp_path: Path) -> None:
    data = made(lambda canvas: page(canvas, [(72, 450, 300, 200)], (CAPTION, 435)))
    pdf_document(data, images_to=str(tmp_path))
    (file,) = tmp_path.iterdir()
    assert file.name == "page-1-picture-1.png"
    head = file.read_bytes()[16:24]
    assert struct.unpack(">II", head) == pytest.approx((834, 556), abs=2)


def test_what_is_no_folder_is_refused(tmp_path: Path) -> None:
    data = made(lambda canvas: page(canvas, [(72, 450, 300, 200)]))
    file = tmp_path / "file"
    file.write_text("x")
    for folder in (file, 3):
        with pytest.raises(InvalidParameter, match="images_to must be"):
            read_pdf(data, images_to=folder)  # type: ignore[arg-type]
    with pytest.raises(
        InvalidParameter, match="images_to works only with reader='layout'"
    ):
        pages_of(data, reader=lambda _: "text", images_to=tmp_path)
