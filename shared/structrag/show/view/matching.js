// How the sentences of a passage match the question, word by word.

const STRONG = 0.7; // similarity from which a word is painted as matched, and below as near
const NEAR = 0.45;

function sentencesOf(method, number) {
  const hit = hitOf(method, number);
  return (hit && hit.sentences) || [];
}

// The words that match are painted in the text, while the method that found them colours it.
function paintWords() {
  const search = DATA.searches[state.method];
  const strong = [];
  const near = [];
  for (const hit of search && search.words ? search.hits : []) {
    if (hit.document !== state.document) continue;
    for (const word of hit.sentences.flatMap((sentence) => sentence.words)) {
      if (word.from < word.to && word.similarity >= NEAR) (word.similarity >= STRONG ? strong : near).push(rangeOf(word.from, word.to));
    }
  }
  paint("word-near", near);
  paint("word", strong);
}

function wordTable(method, number) {
  const sentences = sentencesOf(method, number);
  if (!sentences.length) return null;
  const items = sentences.map((sentence) => {
    const words = current().text.slice(sentence.from, sentence.to).split(/\s+/).join(" ").trim();
    return make(
      "li",
      { class: "sentence" },
      make("button", { type: "button", class: "line", on: { click: () => showPlace(sentence.from, { gently: true }) } }, make("span", { class: "quote-line", text: words }), make("small", { text: sentence.score.toFixed(2) })),
      make("p", { class: "word-row" }, ...sentence.words.map(wordChip)),
    );
  });
  return make("section", {}, make("h3", { text: "Match with the question, word by word" }), make("ul", { class: "sentences", "aria-label": plural(sentences.length, "sentence") }, ...items));
}

function wordChip(match) {
  const { word, similarity } = match;
  const there = match.from < match.to ? current().text.slice(match.from, match.to) : "nothing";
  const label = `${word}: ${there}, ${similarity.toFixed(2)}`;
  const show = (ranges) => () => paint("peek", match.from < match.to ? ranges() : []);
  const chip = make(
    "span",
    { class: similarity >= STRONG ? "word strong" : similarity >= NEAR ? "word near" : "word", title: label, "aria-label": label, on: { pointerenter: show(() => [rangeOf(match.from, match.to)]), pointerleave: show(() => []) } },
    word,
    make("small", { text: similarity.toFixed(2) }),
  );
  return chip;
}
