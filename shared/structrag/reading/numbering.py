"""Numbers of headings: how they look, which follow which, and how deep they stand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

Value = tuple[float, ...]  # 5a is 5.01

# Words before numbers, by what they number, in the languages whose sentences are known.
_LABELS = {
    "part": "Part Book Partie Livre Titre Teil Buch Titel Parte Libro Livro Título Titolo Deel "
    "Boek Часть Книга Раздел Частина Część Dział Část Hlava Del Avdelning Osa Kısım Μέρος Phần "
    "الجزء الباب باب بخش भाग חלק",
    "chapter": "Chapter Chap Chapitre Kapitel Kap Capítulo Capitulo Capitolo Capo Cap Hoofdstuk "
    "Глава Розділ Rozdział Kapitola Kapittel Luku Peatükk Poglavje Κεφάλαιο Bölüm Capitolul BAB "
    "Chương الفصل فصل अध्याय פרק",
    "section": "Section Sec Sección Seção Secção Sezione Abschnitt Afdeling Paragraaf Paragraf "
    "Avsnitt Afsnit Oddział Oddíl Jagu Odsek Ενότητα Bagian Mục القسم अनुभाग",
    "§": "§",
    "article": "Rule Regulation Article Artículo Articulo Artigo Articolo Artikel Art Статья "
    "Стаття Artykuł Článek "
    "Artikkel Artikla Člen Άρθρο Madde Articolul Pasal Điều المادة ماده धारा अनुच्छेद סעיף",
    "clause": "Clause Item Klausel Clausola Cláusula Klauzula Klausul Пункт",
    "outer": "Exhibit Schedule Appendix Annex Attachment Annexe Anexo Apéndice Apêndice Allegato "
    "Appendice Anlage Anhang Bijlage Приложение Załącznik Příloha Bilag Bilaga Vedlegg Liite Lisa "
    "Παράρτημα Priloga ملحق",
    "item": "Step Lesson Unit Module Phase Stage Exercise Question Session Task TOP "
    "Schritt Übung Frage Lektion Aufgabe Étape Leçon Paso Lección Passo "
    "Lezione Lição Stap Les Шаг Урок Krok Trin Steg Lekcja",
}
_FAMILIES = {
    form: family
    for family, words in _LABELS.items()
    for word in words.split()
    for form in (word, word.upper())
}
_WORDS = [  # from one on
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty",
    "premier deux trois quatre cinq six sept huit neuf dix onze douze",
    "première deuxième troisième quatrième cinquième sixième septième huitième neuvième dixième",
    "eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
    "uno dos tres cuatro cinco seis siete ocho nueve diez once doce",
    "primero segundo tercero cuarto quinto sexto séptimo octavo noveno décimo",
    "primo secondo terzo quarto quinto sesto settimo ottavo nono decimo",
    "uno due tre quattro cinque sei sette otto nove dieci",
    "primeiro segundo terceiro quarto quinto sexto sétimo oitavo nono décimo",
    "um dois três quatro cinco seis sete oito nove dez",
    "een twee drie vier vijf zes zeven acht negen tien",
    "первая вторая третья четвёртая пятая шестая седьмая восьмая девятая десятая",
    "الأول الثاني الثالث الرابع الخامس السادس السابع الثامن التاسع العاشر",
    "اول دوم سوم چهارم پنجم ششم هفتم هشتم نهم دهم",
]
_WORD_VALUES = {
    word: value for line in _WORDS for value, word in enumerate(line.split(), start=1)
}
_UNITS = {  # behind a number: 第一章, 제1장
    **dict.fromkeys(("编", "編", "篇", "部", "部分", "편", "부"), "part"),
    **dict.fromkeys(("章", "장"), "chapter"),
    **dict.fromkeys(("节", "節", "절"), "section"),
    **dict.fromkeys(("条", "條", "조"), "article"),
    **dict.fromkeys(("课", "課", "讲", "회"), "item"),
}
_ORDERED = {  # behind a number or an ordinal: 2. Abschnitt, Erster Teil, 1 kap., 3 §
    form: family
    for word, family in (
        *(("Teil", "part"), ("Buch", "part"), ("rész", "part"), ("osa", "part")),
        *(("Hauptstück", "chapter"), ("Kapitel", "chapter"), ("Abschnitt", "section")),
        *(("kap", "chapter"), ("luku", "chapter"), ("fejezet", "chapter"), ("§", "§")),
    )
    for form in (word, word.upper(), word.capitalize())
}
_STEMS = "Erst Zweit Dritt Viert Fünft Sechst Siebt Acht Neunt Zehnt Elft Zwölft"
_ORDINALS = {
    form: value
    for value, stem in enumerate(_STEMS.split(), start=1)
    for word in (f"{stem}e", f"{stem}er", f"{stem}es")
    for form in (word, word.upper())
}
_HAN = "一二三四五六七八九"
_HAN_UNITS = {"十": 10, "百": 100, "千": 1000}


def _any_of(words: object) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))  # type: ignore[call-overload]


_SPACE = r"[ \t\u00a0\u2007\u202f\u3000]*"
MARK = re.compile(
    rf"""
    (?:
      (?P<ordinal>\d{{1,3}}|[IVXLC]{{1,7}}|{_any_of(_ORDINALS)})\.?{_SPACE}
      (?P<ordered>{_any_of(_ORDERED)})(?![^\W\d_])
    | (?:(?P<label>(?:{_any_of(_FAMILIES)})(?![^\W\d_]))\.?{_SPACE})?
      (?P<number>["“]?
          (?:(?(label)\d{{1,5}}(?:[.．-]\d{{1,3}}){{0,5}}[a-zA-Z]?|\d{{1,2}}(?:[.．]\d{{1,3}}){{0,5}})
            |[A-Z](?:\.\d{{1,2}}){{1,4}}|[IVXLC]{{1,7}}|[A-Z]
            |(?(label)(?i:{_any_of(_WORD_VALUES)})|(?!)))
          ["”]?)(?(label)(?:er|re|ère|\.?[ºª°])?)
    | [第제]{_SPACE}(?P<count>[\d{_HAN}零〇两{"".join(_HAN_UNITS)}]{{1,7}}){_SPACE}
      (?P<unit>{_any_of(_UNITS)})
    | (?P<han>[{_HAN}十]{{1,3}})(?=、)
    | [（(](?P<boxed>[{_HAN}十]{{1,3}})(?=[）)])
    )
    (?P<dot>[.)．、）]?)
    (?:{_SPACE}[:：–—-](?=\s|$)|(?=\s|$)|(?<=\d[.．、)])(?=[A-Z\u0370-\uffff])
      |(?<=[章节節条條編编部장절조）、])|(?<=\d：)){_SPACE}""",
    re.VERBOSE,
)
_ROMAN = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}
_LETTER_VALUES: dict[Value, int] = {(1,): 9, (5,): 22, (10,): 24}  # of Roman I, V, X


class Number(NamedTuple):
    """What a heading's number says. The kind is empty for what is no heading's number."""

    kind: str  # "upper", "outer", "number", "letter", "item" or ""
    family: str  # numbers of one family are one sequence
    value: Value


_NONE = Number("", "", ())


def roman_value(numeral: str) -> int:
    """The value of a Roman number: 4 for "iv" and "IV"."""
    values = [_ROMAN[letter] for letter in numeral.upper()]
    return sum(
        -value if value < max(values[i:]) else value for i, value in enumerate(values)
    )


def read_number(mark: re.Match[str]) -> Number:
    """The number of a `MARK`."""
    if mark["ordered"]:
        family = _ORDERED[mark["ordered"]]
        return Number(
            _KINDS.get(family, "number"), family, (_ordinal_value(mark["ordinal"]),)
        )
    if mark["unit"]:
        family = _UNITS[mark["unit"]]
        return Number(
            _KINDS.get(family, "number"), family, (_han_value(mark["count"]),)
        )
    if mark["han"] or mark["boxed"]:
        value = (_han_value(mark["han"] or mark["boxed"]),)
        return Number("letter", "一、" if mark["han"] else "（一）", value)
    shown = mark["number"].strip('"“”')
    family = _FAMILIES.get(mark["label"] or "", "")
    if family == "outer":
        return Number("" if "." in shown else "outer", family, ())
    kind = _KINDS.get(family, "number")
    if shown.casefold() in _WORD_VALUES and family:
        return Number(kind, family, (_WORD_VALUES[shown.casefold()],))
    if shown[0].isdigit():
        return Number(kind, family or _arabic(mark), _arabic_value(shown))
    return _number_in_letters(mark, shown, family)


_KINDS = {"part": "upper", "chapter": "upper", "article": "upper", "item": "item"}


def is_labelled(mark: re.Match[str]) -> bool:
    """Whether a word says what is numbered: Chapter 2, 第二章, 2. Kapitel."""
    return bool(mark["label"] or mark["unit"] or mark["ordered"])


def is_marked(mark: re.Match[str]) -> bool:
    """Whether more than a bare number says that it is one: a label, a dot, several components."""
    return (
        not mark["number"]
        or bool(mark["dot"] or mark["label"])
        or "." in mark["number"]
    )


def _arabic(mark: re.Match[str]) -> str:
    return "1)" if mark["dot"] == ")" else "1."


def _arabic_value(shown: str) -> Value:
    suffix = shown[-1] if shown[-1].isalpha() else ""
    parts = re.split("[.．-]", shown.removesuffix(suffix))
    value: list[float] = [int(part) for part in parts]
    if len(value) > 1 and value[-1] == 0:
        value.pop()  # 3.0 is written for 3
    if suffix:
        value[-1] += (ord(suffix.lower()) - ord("a") + 1) / 100
    return tuple(value)


def _ordinal_value(shown: str) -> int:
    if shown.isdecimal():
        return int(shown)
    return _ORDINALS.get(shown) or roman_value(shown)


def _han_value(shown: str) -> int:
    if shown.isdigit() and shown.isdecimal():
        return int(shown)
    value, digit = 0, 0
    for sign in shown:
        if sign in _HAN_UNITS:
            value += (digit or 1) * _HAN_UNITS[sign]
            digit = 0
        else:
            digit = 2 if sign in "两兩" else _HAN.find(sign) + 1
    return value + digit


def _number_in_letters(mark: re.Match[str], shown: str, family: str) -> Number:
    """A.1, Roman numbers and letters, which are numbers only behind a label or before a mark."""
    if "." in shown:
        letter, *parts = shown.split(".")
        value: Value = (ord(letter) - ord("A") + 1, *map(int, parts))
        return Number("" if family else "number", "A.1", value)
    if not (family or mark["dot"]):
        return Number("", "", ())
    if set(shown) <= set("IVX") or (len(shown) > 1 and set(shown) <= set(_ROMAN)):
        return Number("upper", family or "I.", (roman_value(shown),))
    if len(shown) > 1 or family in ("article", "clause", "§"):
        return Number("", "", ())
    kind = _KINDS.get(family, "number") if family else "letter"
    return Number(kind, family or "A.", (ord(shown) - ord("A") + 1,))


def follows(number: Value, last: Value, most: float = 3) -> bool:
    """Whether a number comes behind the last one. `most` - 1 may be left out."""
    same = 0  # components that both begin with
    while same < min(len(number), len(last)) and number[same] == last[same]:
        same += 1
    if same == len(number):
        return False
    before = last[same] if same < len(last) else 0
    return 0 < number[same] - before <= most and all(
        part <= max(most - 1, 1) for part in number[same + 1 :]
    )


# How far out a family stands, at most; numbers without a label 0.
_RANKS = {
    **{"part": -30, "chapter": -20, "article": -10, "section": -9},
    **{"§": -8, "clause": -8},
}


class _Open(NamedTuple):
    rank: int
    family: str
    value: Value
    level: int


class Levels:
    """Levels of numbered headings that come in order, from 1.

    A heading is never below one of another number: where its parent is missing, it stands where the
    family of its number begins. `last` tells for each family where it ends. `alone` are families
    with a single number: a label among them holds only numbers that begin with its own. Sections
    stand in articles, unless `holds_articles`.

    Example:
        >>> levels = Levels({}, set())
        >>> [levels.place("1.", value, i) for i, value in enumerate([(1,), (1, 1), (2, 1), (3,)])]
        [1, 2, 1, 1]
    """

    def __init__(
        self, last: dict[str, int], alone: set[str], holds_articles: bool = False
    ) -> None:
        self.open: list[_Open] = []
        self._ranks: dict[str, int] = {}
        self._last, self._alone = last, alone
        self._fixed = _RANKS | ({"section": -11} if holds_articles else {})

    @property
    def level(self) -> int:
        """That of the innermost open number; 0 without one."""
        return self.open[-1].level if self.open else 0

    def place(self, family: str, value: Value, index: int) -> int:
        """The level of the next number."""
        rank = self._rank(family, index)
        while self.open and not self._holds(self.open[-1], rank, family, value):
            self.open.pop()
        level = self.level + 1
        self.open.append(_Open(rank, family, value, level))
        return level

    def holds(self, family: str, value: Value) -> bool:
        """Whether the text of a number is inside the innermost heading."""
        top = self.open[-1] if self.open else None
        return top is None or (
            top.family == family and value[: len(top.value)] == top.value
        )

    def is_inside(self, coming: Number) -> bool:
        """Whether a coming number is a section of the chapter that is open."""
        return any(
            top.family == coming.family
            and len(coming.value) > 1
            and coming.value[:1] == top.value[:1]
            for top in self.open
        )

    def _holds(self, top: _Open, rank: int, family: str, value: Value) -> bool:
        if top.family == family:
            return len(top.value) < len(value) and value[: len(top.value)] == top.value
        if top.family in self._alone and top.rank < 0 <= rank:
            return len(value) > 1 and value[:1] == top.value[:1]
        return top.rank < rank

    def _rank(self, family: str, index: int) -> int:
        """A new family stands inside the number that is open, if that goes on behind it. Else
        nobody knows who holds whom, unless one is a label or Roman."""
        if family not in self._ranks:
            rank = self._fixed.get(family, 0)
            top = self.open[-1] if self.open else None
            if top and top.rank < 0:
                rank = max(rank, top.rank + 1)
            elif top and rank > _RANKS["article"]:
                goes_on = self._last.get(top.family, index) > index
                if goes_on or rank == 0:
                    rank = top.rank + (goes_on or top.family == "I.")
            self._ranks[family] = rank
        return self._ranks[family]


def levels_of_numbers(numbers: Sequence[Number]) -> Levels:
    """What gives a document's numbers their levels, all of them in order."""
    families = [number.family for number in numbers]
    last = {family: place for place, family in enumerate(families)}
    alone = {family for family in last if families.count(family) == 1}
    return Levels(last, alone, _sections_hold_articles(numbers))


def _sections_hold_articles(numbers: Sequence[Number]) -> bool:
    """Whether an article stands between each section and the next, as in laws of the European
    Union, but not a section between each article and the next."""

    def steps(family: str, other: str) -> list[bool]:
        """Whether there is one of the other family, for each number and the next one."""
        places = [i for i, number in enumerate(numbers) if number.family == family]
        return [
            any(number.family == other for number in numbers[i:j])
            for i, j in pairwise(places)
            if numbers[i].value < numbers[j].value
        ]

    sections, articles = steps("section", "article"), steps("article", "section")
    return bool(sections) and all(sections) and not all(articles)


def numbers_of_titles(titles: Sequence[str]) -> list[Number]:
    """The numbers that titles begin with; one without family for those without."""
    marks = [MARK.match(title) for title in titles]
    numbers = [
        read_number(mark)
        if mark and (mark.end() < len(title) or is_labelled(mark))
        else _NONE
        for mark, title in zip(marks, titles, strict=True)
    ]
    return [number if number.kind else _NONE for number in with_letters(numbers)]


def with_letters(numbers: Iterable[Number]) -> Iterator[Number]:
    """The numbers in order, with letters for the Roman I, V and X behind H, U and W."""
    last: Value = ()
    for number in numbers:
        letter = _LETTER_VALUES.get(number.value) if number.family == "I." else None
        if letter and last and letter == last[0] + 1:
            number = Number("letter", "A.", (letter,))
        if number.family == "A.":
            last = number.value
        yield number


_BACK_MATTER = frozenset(
    """references|bibliography|works cited|literature|literature cited|acknowledgements
    |acknowledgments|appendix|appendices|glossary|index|endnotes|further reading|abbreviations
    |author contributions|funding|conflict of interest|conflicts of interest|data availability
    |literatur|literaturverzeichnis|quellen|quellenverzeichnis|anhang|anhänge|danksagung|glossar
    |stichwortverzeichnis|abkürzungsverzeichnis|références|bibliographie|remerciements|annexes
    |annexe|notes|about the authors|about the author|riferimenti bibliografici|参考資料
    |glossaire|referencias|bibliografía|agradecimientos|anexos|apéndice|glosario|riferimenti
    |bibliografia|ringraziamenti|appendice|appendici|glossario|referências|agradecimentos|apêndice
    |literatuur|literatuurlijst|bronnen|bijlagen|dankwoord|referenser|källor|källförteckning
    |referencer|referanser|litteratur|kilder|lähteet|kirjallisuus|viited|kirjandus|literatura
    |seznam literatury|piśmiennictwo|литература|список литературы|благодарности|приложения
    |βιβλιογραφία|αναφορές|kaynakça|kaynaklar|ekler|参考文献|致谢|附录|引用文献|謝辞|付録|참고문헌|부록
    |المراجع|منابع|संदर्भ""".replace("\n    ", "").split("|")
)


def is_back_matter(title: str) -> bool:
    """Whether a title without a number names what stands behind all chapters.

    Example:
        >>> is_back_matter("REFERENCES"), is_back_matter("Literaturverzeichnis:")
        (True, True)
    """
    return title.rstrip(" .:").casefold() in _BACK_MATTER
