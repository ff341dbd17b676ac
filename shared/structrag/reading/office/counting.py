"""Numbers as Word and OpenDocument show them."""

from __future__ import annotations

_ROMAN = (
    (1000, "m"),
    (900, "cm"),
    (500, "d"),
    (400, "cd"),
    (100, "c"),
    (90, "xc"),
    (50, "l"),
    (40, "xl"),
    (10, "x"),
    (9, "ix"),
    (5, "v"),
    (4, "iv"),
    (1, "i"),
)
_HAN = ("", *"一二三四五六七八九")
_HAN_FORMS = frozenset(
    f"{language}{form}"
    for language in ("chinese", "japanese", "taiwanese")
    for form in ("Counting", "CountingThousand")
)


def counted(count: int, form: str) -> str:
    """A number in one of Word's formats; decimal where it is not known.

    Example:
        >>> [counted(21, form) for form in ("upperRoman", "lowerLetter", "chineseCounting")]
        ['XXI', 'u', '二十一']
    """
    if form in ("none", "bullet"):
        return ""
    if form == "decimalZero":
        return f"{count:02d}"
    if form.endswith("Letter") and 0 < count <= 26 * 30:
        text = chr(97 + (count - 1) % 26) * ((count - 1) // 26 + 1)
    elif form in _HAN_FORMS and 0 < count < 100:
        tens, ones = divmod(count, 10)
        text = (_HAN[tens] if tens > 1 else "") + ("十" if tens else "") + _HAN[ones]
    elif form.endswith("Roman") and 0 < count < 4000:
        text, left = "", count
        for worth, sign in _ROMAN:
            text += sign * (left // worth)
            left %= worth
    else:
        return str(count)
    return text.upper() if form.startswith("upper") else text
