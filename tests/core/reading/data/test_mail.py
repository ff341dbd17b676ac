import base64
from email.message import EmailMessage

import pytest
from fixture_cases import examples

from structrag.errors import InvalidDocument
from structrag.reading.data.mail import to_markdown


def test_the_subject_is_the_title_and_the_html_body_is_read():
    message = EmailMessage()
    message["From"] = "a@example.org"
    message["Subject"] = "Pumpe fällt aus"
    message.set_content("Plain text.")
    message.add_alternative("<h1>Report</h1><p>HTML text.</p>", subtype="html")
    message.add_attachment(b"\0\1\2", "application", "pdf", filename="seals.pdf")
    draft = to_markdown(message.as_bytes(), "mail.eml")
    assert draft.title == "Pumpe fällt aus"
    assert draft.text == (
        "# Pumpe fällt aus\n\n- From: a@example.org\n\n## Report\n\nHTML text.\n\n"
        "- Attached: seals.pdf\n"
    )


def test_a_plain_body_keeps_quotes_and_is_no_markup():
    data = b"From: a@b.org\n\n# not a heading\n\n> quoted\nanswer\n"
    text = to_markdown(data).text
    assert text == "- From: a@b.org\n\n\\# not a heading\n\n> quoted\nanswer\n"


def test_a_saved_page_is_the_page():
    data = (
        b'From: <Saved by Blink>\nContent-Type: multipart/related; boundary="x"\n\n'
        b"--x\nContent-Type: text/html; charset=utf-8\n"
        b"Content-Transfer-Encoding: quoted-printable\n\n"
        b"<title>Page</title><h1>=C3=BCber</h1><p>the filter</p>\n"
        b"--x\nContent-Type: image/png\n\nAAAA\n--x--\n"
    )
    draft = to_markdown(data, "page.mhtml")
    assert (draft.title, draft.text) == ("Page", "# über\n\nthe filter\n")


@pytest.mark.parametrize("data", [b"", b"Just text.\n", b"%PDF-1.7\n"])
def test_what_is_no_message_is_refused_by_name(data):
    with pytest.raises(InvalidDocument, match=r"mail\.eml"):
        to_markdown(data, "mail.eml")


def test_parts_nested_without_end_do_no_harm():
    head = b"".join(
        b'Content-Type: multipart/mixed; boundary="%d"\n\n--%d\n' % (n, n)
        for n in range(3_000)
    )
    with pytest.raises(InvalidDocument, match="too many nested parts"):
        to_markdown(b"From: a@b.org\n" + head + b"\ntext\n")


def test_a_page_that_says_less_than_the_plain_body_is_not_read():
    message = EmailMessage()
    message["Subject"] = "Seals"
    message.set_content("All the seals of the pump must be changed on Monday.")
    message.add_alternative("<p>on Monday</p>", subtype="html")
    assert to_markdown(message.as_bytes()).text == (
        "# Seals\n\nAll the seals of the pump must be changed on Monday.\n"
    )


@pytest.mark.parametrize(
    "label",
    ["ISO-8859-1", "gb2312", "Shift_JIS", "iso-2022-jp", "koi8-r", "utf-7", "UTF-16"],
)
def test_a_body_is_read_in_the_charset_that_it_names(label):
    text = {"ISO-8859-1": "Düse", "koi8-r": "Насос"}.get(label, "水")
    head = f"From: a@b.org\nContent-Type: text/plain; charset={label}\n"
    head += "Content-Transfer-Encoding: base64\n\n"
    data = head.encode() + base64.b64encode(text.encode(label))
    assert to_markdown(data).text == f"- From: a@b.org\n\n{text}\n"


@examples
def test_a_charset_that_documents_do_not_have_is_not_used(label):
    head = f'From: a@b.org\nContent-Type: text/plain; charset="{label}"\n\n'
    data = head.encode() + "Düse \\u0041 x-80".encode()
    assert "Düse" in to_markdown(data).text and "u0041 x-80" in to_markdown(data).text


@pytest.mark.parametrize(
    ("header", "shown"),
    [
        ("Subject: =?utf-8?q?Gr=C3=B6?= =?UTF-8?b?w59l?=", "# Größe"),
        ("Subject: =?utf-8?q?=C3?=\n =?utf-8?q?=BCber?=", "# über"),
        ("Subject: =?gb2312?b?y667w7M=?= a", "# 水幻\ufffd a"),
        ("Subject: =?rot13?q?nop?=", "# nop"),
        ("Subject: =?unicode_escape?q?=5Cx41?=", "# \\\\x41"),
        ("Subject: Gr\xf6\xdfe", "# Größe"),
        ("From: =?utf-8?q?B=C3=B6ll=2C_A=2E?= <a@b.org>", "- From: Böll, A. <a@b.org>"),
        ("To: a@b.org,\n c@d.org", "- To: a@b.org, c@d.org"),
        (f"To: {'(' * 90_000}", f"- To: {'(' * 90_000}"),
        (f"Date: Mon, 1 Jan {'9' * 5_000}", f"- Date: Mon, 1 Jan {'9' * 5_000}"),
        (f"Cc: {'=?utf-8?q?a?= ' * 70_000}", f"- Cc: {'a' * 70_000}"),
    ],
)
def test_headers_are_shown_as_they_stand(header, shown):
    data = f"MIME-Version: 1.0\n{header}\n\nText.\n".encode("latin-1", "replace")
    assert to_markdown(data).text.startswith(shown)


PART = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=x\n\n--x\n"


@pytest.mark.parametrize(
    ("header", "file"),
    [
        ("attachment; filename*=gbk''%CB%AE.txt", "水.txt"),
        ("attachment; filename*=rot13''a%E9.txt", "aé.txt"),
        ("attachment; filename*0=a; filename*1=b.txt", "ab.txt"),
        ("attachment; filename*=a; filename*0=b", "text/plain"),
        (f"attachment; filename*{'9' * 5_000}*=a", "text/plain"),
        ("attachment; " + "; ".join(f"a{n}=b" for n in range(20_000)), "text/plain"),
        ('attachment; filename="=?utf-8?q?=C3=BC?=.txt"', "ü.txt"),
    ],
)
def test_parameters_of_any_kind_do_no_harm(header, file):
    data = f"{PART}Content-Disposition: {header}\n\na\n--x--\n".encode()
    assert f"- Attached: {file}" in to_markdown(data).text


@pytest.mark.parametrize(
    "header",
    [
        "multipart/mixed; boundary*=a; boundary*0=b",
        "text/plain; charset*=a; charset*0=b",
        f"text/plain; charset*{'9' * 5_000}=a",
        "text/plain; charset=rot13",
        "text/plain; charset=zlib",
        "text/plain; charset=idna",
        "(" * 9_000,
    ],
)
def test_types_of_any_kind_are_read_or_refused(header):
    data = f"Subject: A\nContent-Type: {header}\n\nGröße\n".encode()
    try:
        text = to_markdown(data, "mail.eml").text
    except InvalidDocument as error:
        assert "mail.eml" in str(error)
    else:
        assert text == "# A\n\nGröße\n"


def test_folded_types_are_counted_as_well():
    part = "Content-Type:\n multipart/mixed; boundary=b\n\n--b\n"
    with pytest.raises(InvalidDocument, match="too many nested parts"):
        to_markdown(f"From: a@b.org\n{part * 300}".encode())
