"""Numbers of headings: how they look, which follow which, and how deep they stand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from string import ascii_letters
from typing import NamedTuple
from unicodedata import combining, normalize

Value = tuple[float, ...]  # 5a is 5.01

# Words before numbers, each line behind the family that they number, in the languages whose
# sentences are known. What stands behind the last article of a law is as an annex.
_LABELS = """
part Part Partie Teil Parte Deel Часть Частина Część Část Del Osa Kısım Μέρος Phần الجزء بخش भाग
part חלק ภาค
book Book Livre Buch Libro Livro Boek Книга Kniha Księga Kitap Βιβλίο الكتاب کتاب ספר บรรพ
title Title Titre Titel Título Titolo Раздел Розділ Dział Hlava Avdelning Τίτλος الباب باب שער
title ลักษณะ
chapter Chapter Chap Chapitre Kapitel Kap Capítulo Capitolo Capo Cap Hoofdstuk Глава Rozdział
chapter Kapitola Kapittel Luku Peatükk Poglavje Κεφάλαιο Bölüm Capitolul BAB Chương الفصل فصل
chapter अध्याय פרק หมวด
section Section Sec Sección Seção Secção Sezione Abschnitt Afdeling Paragraaf Paragraf Avsnitt
section Afsnit Oddział Oddíl Jagu Odsek Ενότητα Τμήμα Bagian Mục القسم अनुभाग סימן ส่วนที่ ส่วน
§ §
article Rule Regulation Article Artículo Articulo Artigo Articolo Artikel Art Статья Стаття
article Artykuł Článek Artikkel Artikla Člen Άρθρο Madde Articolul Pasal Điều المادة ماده धारा
article अनुच्छेद סעיף มาตรา
clause Clause Item Klausel Clausola Cláusula Klauzula Klausul Пункт ข้อ
outer Exhibit Schedule Appendix Annex Attachment Annexe Anexo Apéndice Apêndice Allegato Appendice
outer Anlage Anhang Bijlage Приложение Załącznik Příloha Bilag Bilaga Vedlegg Liite Lisa Παράρτημα
outer Priloga ملحق Disposición_adicional Disposición_transitoria Disposición_derogatoria
outer Disposición_final Disposição_final Disposição_transitória
item Step Lesson Unit Module Phase Stage Exercise Question Session Task TOP Schritt Übung Frage
item Lektion Aufgabe Étape Leçon Paso Lección Passo Lezione Lição Stap Les Шаг Урок Krok Trin Steg
item Lekcja
"""
_UNITS = """
part 编 編 篇 部 部分 편 부
chapter 章 장
section 节 節 절
article 条 條 조
item 课 課 讲 회
"""  # behind a number: 第一章, 제1장
_ORDERED = """
part Teil Buch rész osa Kısım Kitap
chapter Hauptstück Kapitel kap luku fejezet Bölüm
section Abschnitt
§ §
"""  # behind a number or an ordinal: 2. Abschnitt, Erster Teil, 1 kap., 3 §
_WORDS = """
one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
premier deux trois quatre cinq six sept huit neuf dix onze douze
première deuxième troisième quatrième cinquième sixième septième huitième neuvième dixième
eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf
uno dos tres cuatro cinco seis siete ocho nueve diez once doce
primero segundo tercero cuarto quinto sexto séptimo octavo noveno décimo
primera segunda tercera cuarta quinta sexta séptima octava novena décima
primo secondo terzo quarto quinto sesto settimo ottavo nono decimo
uno due tre quattro cinque sei sette otto nove dieci
primeiro segundo terceiro quarto quinto sexto sétimo oitavo nono décimo
primeira segunda terceira quarta quinta sexta sétima oitava nona décima
um dois três quatro cinco seis sete oito nove dez
een twee drie vier vijf zes zeven acht negen tien
первая вторая третья четвёртая пятая шестая седьмая восьмая девятая десятая
πρώτο δεύτερο τρίτο τέταρτο πέμπτο έκτο έβδομο όγδοο ένατο δέκατο
πρωτο δευτερο τριτο τεταρτο πεμπτο εκτο εβδομο ογδοο ενατο δεκατο
الأول الثاني الثالث الرابع الخامس السادس السابع الثامن التاسع العاشر
اول دوم سوم چهارم پنجم ششم هفتم هشتم نهم دهم
ראשון שני שלישי רביעי חמישי שישי שביעי שמיני תשיעי עשירי
único
única
unico
unique
"""  # each line from one on
_ORDINALS = """
Erste Zweite Dritte Vierte Fünfte Sechste Siebte Achte Neunte Zehnte Elfte Zwölfte
Erster Zweiter Dritter Vierter Fünfter Sechster Siebter Achter Neunter Zehnter Elfter Zwölfter
Erstes Zweites Drittes Viertes Fünftes Sechstes Siebtes Achtes Neuntes Zehntes Elftes Zwölftes
Birinci İkinci Üçüncü Dördüncü Beşinci Altıncı Yedinci Sekizinci Dokuzuncu Onuncu
"""
_LETTERS = """
אבגדהוזחט יכלמנסעפצ קרשת
ΑΒΓΔΕϚΖΗΘ ΙΚΛΜΝΞΟΠ
"""  # that are numbers: ones, tens, hundreds
_SUFFIXES = (
    "bis ter quater quinquies sexies septies octies novies decies"  # Article 2 bis
)
_HAN = "一二三四五六七八九"
_HAN_UNITS = {"十": 10, "百": 100, "千": 1000}


def _lines(table: str) -> list[list[str]]:
    return [line.split() for line in table.strip().splitlines()]


def _forms(word: str) -> set[str]:
    """A word as it is written, and in capitals, which may have no accents."""
    capitals = word.upper()
    bare = "".join(sign for sign in normalize("NFD", capitals) if not combining(sign))
    turkish = word.replace("i", "İ").upper()
    return {
        word,
        word.capitalize(),
        capitals,
        turkish,
        bare if bare.isupper() else word,
    }


def _by_form(table: str) -> dict[str, str]:
    """The family of each word that a table has, in all its forms."""
    return {
        form: family
        for family, *words in _lines(table)
        for word in words
        for form in _forms(word.replace("_", " "))
    }


def _values(table: str) -> dict[str, int]:
    """The place of each word in its line, in all its forms."""
    return {
        form: value
        for words in _lines(table)
        for value, word in enumerate(words, start=1)
        for form in _forms(word)
    }


_FAMILIES, _UNIT_FAMILIES, _ORDERED_FAMILIES = map(
    _by_form, (_LABELS, _UNITS, _ORDERED)
)
_ORDINAL_VALUES = _values(_ORDINALS)
_WORD_VALUES = {word.casefold(): value for word, value in _values(_WORDS).items()}
_SUFFIX_VALUES = {word: i for i, word in enumerate(_SUFFIXES.split(), start=2)}
_LETTER_NUMBERS = {
    letter: value * 10**power
    for rows in _lines(_LETTERS)
    for power, row in enumerate(rows)
    for value, letter in enumerate(row, start=1)
}


def _any_of(words: Iterable[str]) -> str:
    """A pattern of words, the longest first. Grouped by their initials, they take less time."""
    rests: dict[str, list[str]] = {}
    for word in sorted(words, key=len, reverse=True):
        rests.setdefault(word[0], []).append(re.escape(word[1:]))
    return "|".join(f"{first}(?:{'|'.join(rest)})" for first, rest in rests.items())


_SPACE = r"[ \t\u00a0\u2007\u202f\u3000]*"
MARK = re.compile(
    rf"""
    (?:
      (?P<ordinal>\d{{1,3}}|[IVXLC]{{1,7}}|{_any_of(_ORDINAL_VALUES)})\.?{_SPACE}
      (?P<ordered>{_any_of(_ORDERED_FAMILIES)})(?![^\W\d_])
    | (?:(?P<label>(?:{_any_of(_FAMILIES)})(?![^\W\d_]))\.?{_SPACE})?
      (?P<number>["“]?
          (?:(?(label)(?:(?:(?<=rticle\s)|(?<=RTICLE\s)|(?<=Art\.\s))[LRDA](?:\.?O)?\.?\*?{_SPACE})?
                \d{{1,5}}(?:[.．-]\d{{1,3}}){{0,5}}
                (?:[ \u00a0-]?(?:{_any_of(_SUFFIX_VALUES)})\b|[a-zA-Z])?
              |\d{{1,2}}(?:[.．]\d{{1,3}}){{0,5}})
            |[A-Z](?:\.\d{{1,2}}){{1,4}}|[IVXLC]{{1,7}}|[A-Z]
            |(?(label)(?i:{_any_of(_WORD_VALUES)})|(?!))
            |(?(label)(?:[א-ת]{{1,2}}["״][א-ת]|[א-ת]|ΣΤ|[Α-Λ]{{1,2}})['’΄´ʹ׳]?|(?!)))
          ["”]?)(?(label)(?:er|re|ère|\.?[ºª°])?(?:\s\([^\W\d_A-Z][^()\n]{{3,40}}\))?)
    | [第제]{_SPACE}(?P<count>[\d{_HAN}零〇两{"".join(_HAN_UNITS)}]{{1,7}}){_SPACE}
      (?P<unit>{_any_of(_UNIT_FAMILIES)})(?:[の之의](?P<branch>[\d{_HAN}十]{{1,2}}))?
    | (?P<han>[{_HAN}十]{{1,3}})(?=、)
    | [（(](?P<boxed>[{_HAN}十]{{1,3}})(?=[）)])
    )
    (?P<dot>[.)．、）]?)
    (?:{_SPACE}[:：–—ـ-](?=\s|$)|(?=\s|$)|(?<=\d[.．、)])(?=[A-Z\u0370-\uffff])
      |(?<=[章节節条條编編部장절조）、])|(?<=[の之의].)|(?<=[の之의]..)|(?<=\d：)){_SPACE}""",
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
        value: float = _ordinal_value(mark["ordinal"])
        return _labelled(_ORDERED_FAMILIES[mark["ordered"]], value)
    if mark["unit"]:
        value = _han_value(mark["count"]) + _han_value(mark["branch"] or "0") / 100
        return _labelled(_UNIT_FAMILIES[mark["unit"]], value)
    if mark["han"] or mark["boxed"]:
        value = _han_value(mark["han"] or mark["boxed"])
        return Number("letter", "一、" if mark["han"] else "（一）", (value,))
    shown = mark["number"].strip('"“”')
    family = _FAMILIES.get(mark["label"] or "", "")
    if family == "outer":
        return Number("" if "." in shown else "outer", family, ())
    if family and shown.casefold() in _WORD_VALUES:
        return _labelled(family, _WORD_VALUES[shown.casefold()])
    if family and (letters := shown.replace("ΣΤ", "Ϛ"))[0] in _LETTER_NUMBERS:
        value = sum(_LETTER_NUMBERS.get(letter, 0) for letter in letters)
        return _labelled(family, value)
    if family == "article":
        shown = shown.lstrip("LRDAO.*\u00a0 ") or shown
    if shown[0].isdigit():
        return _labelled(family or _arabic(mark), *_arabic_value(shown))
    return _number_in_letters(mark, shown, family)


def _labelled(family: str, *value: float) -> Number:
    return Number(_KINDS.get(family, "number"), family, value)


_KINDS = dict.fromkeys(("part", "book", "title", "chapter", "article"), "upper") | {
    "item": "item"
}


def is_labelled(mark: re.Match[str]) -> bool:
    """Whether a word says what is numbered: Chapter 2, 第二章, 2. Kapitel."""
    return bool(mark["label"] or mark["unit"] or mark["ordered"])


def is_label(title: str) -> bool:
    """Whether a title is a label alone: `ARTICLE IV`."""
    mark = MARK.fullmatch(title)
    return mark is not None and is_labelled(mark)


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
    if shown.isdecimal():
        return (int(shown),)
    digits = shown.rstrip(ascii_letters + "\u00a0 -")
    suffix = shown[len(digits) :].strip("\u00a0 -").lower()
    value: list[float] = [int(part) for part in re.split("[.．-]", digits)]
    if "-" in digits:  # L. 111-1-1 is beside L. 111-1
        value[1:] = [sum(part / 1000**place for place, part in enumerate(value[1:]))]
    if len(value) > 1 and value[-1] == 0:
        value.pop()  # 3.0 is written for 3
    if suffix:
        value[-1] += (_SUFFIX_VALUES.get(suffix) or ord(suffix) - ord("a") + 1) / 100
    return tuple(value)


def _ordinal_value(shown: str) -> int:
    if shown.isdecimal():
        return int(shown)
    return _ORDINAL_VALUES.get(shown) or roman_value(shown)


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
    **{"outer": -99, "part": -30, "book": -28, "title": -26, "chapter": -20},
    **{"article": -10, "section": -9, "§": -8, "clause": -8},
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
            top.family in (family, "outer") and value[: len(top.value)] == top.value
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
        if top.family in self._alone and top.rank < 0 <= rank and top.value:
            return len(value) > 1 and value[:1] == top.value[:1]
        return top.rank < rank

    def _rank(self, family: str, index: int) -> int:
        """A new family stands inside the number that is open, if that goes on behind it. Else
        nobody knows who holds whom, unless one is a label or Roman."""
        if family not in self._ranks:
            rank = self._fixed.get(family, 0)
            if family == "outer":
                return rank
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
    """Whether an article comes next behind each section, as in laws of many countries, but not a
    section behind each article."""
    families = [number.family for number in numbers]

    def behind(family: str) -> set[str]:
        return {below for above, below in pairwise(families) if above == family}

    return behind("section") == {"article"} and behind("article") != {"section"}


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
    |literatur|literaturverzeichnis|literaturhinweise|quellen|quellenverzeichnis|anhang|anhänge|danksagung|glossar
    |stichwortverzeichnis|abkürzungsverzeichnis|références|bibliographie|remerciements|annexes
    |annexe|notes|about the authors|about the author|riferimenti bibliografici|参考資料
    |glossaire|referencias|bibliografía|agradecimientos|anexos|apéndice|glosario|riferimenti
    |bibliografia|ringraziamenti|appendice|appendici|glossario|referências|agradecimentos|apêndice
    |literatuur|literatuurlijst|bronnen|bijlagen|dankwoord|referenser|källor|källförteckning
    |referencer|referanser|litteratur|kilder|lähteet|kirjallisuus|viited|kirjandus|literatura
    |seznam literatury|piśmiennictwo|литература|список литературы|благодарности|приложения
    |βιβλιογραφία|αναφορές|kaynakça|kaynaklar|ekler|参考文献|致谢|附录|引用文献|謝辞|付録|참고문헌|부록
    |المراجع|منابع|संदर्भ|schlussformel|附則|附则|부칙|parágrafo único|schlussbestimmungen
    |schlussvorschriften|übergangs- und schlussbestimmungen|übergangsbestimmungen|schlußbestimmungen
    |dispositions finales|dispositions transitoires|disposizioni finali|disposizioni transitorie
    |disposizioni transitorie e finali|disposición final|disposición transitoria
    |disposición adicional|disposición derogatoria|disposiciones finales|disposiciones transitorias
    |disposiciones adicionales|disposições finais|disposições transitórias|slotbepalingen
    |disposições finais e transitórias|final provisions|transitional provisions
    |заключительные положения|przepisy końcowe|závěrečná ustanovení|τελικές διατάξεις|son hükümler
    |أحكام ختامية|บทเฉพาะกาล
    |הוראות סיום|loppusäännökset|slutbestämmelser|slutbestemmelser""".replace(
        "\n    ", ""
    ).split("|")
)


_BEGINNINGS = {title[:2] for title in _BACK_MATTER}
_OF_ACT = re.compile(r"\s?[<〈(（]")  # 부칙 <제12호, 2024. 1. 1.>


def is_back_matter(title: str) -> bool:
    """Whether a title without a number names what stands behind all chapters.

    Example:
        >>> is_back_matter("REFERENCES"), is_back_matter("Literaturverzeichnis:")
        (True, True)
    """
    title = title.replace("\u3000", "")
    return (
        title[:2].casefold() in _BEGINNINGS
        and _OF_ACT.split(title)[0].rstrip(" .:").casefold() in _BACK_MATTER
    )
