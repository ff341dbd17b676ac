"""The HTML reader on broken and hostile markup: nothing is lost, nothing overflows, time stays
linear."""

from __future__ import annotations

import time

import pytest

from structrag.reading.html.reader import read_html


def read(source: str) -> str:
    return read_html(source)[0]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("a < b", "a < b"),
        ("a <b", "a <b"),
        ("a <", "a <"),
        ("</>a</ x>b", "ab"),
        ("<!DOCTYPE html><?xml v?>a<!bogus>b", "ab"),
        ('<a href="x>kept</a> too', "kept too"),
        ('<p title="a>b">x', "x"),
        ("<p title=it's>x</p> it's", "x\n\nit's"),
        ("a<!-- never closed <p>b", "a"),
        ("a<!-->b<!--->c<!-- d --!>e", "abce"),
        ("a<script>never closed <p>b", "a"),
        ("<title>never closed<p>b", "b"),
        ("<noscript>never closed<p>b", "never closed\n\nb"),
        ("<textarea>never closed<p>b", "never closed\n\nb"),
        ("a<template>never closed<p>b", "anever closed\n\nb"),
        ("<![CDATA[a<b]]> c", "a<b c"),
        ("<![CDATA[a> c", "c"),
        ("a\0b \ud800 c", "a\0b \ud800 c"),
        ("&amp &lt;&bogus; &#xD800; &notit; &", "& <&bogus; \ufffd ¬it; &"),
        ("<!DOCTYPE x [<!ENTITY e 'boom'>]>&e;", "]>&e;"),
        ("<H1> x </H1> <Table> <Tr> <Td> a </Td> </Tr> </Table> <P>b", "x\n\n| a |\n\nb"),
        ("</p></div></table></ul></h1>x", "x"),
        ("<?xml version='1.0'?><html><script src='x'/><p>kept</p></html>", "kept"),
    ],
)
def test_broken_markup_keeps_its_text(source: str, text: str) -> None:
    assert read(source) == text


@pytest.mark.parametrize(
    "source",
    [
        "<div>" * 10_000 + "x" + "</div>" * 10_000,
        "<b><ul><li>" * 10_000 + "x",
        "<table><tr><td>" * 10_000 + "x",
        "<h1><blockquote><section>" * 10_000 + "x",
        "<template>" * 10_000 + "x",
    ],
)
def test_deep_nesting(source: str) -> None:
    assert "x" in read(source)


@pytest.mark.parametrize(
    "piece",
    [
        "<a ",
        '<a x=">" ',
        "<!-- ",
        "<![CDATA[",
        "&#",
        "<nav><nav></nav>",
        "<noscript>",
        "<ul></ol>",
        "word ",
        "<h1>a<p>",
    ],
)
def test_time_is_linear_on_hostile_input(piece: str) -> None:
    source = piece * (1_000_000 // len(piece))
    start = time.process_time()
    read_html(source + ">", drop_navigation=True)
    assert time.process_time() - start < 20  # about 1 s; a quadratic reader needs hours
