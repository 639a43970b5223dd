// ---- the page ----

// A file by its name, or by its folder's where every model's file is called so: the whole path is in the tip.
function shortName(model) {
  const parts = model.name.split("/").filter(Boolean);
  const isUsual = /^(config|params)\.json$/.test(parts.at(-1) ?? "") && parts.length > 1;
  const name = isUsual ? parts.at(-2) : parts.length > 1 ? parts.at(-1).replace(/\.(json|gguf|safetensors)$/, "") : model.name;
  return model.set.length ? `${name} with ${model.set.join(", ")}` : name;
}

// The names of the kinds of layers of a stack that differ from the other model's.
function differing(comparison, model, stack, side) {
  const found = (comparison ? comparison.differences : []).filter((d) => d.kind === "substance"
    && (d.stack === stack.name || (d.stack && model.stacks.length === 1)));
  return new Set(found.flatMap((d) => d[`kinds_${side}`]));
}

// [place, why] of the kind that is open at first: of a comparison the first that differs, else the rarest of those that
// attend, since what is odd of a model is there.
function firstKind(stack, differs) {
  const different = stack.kinds.findIndex((kind) => differs.has(kind.name));
  if (different >= 0) return [different, ", the first that differs"];
  const attending = stack.kinds.filter((kind) => kind.kind.includes("attention"));
  const among = attending.length ? attending : stack.kinds;
  const rarest = among.reduce((a, b) => (b.count < a.count ? b : a));
  const isAlone = attending.length && among.filter((kind) => kind.count === rarest.count).length === 1 && among.length > 1;
  return [stack.kinds.indexOf(rarest), isAlone ? ", the rarest that attends" : ""];
}

// The facts that are not the same in all kinds, a column for each kind. What a kind has none of (a window) while others
// have a few members of it is none in each; what others have many members of (a rotation) is one row.
function contrastTable(stack) {
  const kinds = stack.kinds;
  if (kinds.length < 2 || kinds.length > 6) return null;
  const words = kinds.map((kind) => new Map(kind.facts.map((fact) => [fact.fact, fact.words])));
  const paths = [...new Set(words.flatMap((of) => [...of.keys()]))];
  const below = (path) => paths.filter((other) => other.startsWith(`${path}/`));
  const whole = paths.filter((path) => below(path).length > 4);
  const told = (of, path) => path === "" ? "" : of.get(path) ?? told(of, path.slice(0, Math.max(0, path.lastIndexOf("/"))));
  const rows = paths.filter((path) => (whole.includes(path) || !below(path).length)
    && !whole.some((one) => path.startsWith(`${one}/`)) && new Set(words.map((of) => told(of, path))).size > 1);
  return element("details", { class: "contrast", open: rows.length <= 16 },
    element("summary", {}, `What differs between the kinds: ${rows.length} ${rows.length === 1 ? "fact" : "facts"}`),
    element("div", { class: "wide" }, element("table", {},
      element("thead", {}, element("tr", {}, ["fact", ...kinds.map((kind) => kind.name)].map((h) => element("th", { scope: "col" }, h)))),
      element("tbody", {}, rows.map((path) => element("tr", {}, element("td", {}, pathCode(path)),
        words.map((of) => element("td", {}, told(of, path) || (below(path).length ? "yes" : "-")))))))));
}

function stackView(model, stack, key, differs) {
  const section = element("section", { "aria-label": stack.name });
  section.append(element("h2", {}, stack.name));
  if (!stack.known) {
    section.append(element("p", { class: "bad" }, `Not known: ${stack.unknown.join("; ") || "see the warnings"}. What follows was read, and is not what the model is known to do.`));
  }
  if (!stack.kinds.length) return section;
  const body = element("div");
  const buttons = stack.kinds.map((kind, n) => element("button", { type: "button", "data-kind": kind.name }, swatch(n), `${kind.name}: ${kind.count} \u00d7 ${summary(kind)}${differs.has(kind.name) ? " (differs)" : ""}`));
  const select = (n) => {
    buttons.forEach((button, k) => button.setAttribute("aria-pressed", String(k === n)));
    body.replaceChildren(kindView(model, stack, stack.kinds[n], key));
    choose(key, n);
  };
  const [usual, why] = firstKind(stack, differs);
  const first = chosen(key, 0, stack.kinds.length - 1, usual);
  const layers = strip(stack, select, first);
  buttons.forEach((button, n) => button.addEventListener("click", () => { select(n); layers.showKind(n); }));
  const hint = buttons.length < 2 ? "" : ` Below is one kind at a time: click a kind, or a layer of the strip, to see all of it. At first it is ${stack.kinds[usual].name}${why}.`;
  section.append(element("p", { class: "quiet hint" }, `${stack.layers} ${stack.layers === 1 ? "layer" : "layers, the first on the left"}.${hint}`),
    layers,
    stack.layers > 1 ? element("p", { class: "ends", "aria-hidden": "true" }, element("span", {}, "0"), element("span", {}, String(stack.layers - 1))) : null,
    element("div", { class: "kinds", role: "group", "aria-label": "Kinds of layers" }, buttons));
  const contrast = contrastTable(stack);
  if (contrast) section.append(contrast);
  section.append(body);
  buttons.forEach((button, k) => button.setAttribute("aria-pressed", String(k === first)));
  body.append(kindView(model, stack, stack.kinds[first], key));
  return section;
}

function keyList(title, keys) {
  return keys.length ? element("details", {}, element("summary", {}, `${title}: ${keys.length}`),
    element("div", {}, element("p", {}, keys.map((key) => [element("code", {}, key), " "]).flat()))) : null;
}

// Bytes that one layer of each kind keeps, by length.
function layerCaches(model) {
  const stacks = model.stacks.filter((stack) => stack.kinds.some((kind) => kind.cache?.bytes.length));
  return stacks.flatMap((stack) => stack.kinds.flatMap((kind, n) => kind.cache?.bytes.length
    ? [{ name: `a layer of ${stacks.length > 1 ? `${stack.name} ` : ""}${kind.name}`, values: kind.cache.bytes, kind: n, dashed: true }] : []));
}

function modelView(model, m, numbers, name) {
  const side = m === numbers.models.length - 1 ? "b" : "a";
  const comparison = m === 0 || side === "b" ? numbers.comparison : null;
  const article = element("article", { "aria-label": model.name });
  // Three parts, which stand beside those of the other model.
  const [head, stacks, rest] = ["head", "stacks", "rest"].map((name) => element("div", { class: name }));
  article.append(head, stacks, rest);
  head.append(element("h2", { class: "model", title: model.name }, name),
    element("p", { class: "quiet" }, `${model.model_type ? `model_type ${model.model_type}, ` : ""}family ${model.family || "not known"}, from ${model.source}; ${model.trained_length === null ? "the file gives no length of its own" : `the file gives ${model.trained_length} tokens as its length`}; looked at for ${model.length} tokens.`));
  if (!model.known) head.append(element("p", { class: "bad" }, "Not everything that positions need is known of this model."));
  head.append(element("h3", {}, "In short"), element("ul", { class: "findings" },
    model.findings.map((f) => element("li", { "data-about": f.about }, element("b", {}, `${f.about}: `), f.text))));
  model.stacks.forEach((stack, s) => stacks.append(stackView(model, stack, `m${m}s${s}`, differing(comparison, model, stack, side))));
  if (model.cache.length > 1) {
    const whole = model.cache.map((c) => c.bytes);
    rest.append(element("div", { class: "charts" }, chart({ name: "cache", title: "KV cache, 16 bits a number",
      x: { name: "tokens", values: model.cache.map((c) => c.tokens), log: true }, y: { name: "bytes", log: true, bytes: true },
      curves: [{ name: "the whole model", values: whole, kind: 4, dots: true }, ...layerCaches(model)],
      caption: `${bytes(whole.at(-1))} at ${model.cache.at(-1).tokens} tokens.` })));
  }
  rest.append(element("h3", {}, "What is odd in the files"));
  rest.append(model.warnings.length
    ? element("ul", { class: "warnings" }, model.warnings.map((w) => element("li", {}, element("b", {}, `${w.code}: `), w.text)))
    : element("p", { class: "quiet" }, "No warnings."));
  for (const list of [keyList("Keys that are not there, so that a default holds", model.absent_keys),
    keyList("Keys of the file that nothing read", model.ignored_keys)]) {
    if (list) rest.append(list);
  }
  return article;
}

function comparisonView(comparison, names) {
  const a = names[0], b = names.at(-1);
  // Where values come from and which keys are absent is in the words below.
  const rows = comparison.differences.filter((d) => !["sources", "absent_keys", "ignored_keys"].includes(d.field));
  return element("section", { id: "differences", "aria-label": "Differences" }, element("h2", {}, "What differs"),
    element("p", { class: "quiet" }, `The first is ${a}, the second ${b}.`),
    element("p", { class: "verdict" }, element("b", {}, comparison.plainly[0]), " ", comparison.plainly.slice(1).join(" ")),
    comparison.by_length.map((one) => element("p", { class: "by-length" }, element("b", {}, `${one.texts}: `), one.words)),
    rows.length ? element("div", { class: "wide" }, element("table", {},
      element("thead", {}, element("tr", {}, ["", "layers", "fact", a, b].map((h) => element("th", { scope: "col" }, h)))),
      element("tbody", {}, rows.map((d) => element("tr", {}, element("td", {}, d.kind),
        element("td", {}, [d.stack, d.layers_a || d.layers_b].filter(Boolean).join(" ")), element("td", {}, element("code", {}, d.field)),
        element("td", {}, d.a), element("td", {}, d.b)))))) : element("p", {}, "Nothing."),
    element("details", {}, element("summary", {}, "In words, with what follows for whoever mixes the two"),
      element("div", {}, element("pre", {}, comparison.words))));
}

function showPage(numbers) {
  const main = document.getElementById("models");
  const alike = numbers.models.map(shortName);
  const names = alike.map((name, m) => alike.some((other, n) => n !== m && other === name) ? `${name} (${m + 1})` : name);
  document.title = `Positions: ${names.join(", ")}`;
  document.getElementById("title").textContent = names.length === 1 ? `Positions in ${names[0]}` : "Positions in these models";
  document.getElementById("about").textContent = `Everything that ${names.length === 1 ? "this file says" : "these files say"} about positions: layer by layer, where each value comes from, and what follows at the length looked at. A pair is two channels of a head that turn together, by position times inv_freq; a rule is a scaling rule.`;
  document.getElementById("version").textContent = numbers.posenc;
  main.replaceChildren();
  shareScales(numbers);
  if (numbers.comparison) main.append(comparisonView(numbers.comparison, names));
  main.append(element("div", { class: numbers.comparison ? "side" : "" }, numbers.models.map((model, m) => modelView(model, m, numbers, names[m]))));
  rememberFolds(main, "p");
}
