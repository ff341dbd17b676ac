// A query's hits: what each route brings to the score, as bars.

function stack(method, hit, best) {
  const { routes } = DATA.searches[method];
  const bar = make("span", { class: "stack", "aria-hidden": "true" });
  hit.shares.forEach((share, i) => {
    if (!(share > 0)) return;
    const part = make("span", { class: `route${i % 6}`, title: `${plainRoute(routes[i])} ${share.toFixed(3)}` });
    part.style.width = `${(100 * share) / Math.max(best, hit.score, 1e-9)}%`;
    bar.append(part);
  });
  return bar;
}

function drawHits() {
  const shown = state.allMethods ? METHODS.map((_, number) => number) : [state.method];
  const box = make("input", { type: "checkbox", on: { change: (event) => { state.allMethods = event.target.checked; drawHits(); } } });
  box.checked = state.allMethods;
  const all = METHODS.length > 1 ? make("label", { class: "all" }, box, "all methods") : null;
  sheet.replaceChildren(
    make("div", { class: "card-head" }, make("h2", { class: "query", text: `“${DATA.query}”` }), all),
    ...shown.map(drawHitList),
  );
}

function drawHitList(method) {
  const { retriever, embedder, routes, hits } = DATA.searches[method];
  const keys = routes.map((route, i) => make("li", {}, make("span", { class: `dot route${i % 6}`, "aria-hidden": "true" }), plainRoute(route)));
  return make(
    "section",
    { class: "hits" },
    make("h3", {}, swatch(method), METHODS[method].name, make("small", { text: retriever, title: `Vectors: ${embedder}` })),
    make("ul", { class: "legend", "aria-label": "What matched" }, ...keys),
    hits.length ? make("ol", { class: "lines" }, ...hits.map((hit, at) => drawHit(method, hit, at))) : make("p", { class: "hint", text: "Nothing was found." }),
  );
}

function drawHit(method, hit, at) {
  const { routes, hits } = DATA.searches[method];
  const found = documentAt(hit.document);
  const chunk = found.splits[method].chunks[hit.chunk];
  const here = method === state.method && hit.document === state.document && hit.chunk === state.chunk;
  const brought = routes.map((route, i) => `${plainRoute(route)} ${hit.shares[i].toFixed(2)}`).join(", ");
  const title = titleOf(found, chunk);
  const words = plainText(found, chunk.from, Math.min(chunk.to, chunk.from + 200));
  const source = DATA.documents.length > 1 ? `${nameOf(found)} · ` : "";
  const button = make(
    "button",
    {
      type: "button",
      class: "line hit-line",
      "aria-current": here ? "true" : null,
      "aria-label": `Hit ${at + 1}: ${title}, score ${hit.score.toFixed(2)}; ${brought}`,
      on: { click: () => goToHit(method, at) },
    },
    make("span", { class: "rank", text: String(at + 1) }),
    make("span", { class: "hit-title", text: title, title: chunk.path.join(" › ") }),
    make("small", { text: hit.score.toFixed(2) }),
    make("small", { class: "words", text: `${source}${words}` }),
    stack(method, hit, hits[0].score),
  );
  return make("li", {}, button);
}

function goToHit(method, at) {
  const hit = DATA.searches[method].hits[at];
  if (!hit) return;
  if (hit.document !== state.document) chooseDocument(hit.document);
  pick(method, hit.chunk, { tab: false });
  if (state.tab === "hits") {
    drawHits();
    const chosen = sheet.querySelector('[aria-current="true"]');
    if (chosen) chosen.focus({ preventScroll: true });
  }
  if (isNarrow()) setOpen("panel", false);
}

function stepHit(by) {
  const search = DATA.searches[state.method];
  if (!search || !search.hits.length) return;
  const hit = hitOf(state.method, state.chunk);
  goToHit(state.method, hit ? within(hit.rank - 1 + by, 0, search.hits.length - 1) : 0);
}
