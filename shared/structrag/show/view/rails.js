// The tracks beside the text, one a method: a button for every piece of a chunk in a block near the view; and the series beside them.

const near = new Set(); // blocks whose tracks are drawn
const railWidth = () => (matchMedia("(max-width: 640px)").matches ? 11 : 16);
const railsWidth = () => METHODS.length * railWidth();
let seriesShown = -1; // the method whose numbers stand beside the text, -1: none has any

const watcher = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      const block = blocks[target.dataset.block];
      if (!block || block.element !== target) continue;
      if (isIntersecting) near.add(block);
      else if (near.delete(block)) clearBlock(block);
    }
    redraw();
  },
  { root: reader, rootMargin: "500px 0px" },
);

function watchBlocks() {
  watcher.disconnect();
  near.clear();
  for (const block of blocks) watcher.observe(block.element);
}

let planned = 0;
function redraw() {
  if (planned) return;
  planned = requestAnimationFrame(() => {
    planned = 0;
    for (const block of near) drawBlock(block);
    paintMatches();
  });
}

function clearBlock(block) {
  block.rails.replaceChildren();
  block.series.replaceChildren();
}

function chooseSeries() {
  const { splits } = current();
  const has = (method) => splits[method].series !== null;
  seriesShown = has(state.method) ? state.method : METHODS.findIndex((_, method) => has(method));
  document.body.classList.toggle("with-series", seriesShown >= 0);
  drawAxis();
}

function drawAxis() {
  const rails = make("div", { class: "rails" });
  METHODS.forEach((method, number) => {
    const label = make("button", {
      class: "number",
      type: "button",
      text: String(number + 1),
      title: method.name,
      "aria-label": `Colour by ${method.name}`,
      "aria-pressed": String(number === state.method),
      on: { click: () => chooseMethod(number) },
    });
    rails.append(label);
  });
  const path = make("div", { class: "here", id: "here" });
  const series = make("div", { class: "scale" });
  if (seriesShown >= 0) {
    const { name, splitter } = METHODS[seriesShown];
    const { low, high } = current().splits[seriesShown].series;
    const what = SERIES_NAMES[splitter] || "value";
    series.textContent = seriesShown === state.method ? what : name;
    series.title = `${name}: ${what} of each sentence, from ${decimal(low)} to ${decimal(high)}; the line is the threshold`;
  }
  byId("axis").replaceChildren(rails, path, series);
}

function drawBlock(block) {
  const box = block.body.getBoundingClientRect();
  const held = document.activeElement && block.rails.contains(document.activeElement) ? document.activeElement.dataset : null;
  const known = new Map();
  const height = (place) => {
    if (!known.has(place)) known.set(place, heightAt(block, place, box));
    return known.get(place);
  };
  block.rails.replaceChildren(...METHODS.map((_, method) => drawRail(block, method, height, box.height)));
  if (held) focusSegment(Number(held.method), Number(held.chunk));
  drawSeries(block, height, box.height);
}

function drawRail(block, method, height, full) {
  const chunks = chunksOf(method);
  const rail = make("div", { class: method === state.method ? "rail active" : "rail" });
  for (const number of overlapping(chunks, block.from, block.to, startOf, endOf)) {
    const chunk = chunks[number];
    const top = chunk.from > block.from ? height(chunk.from) : 0;
    const bottom = chunk.to < block.to ? height(chunk.to) : full;
    if (bottom - top < 1) continue;
    rail.append(drawSegment(block, method, number, top, bottom));
  }
  return rail;
}

function drawSegment(block, method, number, top, bottom) {
  const chunk = chunksOf(method)[number];
  const starts = chunk.from >= block.from;
  const ends = chunk.to <= block.to;
  const picked = method === state.method && number === state.chunk;
  const hit = hitOf(method, number);
  const looks = ["segment", tintOf(chunk, number), starts && "starts", ends && "ends", picked && "picked", hit && "hit"];
  const segment = make("button", {
    type: "button",
    class: looks.filter(Boolean).join(" "),
    tabindex: picked && starts ? "0" : "-1",
    "aria-label": describe(method, number),
    "aria-current": picked ? "true" : null,
    "data-method": method,
    "data-chunk": number,
  });
  if (hit && starts) segment.append(make("span", { class: "badge", text: String(hit.rank) }));
  segment.style.top = `${top}px`;
  segment.style.height = `${Math.max(2, bottom - top - (ends ? 2 : 0))}px`;
  return segment;
}

function drawSeries(block, height, full) {
  block.series.replaceChildren();
  if (seriesShown < 0) return;
  const { from, to, values, thresholds, low, high } = current().splits[seriesShown].series;
  const width = block.series.clientWidth;
  const across = (value) => within(((value - low) / (high - low)) * (width - 6) + 3, 0, width);
  const first = Math.max(0, countUpTo(from, block.from) - 1);
  const marks = [];
  for (let i = first; i < from.length && from[i] < block.to; i++) {
    if (to[i] <= block.from || values[i] === null) continue;
    const top = from[i] > block.from ? height(from[i]) : 0;
    const bottom = to[i] < block.to ? height(to[i]) : full;
    const above = thresholds[i] === null || values[i] >= thresholds[i];
    const ends = [across(values[i]), thresholds[i] === null ? 0 : across(thresholds[i])].sort((a, b) => a - b);
    const bar = { x: ends[0], y: top, width: Math.max(1, ends[1] - ends[0]) };
    const note = `${decimal(values[i])}, threshold ${decimal(thresholds[i])}`;
    const title = drawing("title", {});
    title.textContent = note;
    const shape = { ...bar, height: Math.max(1.5, bottom - top - 1.5), rx: 1.5, class: above ? "above" : "below" };
    marks.push(drawing("rect", shape, title));
    if (thresholds[i] !== null) {
      const x = across(thresholds[i]);
      marks.push(drawing("line", { x1: x, x2: x, y1: top, y2: bottom, class: "threshold" }));
    }
  }
  block.series.append(...marks);
}

function segmentsOf(method, number) {
  return reader.querySelectorAll(`.segment[data-method="${method}"][data-chunk="${number}"]`);
}

function focusSegment(method, number) {
  const [segment] = segmentsOf(method, number);
  if (segment) segment.focus({ preventScroll: true });
}

// Show which chunk is pointed at, in its track and in the text.
let peeked = [];
function peek(method, number) {
  for (const segment of peeked) segment.classList.remove("peeked");
  peeked = number < 0 ? [] : [...segmentsOf(method, number)];
  for (const segment of peeked) segment.classList.add("peeked");
  const chunk = chunksOf(method)[number];
  paint("peek", chunk ? [rangeOf(pastBlanks(chunk.from, chunk.to), chunk.to)] : []);
}

function watchRails() {
  const target = (event) => event.target.closest && event.target.closest(".segment");
  const over = (event) => {
    const segment = target(event);
    if (!segment) return;
    const [method, number] = [Number(segment.dataset.method), Number(segment.dataset.chunk)];
    peek(method, number);
    showTip(method, number, segment);
    if (state.tab === "chunk") drawChunk(method, number);
  };
  const out = (event) => {
    if (!target(event)) return;
    peek(0, -1);
    hideTip();
    if (state.tab === "chunk") drawChunk(state.method, state.chunk);
  };
  reader.addEventListener("pointerover", over);
  reader.addEventListener("pointerout", out);
  reader.addEventListener("focusin", over);
  reader.addEventListener("focusout", out);
  reader.addEventListener("click", (event) => {
    const segment = target(event);
    if (segment) pick(Number(segment.dataset.method), Number(segment.dataset.chunk), { scroll: false, focus: true });
  });
  reader.addEventListener("keydown", (event) => {
    const segment = target(event);
    const step = { ArrowDown: [0, 1], ArrowUp: [0, -1], ArrowRight: [1, 0], ArrowLeft: [-1, 0] }[event.key];
    if (!segment || !step) return;
    event.preventDefault();
    const method = within(state.method + step[0], 0, METHODS.length - 1);
    const place = chunksOf(state.method)[state.chunk].from;
    const number = step[0] ? chunkAt(method, place) : within(state.chunk + step[1], 0, chunksOf(method).length - 1);
    if (number >= 0) pick(method, number, { focus: true });
  });
}
