// Finding words in the text. Matches are painted near the view only.

const MOST_MATCHES = 20000;
const found = { matches: [], at: -1 };

// Letters and signs are folded as terms are (text/folding.py).
const PLAIN = { æ: "ae", ð: "d", ø: "o", þ: "th", đ: "d", ħ: "h", ı: "i", ł: "l", œ: "oe", ß: "ss", ŧ: "t", ς: "σ", ё: "е", ѐ: "е", ѝ: "и" };
const UNSEEN = /[\u00ad\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u061c\u0640\u064b-\u065f\u0670\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff]/g;

function fold(letter) {
  const plain = letter
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[\u058a\u05be\u2010-\u2013\u2043\u2212]/g, "-")
    .replace(/[\u02b9-\u02bd\u2018\u2019\u201b\u2032]/g, "'");
  const apart = plain.normalize("NFD");
  return (PLAIN[plain] ?? (apart < "\u0400" ? apart : plain)).replace(UNSEEN, "");
}

// A text folded, and for each of its units where what it was made of begins; last the text's end.
function foldedWithPlaces(text) {
  const parts = [];
  const places = [];
  for (const { 0: piece, index } of text.matchAll(/[\0-\x7f]+|[^\0-\x7f]\p{M}*/gu)) {
    const isPlain = piece < "\x80";
    const part = isPlain ? piece.toLowerCase() : fold(piece);
    for (let i = 0; i < part.length; i++) places.push(index + (isPlain ? i : 0));
    parts.push(part);
  }
  places.push(text.length);
  return { plain: parts.join(""), places };
}

function search(words) {
  found.matches = [];
  found.at = -1;
  const pattern = foldedWithPlaces(words)
    .plain.trim()
    .split(/\s+/)
    .map((word) => word.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&"))
    .join("\\s+");
  if (pattern) {
    const shown = current();
    shown.folded ??= foldedWithPlaces(shown.text);
    const { plain, places } = shown.folded;
    for (const match of plain.matchAll(new RegExp(pattern, "gu"))) {
      let end = match.index + match[0].length;
      while (places[end] === places[end - 1]) end++; // a letter that became several is painted whole
      found.matches.push([places[match.index], places[end]]);
      if (found.matches.length === MOST_MATCHES) break;
    }
  }
  showCount();
  paintMatches();
}

function showCount() {
  const { matches, at } = found;
  const most = matches.length === MOST_MATCHES ? `${MOST_MATCHES}+` : String(matches.length);
  byId("find-count").textContent = !byId("find-text").value.trim() ? "" : at < 0 ? most : `${at + 1} / ${most}`;
}

function paintMatches() {
  const ranges = [];
  for (const block of found.matches.length ? near : []) {
    let i = countUpTo(found.matches, block.from - 1, (match) => match[0]);
    for (; i < found.matches.length && found.matches[i][0] < block.to; i++) ranges.push(rangeOf(...found.matches[i]));
  }
  paint("match", ranges);
  paint("match-here", found.at < 0 ? [] : [rangeOf(...found.matches[found.at])]);
}

function stepMatch(by) {
  const { matches } = found;
  if (!matches.length) return;
  if (found.at < 0) {
    const first = countUpTo(matches, topPlace() - 1, (match) => match[0]);
    found.at = by > 0 ? first % matches.length : (first - 1 + matches.length) % matches.length;
  } else found.at = (found.at + by + matches.length) % matches.length;
  showPlace(matches[found.at][0], { gently: true });
  showCount();
  paintMatches();
}

function watchFind() {
  const box = byId("find-text");
  let pause = 0;
  box.addEventListener("input", () => {
    clearTimeout(pause);
    pause = setTimeout(() => search(box.value), 120);
  });
  byId("find").addEventListener("submit", (event) => event.preventDefault());
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.isComposing) {
      event.preventDefault();
      clearTimeout(pause);
      if (found.at < 0) search(box.value);
      stepMatch(event.shiftKey ? -1 : 1);
    } else if (event.key === "Escape") {
      box.value = "";
      search("");
      reader.focus();
    }
  });
}
