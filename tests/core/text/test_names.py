"""Names by their form, and where they occur."""

from __future__ import annotations

from structrag.text.names import contains


def test_names_are_whole_words() -> None:
    assert contains("She said AI and ai.", "AI") == 2
    assert contains("main trail", "AI") == 0
    assert contains("deep\n learning", "Deep Learning") == 1
    assert contains("我们用深度学习模型", "深度学习") == 1
    assert contains("anything", " ") == 0
