// The data, the state, and small helpers. Places in the data are characters (code points); `from` and `to` are JavaScript's UTF-16 units.

const DATA = JSON.parse(document.getElementById("data").textContent);
const METHODS = DATA.methods;
const SERIES_NAMES = { PICSplitter: "similarity", IDMSSplitter: "margin" };
const TINTS = 4;

const state = {
  document: 0,
  method: 0,
  chunk: -1, // selected, of the method; -1: none
  tab: DATA.searches.length ? "hits" : "methods",
  allMethods: false,
};

const byId = (id) => document.getElementById(id);
const reader = byId("reader");

// An element with its text or children. Strings are only ever put in as text.
function make(tag, options = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (name === "text") element.textContent = value;
    else if (name === "class") element.className = value;
    else if (name === "on") for (const [event, action] of Object.entries(value)) element.addEventListener(event, action);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

function drawing(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// The number of items whose key is at most `value`; items ascend.
function countUpTo(items, value, key = (item) => item) {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (key(items[middle]) <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

const within = (value, low, high) => Math.max(low, Math.min(high, value));
const plural = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
const short = (number) =>
  number >= 99500 ? `${Math.round(number / 1000)}k` : number >= 1000 ? `${(number / 1000).toFixed(1)}k` : String(number);
const decimal = (number) => (number === null ? "none" : String(Number(number.toFixed(3))));

// A function from places in code points to places in UTF-16 units.
function unitsOf(text) {
  const astral = [];
  for (const match of text.matchAll(/[\u{10000}-\u{10ffff}]/gu)) astral.push(match.index - astral.length);
  return astral.length ? (place) => place + countUpTo(astral, place - 1) : (place) => place;
}

// The document, its places turned into UTF-16 units on first use.
function documentAt(number) {
  const found = DATA.documents[number];
  if (found.ready) return found;
  const unit = unitsOf(found.text);
  for (const section of found.sections) {
    section.from = unit(section.start);
    section.bodyFrom = unit(section.body);
    section.to = unit(section.end);
  }
  found.columns = found.columns.map(([start, end]) => [unit(start), unit(end)]);
  found.looks = found.looks.map(([start, end, kind, width]) => ({ from: unit(start), to: unit(end), kind, width }));
  for (const { chunks, series } of found.splits) {
    for (const chunk of chunks) {
      chunk.from = unit(chunk.start);
      chunk.to = unit(chunk.end);
    }
    if (series === null) continue;
    series.from = series.starts.map(unit);
    series.to = series.ends.map(unit);
    series.notes = series.notes.map(([start, end, note]) => ({ from: unit(start), to: unit(end), note }));
    const known = [...series.values, ...series.thresholds].filter((value) => value !== null).sort((a, b) => a - b);
    series.low = known[Math.floor(known.length * 0.02)] ?? 0; // the few beyond are drawn to the edge
    series.high = Math.max(known[Math.floor(known.length * 0.98)] ?? 0, series.low + 0.01);
  }
  const hits = DATA.searches.flatMap((search) => search.hits).filter((hit) => hit.document === number && hit.sentences);
  for (const place of hits.flatMap((hit) => hit.sentences).flatMap((sentence) => [sentence, ...sentence.words])) {
    place.from = unit(place.start);
    place.to = unit(place.end);
  }
  found.tokens = found.sections[0].tokens;
  found.ready = true;
  return found;
}

const current = () => documentAt(state.document);
const chunksOf = (method) => current().splits[method].chunks;
const nameOf = (shown) => shown.title || shown.id || "(no title)";

// The number of the chunk that holds the place, or -1.
function chunkAt(method, place) {
  const chunks = chunksOf(method);
  const number = countUpTo(chunks, place, (chunk) => chunk.from) - 1;
  return number >= 0 && place < chunks[number].to ? number : -1;
}

// The hit of a method's index that is this chunk, with its rank; or null.
function hitOf(method, number, inDocument = state.document) {
  const search = DATA.searches[method];
  if (!search) return null;
  const at = search.hits.findIndex((hit) => hit.document === inDocument && hit.chunk === number);
  return at < 0 ? null : { rank: at + 1, ...search.hits[at] };
}

// The title a chunk stands under, whether or not its splitter looks at headings.
function titleOf(shown, chunk) {
  const { sections } = shown;
  const title = chunk.path[chunk.path.length - 1] || sections[countUpTo(sections, chunk.start, (section) => section.start) - 1].title;
  return title || "(no heading)";
}

// What a route compares, in words for those who do not know its name.
const ROUTES = {
  tokens: "word by word",
  vectors: "meaning",
  stems: "same words",
  "section vectors": "meaning of the section",
  "section stems": "words of the section",
  titles: "headings",
  keywords: "product names",
  bm25: "same words",
};
function plainRoute(route) {
  const [way, view] = route.split(":");
  if (!view) return ROUTES[route] || route;
  const kind = { dense: "meaning", bm25: "words" }[way] || way;
  return `${kind} of the ${view === "raw" ? "text" : view}`;
}

const tintOf = (chunk, number) => (chunk.extras.relevant === false ? `low${number % 2}` : `tint${number % TINTS}`);

function describe(method, number) {
  const chunk = chunksOf(method)[number];
  const hit = hitOf(method, number);
  return [
    `${METHODS[method].name} chunk ${number + 1} of ${chunksOf(method).length}`,
    plural(chunk.tokens, "token"),
    chunk.path.join(" › ") || "no heading path",
    hit && `hit ${hit.rank}`,
  ]
    .filter(Boolean)
    .join(", ");
}
