// The panel at the side: the chunk pointed at or selected, the hits, the methods in numbers.

const sheet = byId("sheet");
const TABS = { chunk: "Chunk", hits: "Hits", methods: "Methods" };

function drawTabs() {
  const names = Object.keys(TABS).filter((name) => name !== "hits" || DATA.searches.length);
  const tabs = names.map((name) =>
    make("button", {
      type: "button",
      role: "tab",
      id: `tab-${name}`,
      text: TABS[name],
      tabindex: name === state.tab ? "0" : "-1",
      "aria-selected": String(name === state.tab),
      "aria-controls": "sheet",
      on: { click: () => chooseTab(name) },
    }),
  );
  byId("tabs").replaceChildren(...tabs);
  byId("close-panel").onclick = () => setOpen("panel", false);
  byId("tabs").onkeydown = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    chooseTab(names[(names.indexOf(state.tab) + step + names.length) % names.length]);
    byId(`tab-${state.tab}`).focus();
  };
  sheet.setAttribute("aria-labelledby", `tab-${state.tab}`);
}

function chooseTab(name) {
  state.tab = name;
  drawTabs();
  drawPanel();
}

function drawPanel() {
  if (state.tab === "chunk") drawChunk(state.method, state.chunk);
  else if (state.tab === "hits") drawHits();
  else drawMethods();
}

const swatch = (method) => make("span", { class: "key", text: String(method + 1), "aria-hidden": "true" });

function fact(name, ...value) {
  return make("div", {}, make("dt", { text: name }), make("dd", {}, ...value));
}

function drawChunk(method, number) {
  const chunk = chunksOf(method)[number];
  if (!chunk) {
    const hint = "Point at a piece of a track, or click in the text, to see a chunk. The keys j and k go from chunk to chunk.";
    sheet.replaceChildren(make("p", { class: "hint", text: hint }));
    return;
  }
  const total = chunksOf(method).length;
  const step = (by, label, sign) =>
    make("button", { type: "button", class: "icon", text: sign, "aria-label": label, disabled: !chunksOf(method)[number + by], on: { click: () => pick(method, number + by) } });
  sheet.replaceChildren(
    make(
      "div",
      { class: "card-head" },
      make("h2", {}, swatch(method), make("span", { text: METHODS[method].name })),
      make("span", { class: "of", text: `${number + 1} of ${total}` }),
      step(-1, "Previous chunk", "↑"),
      step(1, "Next chunk", "↓"),
    ),
    pathOf(chunk),
    make("dl", { class: "facts-list" }, ...chunkFacts(method, chunk)),
    ...[hitTable(method, number), pagePicture(method, number), wordTable(method, number), elsewhere(method, chunk), instruction(method, chunk), indexed(chunk)].filter(Boolean),
  );
}

function pathOf(chunk) {
  const titles = chunk.path.map((title) => make("li", { text: title }));
  return titles.length ? make("ol", { class: "path", "aria-label": "Heading path" }, ...titles) : make("p", { class: "hint", text: "No heading path." });
}

function chunkFacts(method, chunk) {
  const limit = METHODS[method].max_tokens;
  const counted = chunk.extras.index_tokens ?? chunk.tokens;
  const meter = limit ? make("meter", { min: 0, max: limit, value: Math.min(counted, limit), "aria-label": "Share of the limit" }) : null;
  const filled = limit ? [meter, `${counted} of ${limit}`] : [String(counted)];
  const rest = Object.entries(chunk.extras).filter(([name]) => !["index_tokens", "reduced"].includes(name));
  return [
    fact("tokens", String(chunk.tokens)),
    ...(METHODS[method].passages ? [] : [fact("as indexed", ...filled)]),
    fact("characters", `${chunk.start.toLocaleString("en")} – ${chunk.end.toLocaleString("en")}`),
    ...(chunk.kind === "text" ? [] : [fact("kind", chunk.kind)]),
    ...rest.map(([name, value]) => fact(name.replaceAll("_", " "), valueOf(value))),
  ];
}

function valueOf(value) {
  if (value === null) return make("small", { text: "none" });
  if (typeof value === "object") return make("code", { text: JSON.stringify(value) });
  return typeof value === "number" && !Number.isInteger(value) ? decimal(value) : String(value);
}

function hitTable(method, number) {
  const hit = hitOf(method, number);
  if (!hit) return null;
  const { routes } = DATA.searches[method];
  const rows = routes.map((route, i) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, make("span", { class: `dot route${i % 6}`, "aria-hidden": "true" }), plainRoute(route)),
      make("td", { text: hit.shares[i].toFixed(3) }),
      hit.ranks ? make("td", { text: hit.ranks[i] === null ? "not found" : `rank ${hit.ranks[i]}` }) : null,
    ),
  );
  return make(
    "section",
    {},
    make("h3", { text: `Hit ${hit.rank}, score ${hit.score.toFixed(3)}` }),
    stack(method, hit, DATA.searches[method].hits[0].score),
    make("table", { class: "numbers" }, make("tbody", {}, ...rows)),
  );
}

// The chunks of the other methods at the same place.
function pagePicture(method, number) {
  const hit = hitOf(method, number);
  if (!hit || !hit.picture) return null;
  return make("img", { class: "page", src: `data:image/png;base64,${hit.picture}`, alt: "The page with the passage marked" });
}

function elsewhere(method, chunk) {
  const rows = METHODS.map((_, other) => {
    const number = chunkAt(other, pastBlanks(chunk.from, chunk.to));
    if (other === method || number < 0) return null;
    const found = chunksOf(other)[number];
    const same = found.start === chunk.start && found.end === chunk.end;
    const size = same ? "the same chunk" : plural(found.tokens, "token");
    return make(
      "li",
      {},
      make(
        "button",
        { type: "button", class: "line", on: { click: () => pick(other, number) } },
        swatch(other),
        make("span", { text: `${METHODS[other].name} ${number + 1}` }),
        make("small", { text: size }),
      ),
    );
  }).filter(Boolean);
  return rows.length ? make("section", {}, make("h3", { text: "Here by other methods" }), make("ul", { class: "lines" }, ...rows)) : null;
}

function instruction(method, chunk) {
  const { series } = current().splits[method];
  const found = series && series.notes.find((note) => note.from <= chunk.from && chunk.from < note.to);
  if (!found || METHODS[method].splitter !== "PICSplitter") return null;
  return make("details", {}, make("summary", { text: "Compared with" }), make("p", { class: "quote", text: found.note }));
}

function indexed(chunk) {
  const { context, extras } = chunk;
  if (!context && !extras.reduced) return null;
  const body = extras.reduced || "… the text";
  return make(
    "details",
    {},
    make("summary", { text: METHODS[state.method].passages ? "What is shown with it" : "What is indexed" }),
    make("p", { class: "quote" }, make("b", { text: context ? `${context}\n` : "" }), body),
  );
}

function drawMethods() {
  const shown = current();
  const cards = METHODS.map((method, number) => {
    const sizes = shown.splits[number].chunks.map((chunk) => chunk.extras.index_tokens ?? chunk.tokens).sort((a, b) => a - b);
    const median = sizes.length ? sizes[sizes.length >> 1] : 0;
    return make(
      "section",
      { class: "method" },
      make("h3", {}, swatch(number), method.name, make("small", { text: method.splitter })),
      histogram(sizes, method.max_tokens),
      make("p", { text: sizes.length ? `${plural(sizes.length, method.passages ? "passage" : "chunk")} · ${sizes[0]} to ${sizes[sizes.length - 1]} tokens, median ${median}` : "no chunks" }),
    );
  });
  const summary = `${plural([...shown.text].length, "character")}, about ${plural(shown.tokens, "token")}, ${plural(shown.sections.length - 1, "heading")}, ${shown.format}`;
  sheet.replaceChildren(make("h2", { text: nameOf(shown) }), make("p", { class: "hint", text: summary }), ...cards, make("p", { class: "hint", text: `Tokens as indexed, heading path included. structrag ${DATA.version}` }));
}

function histogram(sizes, limit) {
  const bins = 24;
  const most = Math.max(limit || 0, sizes[sizes.length - 1] || 1);
  const counts = new Array(bins).fill(0);
  for (const size of sizes) counts[Math.min(bins - 1, Math.floor((size / most) * bins))] += 1;
  const tallest = Math.max(1, ...counts);
  const bars = counts.map((count, i) => {
    const height = count ? Math.max(1.5, (count / tallest) * 34) : 0;
    return drawing("rect", { x: i * 10 + 1, y: 36 - height, width: 8, height, rx: 1 });
  });
  const base = drawing("line", { x1: 0, x2: bins * 10, y1: 36.5, y2: 36.5 });
  return drawing("svg", { class: "histogram", viewBox: `0 0 ${bins * 10} 38`, preserveAspectRatio: "none", "aria-hidden": "true" }, ...bars, base);
}

// A few lines beside the pointer.
function showTip(method, number, segment) {
  const chunk = chunksOf(method)[number];
  const extras = ["margin", "mean_similarity", "threshold", "relevant"].filter((name) => name in chunk.extras && chunk.extras[name] !== null);
  const hit = hitOf(method, number);
  const values = extras.map((name) => `${name.replaceAll("_", " ")} ${typeof chunk.extras[name] === "number" ? decimal(chunk.extras[name]) : chunk.extras[name]}`);
  const tip = byId("tip");
  tip.replaceChildren(
    make("b", { text: `${METHODS[method].name} ${number + 1} of ${chunksOf(method).length}` }),
    make("span", { text: chunk.path.slice(-2).join(" › ") || "no heading path" }),
    make("span", { text: [plural(chunk.tokens, "token"), ...values].join(" · ") }),
    ...(hit ? [make("span", { text: `hit ${hit.rank}, score ${hit.score.toFixed(3)}` })] : []),
  );
  tip.hidden = false;
  const box = segment.getBoundingClientRect();
  const view = reader.getBoundingClientRect();
  tip.style.left = `${within(box.right + 8, 4, innerWidth - tip.offsetWidth - 4)}px`;
  tip.style.top = `${within(Math.max(box.top, view.top + 28), 4, innerHeight - tip.offsetHeight - 4)}px`;
}

function hideTip() {
  byId("tip").hidden = true;
}
