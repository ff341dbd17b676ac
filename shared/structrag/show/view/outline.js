// The outline as a tree; the children of a section are made when it is opened.

const tree = byId("tree");
const ROWS_OPEN = 40; // sections are opened level by level while about so many rows are shown
let itemOf = new Map(); // section number -> its item
let childrenOf = [];
let marked = null;

function drawOutline() {
  const { sections } = current();
  childrenOf = sections.map(() => []);
  sections.forEach((section, number) => number && childrenOf[section.parent].push(number));
  itemOf = new Map();
  marked = null;
  const rows = childrenOf[0].map((number) => makeItem(number, 1));
  if (current().text.slice(sections[0].bodyFrom, sections[1] ? sections[1].from : 0).trim()) rows.unshift(makeItem(0, 1));
  tree.replaceChildren(...rows);
  if (!childrenOf[0].length) {
    tree.replaceChildren(make("li", { class: "empty", role: "none", text: "No headings were found in this document." }));
    return;
  }
  openLevels();
  rows[0].tabIndex = 0;
}

function openLevels() {
  let level = childrenOf[0];
  let rows = level.length;
  while (level.length) {
    const next = level.flatMap((number) => childrenOf[number]);
    rows += next.length;
    if (rows > ROWS_OPEN) return;
    for (const number of level) toggleItem(itemOf.get(number), true);
    level = next;
  }
}

function makeItem(number, level) {
  const { sections, tokens } = current();
  const section = sections[number];
  const size = number ? section.tokens : section.tokens - childrenOf[0].reduce((sum, child) => sum + sections[child].tokens, 0);
  const bar = make("span", { class: "size-bar" });
  bar.style.width = `${Math.max(2, (100 * size) / Math.max(1, tokens))}%`;
  const title = number ? section.title || "(untitled)" : "(before the first heading)";
  const row = make(
    "div",
    { class: "item-row", title: `${title}\n${plural(size, "token")}` },
    make("span", { class: "twisty", "aria-hidden": "true" }),
    make("span", { class: "item-title", text: title }),
    make("span", { class: "size", text: short(size) }),
    bar,
  );
  const open = number && childrenOf[number].length ? "false" : null;
  const options = { role: "treeitem", tabindex: "-1", "aria-level": level, "aria-expanded": open, "data-section": number };
  const item = make("li", { ...options, "aria-label": `${title}, ${plural(size, "token")}` }, row);
  row.style.paddingInlineStart = `${0.25 + 0.8 * (level - 1)}rem`;
  itemOf.set(number, item);
  return item;
}

function toggleItem(item, open) {
  if (!item || !item.hasAttribute("aria-expanded")) return;
  item.setAttribute("aria-expanded", String(open));
  let group = item.querySelector(":scope > ul");
  if (open && !group) {
    const level = Number(item.getAttribute("aria-level")) + 1;
    const rows = childrenOf[item.dataset.section].map((number) => makeItem(number, level));
    group = make("ul", { role: "group" }, ...rows);
    item.append(group);
  }
  if (group) group.hidden = !open;
}

function focusItem(item) {
  if (!item) return;
  for (const each of tree.querySelectorAll('[tabindex="0"]')) each.tabIndex = -1;
  item.tabIndex = 0;
  item.focus();
}

// Mark the section that is read, or the nearest above it that is shown.
function markSection(place) {
  const { sections } = current();
  let number = countUpTo(sections, place, (section) => section.from) - 1;
  const here = byId("here");
  const titles = [];
  for (let each = number; each > 0; each = sections[each].parent) titles.unshift(sections[each].title);
  if (here) here.textContent = titles.join(" › ");
  const seen = (each) => itemOf.has(each) && itemOf.get(each).offsetParent !== null;
  while (number > 0 && !seen(number)) number = sections[number].parent;
  const item = itemOf.get(number) || null;
  if (item === marked) return;
  if (marked) marked.removeAttribute("aria-current");
  marked = item;
  if (!item) return;
  item.setAttribute("aria-current", "location");
  const row = item.firstElementChild.getBoundingClientRect();
  const view = byId("outline").getBoundingClientRect();
  if (row.top < view.top || row.bottom > view.bottom) byId("outline").scrollTop += row.top - view.top - view.height / 3;
}

function goToSection(item) {
  const section = current().sections[item.dataset.section];
  if (isNarrow()) setOpen("outline", false);
  showPlace(section.from, { top: true });
}

function watchOutline() {
  tree.addEventListener("click", (event) => {
    const item = event.target.closest("[role=treeitem]");
    if (!item) return;
    focusItem(item);
    if (event.target.closest(".twisty")) toggleItem(item, item.getAttribute("aria-expanded") !== "true");
    else goToSection(item);
  });
  tree.addEventListener("keydown", (event) => {
    const item = event.target.closest("[role=treeitem]");
    if (!item || event.ctrlKey || event.metaKey || event.altKey) return;
    const shown = [...tree.querySelectorAll("[role=treeitem]")].filter((each) => each.offsetParent !== null);
    const at = shown.indexOf(item);
    const open = item.getAttribute("aria-expanded");
    const actions = {
      ArrowDown: () => focusItem(shown[at + 1]),
      ArrowUp: () => focusItem(shown[at - 1]),
      Home: () => focusItem(shown[0]),
      End: () => focusItem(shown[shown.length - 1]),
      ArrowRight: () => (open === "false" ? toggleItem(item, true) : open && focusItem(shown[at + 1])),
      ArrowLeft: () => (open === "true" ? toggleItem(item, false) : focusItem(item.parentElement.closest("[role=treeitem]"))),
      Enter: () => goToSection(item),
      " ": () => goToSection(item),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  });
}
