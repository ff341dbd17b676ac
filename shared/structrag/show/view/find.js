// Finding words in the text. Matches are painted near the view only.

const MOST_MATCHES = 20000;
const found = { matches: [], at: -1 };

function search(words) {
  found.matches = [];
  found.at = -1;
  const pattern = words
    .trim()
    .split(/\s+/)
    .map((word) => word.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&"))
    .join("\\s+");
  if (pattern) {
    for (const match of current().text.matchAll(new RegExp(pattern, "giu"))) {
      found.matches.push([match.index, match.index + match[0].length]);
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
