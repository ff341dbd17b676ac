"""Names by their form, and where they occur."""

from __future__ import annotations

from structrag.text.names import contains


def test_names_are_whole_words() -> None:
    assert contains("She said AI and ai.", "AI") == 2
    assert contains("main trail", "AI") == 0
    assert contains("deep\n learning", "Deep Learning") == 1
    assert contains("我们用深度学习模型", "深度学习") == 1
    assert contains("anything", " ") == 0


def test_names_are_found_however_they_are_written() -> None:
    assert contains("The CB\u2011300 and the cb\u2060-300", "CB-300") == 2
    assert contains("Cafe\u0301 O\u2019Brien\u2122", "caf\u00e9 o'brien") == 1
    assert contains("C++, C# and C", "C") == contains("C++, C# and C", "c++") == 1
