// What the user chooses, and what follows from it.

const isNarrow = () => matchMedia("(max-width: 900px)").matches;

function chooseDocument(number) {
  state.document = number;
  state.chunk = -1;
  const shown = current();
  byId("documents").value = String(number);
  byId("facts").textContent = `${short(shown.tokens)} tokens · ${plural(shown.sections.length - 1, "heading")}`;
  document.title = `${nameOf(shown)} · structrag`;
  chooseSeries();
  drawChips();
  drawOutline();
  buildBlocks();
  watchBlocks();
  reader.scrollTop = 0;
  jumped = null;
  search(byId("find-text").value);
  paintWords();
  drawPanel();
  markSection(0);
  remember();
}

function chooseMethod(number) {
  if (number === state.method || !METHODS[number]) return;
  const place = state.chunk >= 0 ? pastBlanks(chunksOf(state.method)[state.chunk].from, chunksOf(state.method)[state.chunk].to) : -1;
  state.method = number;
  state.chunk = place >= 0 ? chunkAt(number, place) : -1;
  for (const block of blocks) fillBlock(block);
  paintWords();
  chooseSeries();
  drawChips();
  drawPanel();
  redraw();
  markSection(readPlace());
  remember();
}

// Select a chunk. `scroll`: bring it into view; `focus`: move the focus to its track; `tab`: show it in the panel.
function pick(method, number, { scroll = true, focus = false, tab = true } = {}) {
  const before = state.chunk;
  if (method !== state.method) chooseMethod(method);
  state.chunk = number;
  const chunk = chunksOf(method)[number];
  const dirty = [before, number].flatMap((each) => chunksOf(method)[each] || []);
  for (const each of dirty) {
    for (let i = blocks.indexOf(blockAt(each.from)); i < blocks.length && blocks[i].from < each.to; i++) {
      for (const run of blocks[i].runs) run.span.classList.toggle("picked", run.chunk === number && number >= 0);
    }
  }
  if (chunk && scroll) showPlace(chunk.from, { gently: true });
  if (tab && number >= 0 && state.tab !== "chunk") chooseTab("chunk");
  else drawPanel();
  if (tab && chunk && isNarrow()) setOpen("panel", true);
  redraw();
  if (chunk) byId("voice").textContent = describe(method, number);
  if (focus) requestAnimationFrame(() => requestAnimationFrame(() => focusSegment(method, number)));
  remember();
}

function stepChunk(by) {
  const chunks = chunksOf(state.method);
  if (!chunks.length) return;
  const inRail = document.activeElement && document.activeElement.matches(".segment");
  const here = state.chunk >= 0 ? state.chunk + by : countUpTo(chunks, topPlace(), startOf) - 1;
  pick(state.method, within(here, 0, chunks.length - 1), { focus: inRail, tab: state.tab !== "hits" });
}

function drawChips() {
  const chips = METHODS.map((method, number) => {
    const { chunks } = current().splits[number];
    const options = { type: "button", class: "chip", "aria-pressed": String(number === state.method), title: `${method.splitter}: ${plural(chunks.length, "chunk")} (key ${number + 1})` };
    return make("button", { ...options, on: { click: () => chooseMethod(number) } }, swatch(number), method.name, make("small", { text: short(chunks.length) }));
  });
  byId("methods").replaceChildren(...chips);
  chips[state.method].scrollIntoView({ block: "nearest", inline: "center" });
}

// What colours and numbers mean, for what is on this page.
function drawLegend() {
  const dot = (look) => make("span", { class: `dot ${look}`, "aria-hidden": "true" });
  const items = [
    [[dot("tint0"), dot("tint1"), dot("tint2"), dot("tint3")], "neighbouring chunks: the colour changes where the text is cut"],
    METHODS.some((method) => method.splitter === "PICSplitter") && [[dot("low0")], "less relevant to the whole (pic)"],
    DATA.searches.length && [[make("span", { class: "key dark", text: "1", "aria-hidden": "true" })], "place among the hits"],
    DATA.searches.some((found) => found.words) && [[make("span", { class: "sample", text: "word", "aria-hidden": "true" })], "matches a word of the question"],
    current().splits.some(({ series }) => series !== null) && [[dot("bar-above"), dot("bar-below")], "similarity or margin, above and below the threshold"],
  ];
  byId("legend").replaceChildren(...items.filter(Boolean).map(([signs, text]) => make("li", {}, make("span", { class: "signs" }, ...signs), text)));
}

function setOpen(name, open) {
  document.body.classList.toggle(`no-${name}`, !open);
  byId(`show-${name}`).setAttribute("aria-expanded", String(open));
}

const toggle = (name) => setOpen(name, document.body.classList.contains(`no-${name}`));

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem("structrag-theme", theme);
  } catch {
    // a page from a file may not be allowed to keep anything
  }
}

function startTheme() {
  const asked = new URLSearchParams(location.hash.slice(1)).get("theme");
  let kept = null;
  try {
    kept = localStorage.getItem("structrag-theme");
  } catch {
    kept = null;
  }
  const theme = asked || kept;
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
}

function otherTheme() {
  const now = document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  setTheme(now === "dark" ? "light" : "dark");
}

// The address says what is shown, so that it can be shared.
function remember() {
  const parts = new URLSearchParams({ document: state.document + 1, method: METHODS[state.method].name });
  if (state.chunk >= 0) parts.set("chunk", state.chunk + 1);
  try {
    history.replaceState(null, "", `#${parts}`);
  } catch {
    // not every browser lets a file change its address
  }
}

// Where nothing else is asked for, the page begins with what the query found.
const bestHit = (method) => DATA.searches[method]?.hits[0] ?? null;

function readAddress({ first = false } = {}) {
  const parts = new URLSearchParams(location.hash.slice(1));
  const named = METHODS.findIndex(({ name }) => name === parts.get("method"));
  const method = named >= 0 ? named : Math.max(0, DATA.searches.findIndex(({ words }) => words));
  const chunk = Number(parts.get("chunk")) - 1;
  const best = parts.has("document") ? null : bestHit(method);
  const asked = best ? best.document : Number(parts.get("document")) - 1 || 0;
  const number = within(asked, 0, DATA.documents.length - 1);
  if (first) state.method = method;
  if (first || number !== state.document) chooseDocument(number);
  if (chunksOf(method)[chunk]) pick(method, chunk);
  else chooseMethod(method);
  if (first && best) showPlace(chunksOf(method)[best.chunk].from, { gently: true });
}

const KEYS = {
  j: () => stepChunk(1),
  k: () => stepChunk(-1),
  n: () => stepMatch(1),
  N: () => stepMatch(-1),
  "[": () => stepHit(-1),
  "]": () => stepHit(1),
  "/": () => byId("find-text").select(),
  o: () => toggle("outline"),
  p: () => toggle("panel"),
  t: otherTheme,
  "?": () => byId("keys").showModal(),
  Escape: () => {
    if (isNarrow() && !document.body.classList.contains("no-outline")) setOpen("outline", false);
    else if (isNarrow() && !document.body.classList.contains("no-panel")) setOpen("panel", false);
    else if (state.chunk >= 0) pick(state.method, -1, { tab: false });
  },
};

function watchKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || byId("keys").open) return;
    if (event.target.matches("input, select, textarea")) return;
    const action = KEYS[event.key] || (/^[1-9]$/.test(event.key) && (() => chooseMethod(Number(event.key) - 1)));
    if (!action) return;
    event.preventDefault();
    action();
  });
}

function watchReader() {
  let waiting = 0;
  for (const name of ["wheel", "touchmove", "pointerdown"]) reader.addEventListener(name, () => (jumped = null), { passive: true });
  reader.addEventListener("keydown", (event) => {
    if (/^(Arrow|Page|Home|End| )/.test(event.key)) jumped = null;
  });
  reader.addEventListener("scroll", () => {
    hideTip();
    if (waiting) return;
    waiting = setTimeout(() => {
      waiting = 0;
      markSection(readPlace());
    }, 80);
  }, { passive: true });
  reader.addEventListener("click", (event) => {
    const run = event.target.closest(".chunk");
    if (run && getSelection().isCollapsed) pick(state.method, Number(run.dataset.chunk), { scroll: false });
  });
  let over = -1;
  reader.addEventListener("pointermove", (event) => {
    if (event.pointerType !== "mouse" || event.target.closest(".segment")) return;
    const run = event.target.closest(".chunk");
    const number = run ? Number(run.dataset.chunk) : -1;
    if (number === over) return;
    over = number;
    for (const segment of peeked) segment.classList.remove("peeked");
    peeked = number < 0 ? [] : [...segmentsOf(state.method, number)];
    for (const segment of peeked) segment.classList.add("peeked");
    if (state.tab === "chunk") drawChunk(state.method, number < 0 ? state.chunk : number);
  });
  new ResizeObserver(redraw).observe(byId("blocks"));
}

function start() {
  startTheme();
  document.body.style.setProperty("--methods", METHODS.length);
  if (isNarrow()) setOpen("outline", false);
  if (isNarrow()) setOpen("panel", DATA.searches.length > 0);
  byId("panel-name").textContent = DATA.searches.length ? "Hits" : "Details";
  drawLegend();
  byId("documents").replaceChildren(...DATA.documents.map((each, number) => make("option", { value: number, text: nameOf(each) })));
  byId("documents").disabled = DATA.documents.length === 1;
  byId("documents").addEventListener("change", (event) => chooseDocument(Number(event.target.value)));
  byId("theme").addEventListener("click", otherTheme);
  byId("help").addEventListener("click", () => byId("keys").showModal());
  for (const name of ["outline", "panel"]) byId(`show-${name}`).addEventListener("click", () => toggle(name));
  drawTabs();
  watchRails();
  watchOutline();
  watchFind();
  watchKeys();
  watchReader();
  addEventListener("hashchange", () => readAddress());
  readAddress({ first: true });
  // Arrow keys scroll the text at once; its frame is shown when the focus comes back to it.
  reader.classList.add("unframed");
  reader.addEventListener("blur", () => reader.classList.remove("unframed"), { once: true });
  reader.focus({ preventScroll: true });
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
}

start();
