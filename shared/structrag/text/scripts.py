"""Scripts in which spaces do not part words."""

from __future__ import annotations

# For a character class of the package `regex`: Chinese, Japanese, Thai, Lao, Khmer, Burmese and the
# long vowel mark.
SPACELESS = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\u30fc"
# And Hangul, whose words carry their particles.
UNPARTED = rf"{SPACELESS}\p{{Hangul}}"
