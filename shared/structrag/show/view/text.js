// The text in blocks of some thousand characters that the browser lays out when they come near; each is cut into runs of one look.

const BLOCK = 3000;
let blocks = []; // of the document shown: {from, to, element, rails, body, series, runs}
const runOfNode = new WeakMap(); // text node -> {block, from}

function blockEnds(text) {
  const ends = [];
  let from = 0;
  while (from < text.length) {
    let end = text.indexOf("\n", from + BLOCK) + 1;
    if (end === 0 || end > from + 3 * BLOCK) {
      end = Math.min(text.length, from + 2 * BLOCK);
      const space = text.lastIndexOf(" ", end) + 1;
      if (end < text.length && space > from + BLOCK) end = space;
      if (text.length - from <= 3 * BLOCK && text.indexOf("\n", from + BLOCK) < 0) end = text.length;
      const half = text.charCodeAt(end - 1);
      if (end < text.length && half >= 0xd800 && half < 0xdc00) end += 1;
    }
    ends.push(end);
    from = end;
  }
  return ends;
}

function buildBlocks() {
  const shown = current();
  const lines = byId("blocks").clientWidth - railsWidth() - 72;
  const perLine = Math.max(24, Math.min(lines, 720) / 7.4);
  let from = 0;
  blocks = blockEnds(shown.text).map((to, number) => {
    const rails = make("div", { class: "rails" });
    const body = make("div", { class: "body", dir: "auto" });
    const series = drawing("svg", { class: "series", "aria-hidden": "true" });
    const element = make("section", { class: "row block", "data-block": number }, rails, body, series);
    const block = { from, to, element, rails, body, series, runs: [] };
    let height = 0;
    for (const line of shown.text.slice(from, to - 1).split("\n")) height += Math.max(1, Math.ceil(line.length / perLine));
    element.style.containIntrinsicBlockSize = `auto ${Math.round(height * 24)}px`;
    from = to;
    return block;
  });
  for (const block of blocks) fillBlock(block);
  byId("blocks").replaceChildren(...blocks.map((block) => block.element));
}

// The spans that reach into [from, to), of spans that ascend; at most `before` of them reach into the next.
function overlapping(spans, from, to, start, end, before = 1) {
  const found = [];
  for (let i = Math.max(0, countUpTo(spans, from, start) - before); i < spans.length && start(spans[i]) < to; i++) {
    if (end(spans[i]) > from) found.push(i);
  }
  return found;
}

// The text of a span in one line, without the marks of Markdown.
function plainText(shown, from, to) {
  let text = "";
  let at = from;
  for (const i of overlapping(shown.looks, from, to, startOf, endOf, 60)) {
    const look = shown.looks[i];
    if ((look.kind !== "mark" && look.kind !== "bullet") || look.from < at) continue;
    text += shown.text.slice(at, look.from);
    at = look.to;
  }
  return (text + shown.text.slice(at, to)).split(/\s+/).join(" ").trim();
}

const startOf = (chunk) => chunk.from;
const endOf = (chunk) => chunk.to;

function fillBlock(block) {
  const shown = current();
  const { from, to } = block;
  const chunks = chunksOf(state.method);
  const inside = overlapping(chunks, from, to, startOf, endOf);
  const headings = overlapping(shown.sections.slice(1), from, to, (s) => s.from, (s) => s.bodyFrom).map((i) => shown.sections[i + 1]);
  const columns = overlapping(shown.columns, from, to, (span) => span[0], (span) => span[1]).map((i) => shown.columns[i]);
  const looks = overlapping(shown.looks, from, to, startOf, endOf, 60).map((i) => shown.looks[i]);
  const edges = new Set([from, to]);
  for (const look of looks) edges.add(look.from).add(look.to);
  for (const i of inside) edges.add(chunks[i].from).add(chunks[i].to);
  for (const heading of headings) edges.add(heading.from).add(heading.bodyFrom);
  for (const [start, end] of columns) edges.add(start).add(end);
  const cuts = [...edges].filter((edge) => edge >= from && edge <= to).sort((a, b) => a - b);
  block.runs = [];
  const fragment = document.createDocumentFragment();
  const cells = looks.filter((look) => look.kind === "cell");
  let cell = null; // the box of the cell that is being filled
  let at = 0; // the first look that has not ended
  for (let i = 0; i + 1 < cuts.length; i++) {
    const [start, end] = [cuts[i], cuts[i + 1]];
    const span = document.createElement("span");
    while (at < looks.length && looks[at].to <= start) at += 1;
    const here = [];
    for (let each = at; each < looks.length && looks[each].from <= start; each++) if (looks[each].to > start) here.push(looks[each]);
    const number = inside.find((each) => chunks[each].from <= start && start < chunks[each].to) ?? -1;
    const classes = here.filter((look) => look.kind !== "cell").map((look) => `look-${look.kind}`);
    const heading = headings.find((each) => each.from <= start && start < each.bodyFrom);
    if (heading) classes.push("heading", `level${Math.min(depthOf(heading), 4)}`);
    else if (columns.some((span) => span[0] <= start && start < span[1])) classes.push("columns");
    if (number >= 0) {
      classes.push("chunk", tintOf(chunks[number], number));
      if (start === chunks[number].from) classes.push("first");
      if (number === state.chunk) classes.push("picked");
      span.dataset.chunk = number;
    }
    span.className = classes.join(" ");
    span.textContent = shown.text.slice(start, end);
    runOfNode.set(span.firstChild, { block, from: start });
    block.runs.push({ from: start, to: end, span, chunk: number });
    const ofCell = cells.find((look) => look.from <= start && start < look.to);
    if (!ofCell) fragment.append(span);
    else {
      if (!cell || cell.look !== ofCell) {
        cell = { look: ofCell, box: make("span", { class: "cell" }) };
        cell.box.style.width = `${ofCell.width}%`;
        fragment.append(cell.box);
      }
      cell.box.append(span);
    }
  }
  block.body.replaceChildren(fragment);
}

function depthOf(section) {
  let depth = 1;
  for (let parent = section.parent; parent; parent = current().sections[parent].parent) depth += 1;
  return depth;
}

const blockAt = (place) => blocks[within(countUpTo(blocks, place, (block) => block.from) - 1, 0, blocks.length - 1)];

// The text node and the place in it.
function nodeAt(place) {
  const { runs } = blockAt(place);
  const run = runs[within(countUpTo(runs, place, (each) => each.from) - 1, 0, runs.length - 1)];
  return [run.span.firstChild, within(place - run.from, 0, run.to - run.from)];
}

function rangeOf(from, to) {
  const range = new Range();
  range.setStart(...nodeAt(from));
  const [node, place] = nodeAt(Math.max(from, to - 1));
  range.setEnd(node, Math.min(place + 1, node.length));
  return range;
}

// Ranges drawn over the text without changing it, in browsers that can.
function paint(name, ranges) {
  if (typeof Highlight === "undefined" || !CSS.highlights) return;
  if (ranges.length) CSS.highlights.set(name, new Highlight(...ranges));
  else CSS.highlights.delete(name);
}

const blank = /\s/;

function pastBlanks(place, limit) {
  const { text } = current();
  while (place < limit && blank.test(text[place])) place += 1;
  return place;
}

// How far below the block's top a place is, in pixels; within a line it grows from left to right.
function heightAt(block, place, box) {
  if (place <= block.from) return 0;
  const seen = pastBlanks(place, block.to);
  if (seen >= block.to) return box.height;
  const [node, at] = nodeAt(seen);
  const range = new Range();
  range.setStart(node, at);
  range.setEnd(node, at + 1);
  const mark = range.getClientRects()[0] || range.getBoundingClientRect();
  const along = within((mark.left - box.left) / Math.max(1, box.width), 0, 1);
  return within(mark.top - box.top + (along < 0.02 ? 0 : along) * mark.height, 0, box.height);
}

// The place at the top of what is seen.
let jumped = null; // where the page went last; the reader is there until somebody scrolls

// The place that is read: where the page went, else what stands a fifth below the top.
const readPlace = () => (jumped === null ? placeAt(reader.scrollTop > 0 ? reader.clientHeight * 0.2 : 0) : jumped);
const topPlace = () => placeAt(0);

function placeAt(below) {
  const view = reader.getBoundingClientRect();
  const top = view.top + byId("axis").offsetHeight + below;
  const number = countUpTo(blocks, top + 1, (block) => block.element.getBoundingClientRect().top) - 1;
  const block = blocks[Math.max(0, number)];
  if (!block) return 0;
  const { left } = block.body.getBoundingClientRect();
  for (let y = top + 12; y < top + 72; y += 12) {
    const found = document.caretPositionFromPoint
      ? document.caretPositionFromPoint(left + 4, y)
      : document.caretRangeFromPoint && document.caretRangeFromPoint(left + 4, y);
    const node = found && (found.offsetNode || found.startContainer);
    const run = node && runOfNode.get(node);
    if (run) return run.from + (found.offset ?? found.startOffset);
  }
  return block.from;
}

// Bring a place to a fifth of the height, or right under the top; nothing moves when it can be read already and `gently`.
function showPlace(place, { gently = false, top = false } = {}) {
  const block = blockAt(place);
  jumped = place;
  markSection(place);
  const settle = () => {
    const view = reader.getBoundingClientRect();
    const box = block.body.getBoundingClientRect();
    const y = box.top - view.top + heightAt(block, place, box);
    if (gently && y > 40 && y < view.height * 0.6) return;
    reader.scrollTop += y - (top ? byId("axis").offsetHeight + 6 : view.height * 0.2);
  };
  settle();
  gently = false;
  requestAnimationFrame(settle);
}
