import pytest

from structrag.errors import InvalidDocument
from structrag.reading.data.subtitles import to_markdown

VTT = b"""WEBVTT - Talk

NOTE not shown

intro
00:01.000 --> 00:02.000 align:start
<v Ann>The <i>filter</i> &amp; pump

00:02.100 --> 00:03.000
<v Ann>are new.

00:03.100 --> 00:04.000
<v Bob># Why?

01:12:31.000 --> 01:12:32.000
<v Bob>Later.
"""


def test_speakers_and_pauses_begin_paragraphs():
    draft = to_markdown(VTT)
    assert draft.title == "Talk"
    assert draft.text == (
        "Ann: The filter & pump are new.\n\nBob: # Why?\n\nBob: Later.\n"
    )
    assert [label for _, label in draft.places] == ["00:00:01", "00:00:03", "01:12:31"]
    assert all(
        draft.text[start:].startswith(("Ann", "Bob")) for start, _ in draft.places
    )


def test_srt_and_rolling_captions():
    data = (
        b"1\r\n00:00:01,000 --> 00:00:02,000\r\n# one\r\n\r\n"
        b"2\r\n00:00:02,000 --> 00:00:03,000\r\n# one\r\n{\\an8}two\r\n"
        b"3\r\n00:00:03,000 --> 00:00:04,000\r\nthree\r\n"
    )
    assert to_markdown(data).text == "\\# one two three\n"


@pytest.mark.parametrize("data", [b"", b"WEBVTT\n", b"Some text.\n", b"1\n2\n3\n" * 9])
def test_without_cues_it_is_refused(data):
    with pytest.raises(InvalidDocument, match=r"talk\.vtt"):
        to_markdown(data, "talk.vtt")
