"""What stands on top of a page: filled forms, typed text, comments."""

from __future__ import annotations

from typing import Any

from pdf_making import made, texts, write

from structrag.reading.pdf.document import pdf_document
from structrag.reading.pdf.layout import markdown_of_pages
from structrag.reading.pdf.reader import read_pdf

REASON = "It leaks.\nA new one is needed."


def form(canvas: Any) -> None:
    fields = canvas.acroForm
    labels = "Name:", "Reason:", "Model:", "Extras:", "Sex:"
    for y, label in zip((700, 670, 600, 570, 510), labels, strict=True):
        write(canvas, [label], 60, y, 11)
    fields.textfield("Ann Doe", name="name", x=150, y=696, width=200, height=18)
    fields.textfield(
        REASON,
        fieldFlags="multiline",
        name="why",
        x=150,
        y=620,
        width=200,
        height=60,
    )
    models = [("Compact 200", "c2"), ("Compact 300", "c3")]
    fields.choice(
        value="c3", options=models, name="model", x=150, y=596, width=120, height=16
    )
    extras = [("Hose", "h"), ("Filter", "f"), ("Box", "b")]
    fields.listbox(
        value=["h", "b"],
        options=extras,
        fieldFlags="multiSelect",
        name="extras",
        x=150,
        y=540,
        width=120,
        height=44,
    )
    for i, sex in enumerate(("male", "female")):
        x = 150 + 90 * i
        write(canvas, [sex], x + 20, 510, 11)
        fields.radio(value=sex, selected=bool(i), name="sex", x=x, y=507, size=14)
    for i, text in enumerate(("I agree to it.", "Send me news.")):
        write(canvas, [text], 80, 480 - 20 * i, 11)
        fields.checkbox(checked=not i, name=f"box {i}", x=60, y=477 - 20 * i, size=14)
    fields.textfield(
        "secret", fieldFlags="password", name="word", x=60, y=420, width=90, height=16
    )
    fields.textfield("beyond", name="x", x=900, y=420, width=90, height=16)


def test_a_filled_form_is_read_with_its_values() -> None:
    assert pdf_document(made(form)).text == (
        "Name: Ann Doe\n\nReason: It leaks.\n\nA new one is needed.\n\nModel: Compact 300\n\n"
        "Extras: Hose, Box\n\nSex: ☐ male ☒ female\n\n☒ I agree to it.\n\n☐ Send me news.\n"
    )


def test_typed_text_fills_the_blanks_it_stands_on_and_comments_are_counted() -> None:
    def draw(canvas: Any) -> None:
        write(canvas, ["Name: ______________ Date: ______________ of 2026"], 60, 700)
        canvas.freeTextAnnotation(
            "Ann Doe", "0 g /Helv 11 Tf", Rect=(92, 696, 160, 710), relative=0
        )
        canvas.freeTextAnnotation(
            "1 May", "0 g /Helv 11 Tf", Rect=(205, 696, 260, 710), relative=0
        )
        canvas.freeTextAnnotation(
            "Urgent", "0 g /Helv 11 Tf", Rect=(60, 650, 120, 664), relative=0
        )
        canvas.textAnnotation("Is this right?", Rect=(300, 650, 320, 670), relative=0)

    pages = read_pdf(made(draw))
    assert texts(pages[0]) == ["Name: Ann Doe Date: 1 May of 2026", "Urgent"]
    notes = markdown_of_pages(pages).uncertain
    assert notes == ("Page 1 has 1 comment: left out.",)
