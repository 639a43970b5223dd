// ---- the strip of all layers, and what one kind of them does ----

// [place, kind] of the layer that stands at a part of the strip's width.
function layerAt(stack, part) {
  let place = Math.max(0, Math.min(stack.layers - 1, Math.floor(part * stack.layers)));
  let begin = 0;
  for (const [kind, count] of stack.strip) {
    if (place < begin + count) return [place, kind];
    begin += count;
  }
  return [0, 0];
}

// `first`: the kind that is open at first.
function strip(stack, onChoose, first) {
  const parts = [];
  let begin = 0;
  // A path for each kind: a strip of a million layers stays a few elements.
  const paths = new Map();
  for (const [kind, count] of stack.strip) {
    const x = begin / stack.layers * 1000, w = count / stack.layers * 1000;
    const gap = stack.layers <= 200 ? 1000 / stack.layers : 0;
    let d = paths.get(kind) ?? "";
    if (gap) for (let n = 0; n < count; ++n) d += `M${(x + n * gap).toFixed(3)} 4h${(gap * 0.86).toFixed(3)}v32h-${(gap * 0.86).toFixed(3)}z`;
    else if (w >= 0.01 || parts.length < 5000) d += `M${x.toFixed(3)} 4h${Math.max(w, 0.02).toFixed(3)}v32h-${Math.max(w, 0.02).toFixed(3)}z`;
    paths.set(kind, d);
    begin += count;
  }
  for (const [kind, d] of paths) parts.push(element("path", { class: `k${kind % 8}`, d }));
  const mark = element("path", { class: "cursor", d: "", fill: "none" });
  const svg = element("svg", { class: "strip", viewBox: "0 0 1000 44", preserveAspectRatio: "none", tabindex: 0, role: "slider",
    "aria-label": `Layers of ${stack.name}`, "aria-valuemin": 0, "aria-valuemax": stack.layers - 1 }, parts, mark);
  let at = 0;
  const words = (place, kind) => `layer ${place}: kind ${stack.kinds[kind].name}, ${summary(stack.kinds[kind])}`;
  const move = (place) => {
    const [there, kind] = layerAt(stack, (place + 0.5) / stack.layers);
    at = there;
    svg.setAttribute("aria-valuenow", there);
    svg.setAttribute("aria-valuetext", words(there, kind));
    const x = (there + 0.5) / stack.layers * 1000;
    mark.setAttribute("d", `M${x - 4} 44L${x} 37L${x + 4} 44`);
    return kind;
  };
  const placeOf = (event) => {
    const box = svg.getBoundingClientRect();
    return layerAt(stack, (event.clientX - box.left) / box.width);
  };
  svg.addEventListener("pointermove", (event) => showTip(words(...placeOf(event)), event.clientX, event.clientY));
  svg.addEventListener("pointerleave", hideTip);
  svg.addEventListener("blur", hideTip);
  svg.addEventListener("click", (event) => onChoose(move(placeOf(event)[0])));
  svg.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    onChoose(move(Math.max(0, Math.min(stack.layers - 1, at + step))));
    const box = svg.getBoundingClientRect();
    showTip(svg.getAttribute("aria-valuetext"), box.left + (at + 0.5) / stack.layers * box.width, box.bottom);
  });
  // To the first layer of a kind.
  svg.showKind = (kind) => move(stack.strip.slice(0, stack.strip.findIndex(([one]) => one === kind)).reduce((sum, [, count]) => sum + count, 0));
  svg.showKind(first);
  return svg;
}

function factOf(kind, path) { return kind.facts.find((fact) => fact.fact === path)?.words; }

// "rotates by base 10000, sees 1024 back"
function summary(kind) {
  const words = [];
  if (kind.kind !== "attention") words.push(kind.kind.replaceAll("_", " "));
  const main = kind.rotations.findIndex((r) => r.role === "main");
  if (main >= 0) {
    const rule = kind.rotations[main].scaling.split(",")[0];
    words.push(`rotates by base ${factOf(kind, `rotate/${main}/base`)}${rule === "none" ? "" : `, ${fieldName(rule)}`}`);
  } else if (kind.mask && kind.kind === "attention") {
    words.push(kind.biases.length ? kind.biases.map((b) => fieldName(b.kind)).join(" and ") : "does not rotate");
  }
  const mask = kind.mask;
  if (mask.chunk !== null) words.push(`chunks of ${mask.chunk}`);
  else if (mask.past !== null) words.push(`window ${mask.past + 1}`);
  else if (kind.kind.includes("attention")) words.push(mask.kind);
  if (kind.query_scale) words.push("queries scaled by position");
  return words.join(", ");
}

// Where a value came from, in words.
function origin(from) {
  if (from === null) return "";
  return from.startsWith("default: ") ? ["default: ", from.slice(9)].join("") : from;
}

// A path, which may be broken behind its slashes and underscores.
function pathCode(path) {
  return element("code", {}, path.split(/(?<=[/_])/).flatMap((part, n) => (n ? [element("wbr"), part] : [part])));
}

// What a pointer on a fact is told: its file and key, or its default.
function factTip(fact, file) {
  if (fact.from === null) return fact.fact;
  return `${fact.fact}: ${/^(default|set): /.test(fact.from) ? fact.from : `${fact.from} of ${file}`}`;
}

function factTable(facts, file) {
  return element("div", { class: "wide" }, element("table", { class: "facts" },
    element("thead", {}, element("tr", {}, ["fact", "value", "where it comes from"].map((h) => element("th", { scope: "col" }, h)))),
    element("tbody", {}, facts.map((fact) => element("tr", { title: factTip(fact, file) },
      element("td", {}, pathCode(fact.fact)),
      element("td", {}, fact.words),
      element("td", { class: "quiet" }, fact.from === null ? "" : pathCode(origin(fact.from))))))));
}

// The first and the last key that a query sees, both included; the same formulas as docs/attention.md.
function visible(mask, query, length) {
  let low = 0, high = mask.kind === "bidirectional" ? length - 1 : query;
  if (mask.past !== null) low = Math.max(low, query - mask.past);
  if (mask.future !== null && mask.kind === "bidirectional") high = Math.min(high, query + mask.future);
  if (mask.chunk !== null) {
    const begin = Math.floor(query / mask.chunk) * mask.chunk;
    low = Math.max(low, begin);
    high = Math.min(high, begin + mask.chunk - 1);
  }
  return [low, high];
}

function windowView(model, stack, kind, key) {
  const mask = kind.mask;
  if (mask.kind === "sparse" || mask.cross) {
    return element("p", {}, mask.cross ? "Cross attention: a query sees all that the encoder gave."
      : `A query sees what this mask allows: ${mask.detail || "keys that are picked by content"}.`);
  }
  if (mask.kind === "bidirectional" && mask.past === null && mask.future === null && mask.chunk === null) {
    return element("p", {}, `A query sees all tokens${mask.detail ? `: ${mask.detail}` : ""}.`);
  }
  // Pictures and sounds are not as long as the text that is looked at.
  if (/^(vision|audio)/.test(stack.name)) {
    return element("p", {}, mask.chunk !== null ? `A query sees its own chunk of ${mask.chunk}.`
      : `A query sees ${mask.past ?? "all"} back and ${mask.kind === "causal" ? "none" : mask.future ?? "all"} ahead.`);
  }
  const length = model.length;
  const svg = element("svg", { viewBox: "0 0 1000 56", preserveAspectRatio: "none", class: "see", "aria-hidden": "true" });
  const words = element("p", { "aria-live": "polite", class: "visible" });
  const input = element("input", { type: "range", min: 0, max: length - 1, step: 1, value: chosen(key, 0, length - 1, length - 1),
    "aria-label": "Place of the query" });
  const draw = () => {
    const query = Number(input.value);
    const [low, high] = visible(mask, query, length);
    const x = (place) => place / length * 1000;
    svg.replaceChildren(
      element("rect", { class: "k7", x: 0, y: 26, width: 1000, height: 4 }),
      element("rect", { class: "k0", x: x(low), y: 16, width: Math.max(2, x(high + 1) - x(low)), height: 24 }),
      element("rect", { class: "k1", x: Math.min(997, x(query)), y: 6, width: 3, height: 44 }));
    words.textContent = `Query ${query} (orange) sees ${high - low + 1} of ${length} keys (blue): ${low} to ${high}.`;
  };
  const look = () => { choose(key, input.value); draw(); };
  input.addEventListener("input", look);
  const drag = (event) => {
    if (!event.buttons) return;
    const box = svg.getBoundingClientRect();
    input.value = Math.floor((event.clientX - box.left) / box.width * length);
    look();
  };
  for (const kind of ["pointerdown", "pointermove"]) svg.addEventListener(kind, drag);
  draw();
  return element("figure", { "data-chart": "visible" }, element("h4", {}, "What a query sees"), svg, input, words,
    mask.compression !== null
      ? element("figcaption", {}, `Besides, keys that are made of ${mask.compression} tokens each.`) : null,
    mask.detail ? element("figcaption", {}, mask.detail) : null);
}
