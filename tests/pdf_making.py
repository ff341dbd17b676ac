"""PDF files for tests, made with reportlab."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest

from structrag.reading.pdf.pages import Page

WIDTH, HEIGHT = 595.0, 842.0
WORDS = (  # noqa: SIM905
    "the meter counts each pulse and stores a value that the service reads at night over a wire"
).split(" ")


def made(draw: Callable[[Any], None], **options: Any) -> bytes:
    """The file that a function draws. Without what draws and reads it the test is skipped."""
    pytest.importorskip("pypdfium2", reason="the extra 'pdf' is not installed")
    pytest.importorskip("reportlab")
    from reportlab.pdfgen.canvas import Canvas

    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=(WIDTH, HEIGHT), invariant=True, **options)
    draw(canvas)
    canvas.save()
    return buffer.getvalue()


def prose(seed: int, words: int) -> str:
    return (
        " ".join(
            f"{WORDS[(seed * 7 + i * i) % len(WORDS)]}{seed}{i}" for i in range(words)
        )
        + "."
    )


def wrapped(text: str, size: float, width: float, font: str = "Helvetica") -> list[str]:
    from reportlab.lib.utils import simpleSplit

    return list(simpleSplit(text, font, size, width))


def write(
    canvas: Any,
    lines: list[str],
    x: float,
    y: float,
    size: float = 10,
    font: str = "Helvetica",
) -> float:
    """Write lines downwards from y; the y below the last one."""
    canvas.setFont(font, size)
    for line in lines:
        canvas.drawString(x, y, line)
        y -= 1.2 * size
    return y


def texts(page: Page) -> list[str]:
    return [line.text for line in page.lines]


def image(canvas: Any, width: float = WIDTH, height: float = HEIGHT) -> None:
    from PIL import Image
    from reportlab.lib.utils import ImageReader

    canvas.drawImage(ImageReader(Image.new("L", (40, 60), 200)), 0, 0, width, height)


def pictured(canvas: Any) -> None:
    """A picture between two lines."""
    write(canvas, ["The pump is shown here."], 60, 780)
    image(canvas, 144, 216)
    write(canvas, ["It moves water."], 60, 300)


def manual(canvas: Any) -> None:
    for number in range(1, 6):
        write(canvas, ["Acme operating manual"], 60, 810, 8)
        write(canvas, [f"Page {number} of 5"], 280, 25, 8)
        y = 760.0
        if number == 1:
            y = write(canvas, ["Acme Meter 300"], 60, y, 24, "Helvetica-Bold") - 20
        y = (
            write(
                canvas,
                [f"{number} Chapter about item {number}"],
                60,
                y,
                16,
                "Helvetica-Bold",
            )
            - 10
        )
        y = write(canvas, wrapped(prose(number, 60), 10, 470), 60, y) - 10
        y = (
            write(
                canvas, [f"{number}.1 Details of {number}"], 60, y, 13, "Helvetica-Bold"
            )
            - 8
        )
        y = write(canvas, ["It is an impor-", "tant instrument."], 60, y) - 10
        for item in ("first thing", "second thing"):
            y = write(canvas, [f"• {item} of {number}"], 70, y)
        canvas.showPage()


def pump_page(canvas: Any) -> None:
    """A title, a heading and a line below each."""
    for y, size, line in (
        (780, 20, "Pump"),
        (740, 10, "It moves water from the tank."),
        (700, 14, "1 Safety"),
        (680, 10, "Switch it off."),
    ):
        write(canvas, [line], 60, y, size)
