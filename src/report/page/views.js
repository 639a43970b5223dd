// ---- the charts of a kind of layer ----

function range(n) { return Array.from({ length: n }, (_, i) => i); }

function rotationCharts(model, rotation) {
  const pairs = range(rotation.inv_freq.length);
  const out = [];
  const limits = [];
  if (rotation.by_time) {
    if (rotation.before_scaling !== null && rotation.before_scaling !== model.length) {
      limits.push({ name: `${rotation.unscaled ? "before scaling" : "trained"}: ${tokens(rotation.before_scaling)}`, y: rotation.before_scaling });
    }
    limits.push({ name: `looked at: ${tokens(model.length)}`, y: model.length });
  }
  const lists = rotation.switch;
  const ruled = lists ? `with ${rotation.length > lists.at ? "long_factor" : "short_factor"}` : "with the rule";
  const curves = [{ name: rotation.unscaled ? ruled : "wavelength", values: rotation.wavelength, kind: 0, dots: true,
    marked: rotation.unseen, parts: rotation.axis }];
  if (rotation.unscaled) {
    curves.push({ name: "without the rule", values: rotation.unscaled.wavelength, kind: 1, dashed: true,
      marked: rotation.unseen_without_rule });
  }
  const unit = rotation.by_time ? "tokens a turn" : "steps of the grid a turn";
  out.push(chart({ name: "wavelengths", title: "Wavelengths", x: { name: "pair of channels", values: pairs, log: false },
    y: { name: unit, log: true }, curves, limits,
    caption: rotation.by_time ? "A pair above a line does not complete a turn within that length."
      + (rotation.unseen.length ? " A ring: there it meets angles that it never had in training." : "")
      + (rotation.unscaled && rotation.unseen_without_rule.length ? " A ring on the dashed curve: without the rule the pair would meet angles that training never had." : "") : "" }));
  if (rotation.axis.length) {
    const names = [...new Set(rotation.axis)];
    out.push(element("p", { class: "quiet" }, "Axes: " + names.map((n) => `${n} turns ${rotation.axis.filter((a) => a === n).length} pairs`).join(", ") + "."));
  }
  if (rotation.by_time) {
    const decay = [{ name: rotation.unscaled ? ruled : "score", values: rotation.decay.score.slice(1), kind: 0 }];
    if (rotation.decay.unscaled) decay.push({ name: "without the rule", values: rotation.decay.unscaled.slice(1), kind: 1, dashed: true });
    out.push(chart({ name: "decay", title: "Equal tokens, further and further apart",
      x: { name: "distance in tokens", values: rotation.decay.distance.slice(1), log: true },
      y: { name: "score over that at distance 0" }, curves: decay,
      caption: "The mean of cos(distance times inv_freq) over all pairs." }));
  }
  if (rotation.unscaled) {
    const ratios = lists
      ? [{ name: `short_factor, up to ${lists.at} tokens`, values: lists.slower_up_to, kind: 1, dots: true },
        { name: "long_factor, longer texts", values: lists.slower_beyond, kind: 2, dots: true }]
      : [{ name: "times slower", values: rotation.slower, kind: 2, dots: true }];
    const factors = lists ? [] : rotation.slower.filter((v) => v !== null);
    const slowest = Math.max(...ratios.flatMap((curve) => curve.values).filter((v) => v !== null && Number.isFinite(v)));
    if (factors.length && Math.max(...factors) - Math.min(...factors) < 1e-9 * factors[0]) {
      out.push(element("p", { "data-chart": "ratio" }, `What the rule does: ${Math.abs(factors[0] - 1) < 1e-3 ? "every pair turns as without it." : `every pair turns exactly ${short(factors[0])} times slower than without it.`}`));
    } else out.push(chart({ name: "ratio", title: lists ? `What the rule does: two lists, switched at ${lists.at} tokens` : "What the rule does",
      x: { name: "pair of channels", values: pairs }, y: { name: "times slower than without it", log: true, tick: slowest }, curves: ratios,
      caption: "1: the pair turns as it did, and near tokens are told apart as before." }));
  }
  if (rotation.by_time && rotation.tables) {
    out.push(chart({ name: "tables", title: "What rounded tables lose", x: { name: "position", values: rotation.tables.position, log: true },
      y: { name: "largest error of cos and sin", log: true },
      curves: [{ name: "float32 angles", values: rotation.tables.float32, kind: 0, dots: true },
        { name: "bfloat16 tables", values: rotation.tables.bfloat16, kind: 1, dots: true }],
      caption: "In the last 16 positions before each, against exact ones." }));
  }
  return out;
}

function biasCharts(bias, key) {
  if (!bias.heads.length) return [element("p", {}, `${fieldName(bias.kind)}: ${bias.numbers}.`)];
  const shown = bias.heads.map((values, head) => ({ name: bias.heads.length > 1 ? `head ${head}` : bias.numbers, values, kind: head }));
  const out = [chart({ name: "bias", title: `${fieldName(bias.kind)}, by distance`, x: { name: "distance, query less key", values: bias.distance },
    y: { name: bias.numbers }, curves: shown,
    caption: bias.heads.length > 8 ? `${bias.heads.length} heads; under the pointer the first 12, in the table all.` : "" })];
  out.push(matrix(bias, key));
  return out;
}

// One head's numbers by query and key: a square of the nearest 48 tokens.
function matrix(bias, key) {
  const side = 48;
  const by = new Map(bias.distance.map((d, n) => [d, n]));
  const select = element("select", { "aria-label": "Head" }, bias.heads.map((_, head) => element("option", { value: head }, `head ${head}`)));
  select.value = String(chosen(key, 0, bias.heads.length - 1, 0));
  const svg = element("svg", { viewBox: `0 0 ${side} ${side}`, class: "matrix", tabindex: 0, role: "img",
    "aria-label": "Bias by query, downwards, and key. Arrow keys go from cell to cell; the table by distance has all numbers." });
  const mark = element("rect", { class: "mark", width: 1, height: 1, visibility: "hidden" });
  const draw = () => {
    const values = bias.heads[Number(select.value)];
    const finite = values.filter((_, n) => Math.abs(bias.distance[n]) < side);
    const low = Math.min(...finite), high = Math.max(...finite);
    const shades = range(16).map(() => "");
    for (let i = 0; i < side; ++i) {
      for (let j = 0; j < side; ++j) {
        const n = by.get(i - j);
        if (n === undefined) continue;
        const shade = high > low ? Math.round((values[n] - low) / (high - low) * 15) : 15;
        shades[shade] += `M${j} ${i}h1v1h-1z`;
      }
    }
    svg.replaceChildren(...shades.map((d, s) => element("path", { class: "k0", d, stroke: "none", "fill-opacity": (s + 1) / 16, "stroke-width": 0 })), mark);
  };
  const show = (i, j, x, y) => {
    const n = by.get(i - j);
    showTip(`query ${i}, key ${j}\n${n === undefined ? "not seen" : short(bias.heads[Number(select.value)][n])}`, x, y);
  };
  const cell = [side - 1, side];  // of the keyboard, just behind the last key at first
  svg.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    step.forEach((by, axis) => { cell[axis] = Math.max(0, Math.min(side - 1, cell[axis] + by)); });
    for (const [name, value] of [["y", cell[0]], ["x", cell[1]], ["visibility", "visible"]]) mark.setAttribute(name, value);
    const box = svg.getBoundingClientRect();
    show(...cell, box.left + (cell[1] + 0.5) / side * box.width, box.top + (cell[0] + 0.5) / side * box.height);
  });
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    show(Math.floor((event.clientY - box.top) / box.height * side), Math.floor((event.clientX - box.left) / box.width * side), event.clientX, event.clientY);
  });
  svg.addEventListener("pointerleave", hideTip);
  svg.addEventListener("blur", () => { mark.setAttribute("visibility", "hidden"); hideTip(); });
  select.addEventListener("change", () => { choose(key, select.value); draw(); });
  draw();
  return element("figure", { "data-chart": "matrix" }, element("h4", {}, "By query (down) and key"), svg, bias.heads.length > 1 ? select : null);
}

function kindView(model, stack, kind, key) {
  const charts = [];
  if (kind.kind.includes("attention") && kind.mask) charts.push(windowView(model, stack, kind, `${key}q`));
  kind.rotations.forEach((rotation) => {
    if (kind.rotations.length > 1) charts.push(element("h4", {}, `Rotation of role ${rotation.role}`));
    charts.push(...rotationCharts(model, rotation));
  });
  kind.biases.forEach((bias, n) => charts.push(...biasCharts(bias, `${key}${kind.name}h${n}`)));
  if (kind.query_scale) {
    const last = kind.query_scale.position.at(-1);
    const scales = kind.query_scale.scale;
    charts.push(scales.every((s) => s === scales[0]) ? element("p", { "data-chart": "query_scale" }, `Queries are multiplied by ${short(scales[0])} up to position ${last}.`) : chart({ name: "query_scale", title: "Queries are multiplied by", x: { name: "position", values: kind.query_scale.position, log: true },
      y: { name: "factor" }, curves: [{ name: "factor", values: kind.query_scale.scale, kind: 3, dots: true }] }));
  }
  const cache = kind.cache === null ? null : element("p", {}, kind.cache.shared_from !== null
    ? `Keys and values are those of layer ${kind.cache.shared_from}.`
    : `Caches ${kind.cache.numbers_per_token} numbers a token and layer`
      + (kind.cache.most_tokens === null ? "." : `, of ${kind.cache.most_tokens} tokens at most.`));
  const nothing = kind.facts.filter((fact) => fact.words === "none");
  const section = element("section", { "aria-label": `Layers of kind ${kind.name}` },
    element("h3", {}, `${kind.name}: ${kind.count === 1 ? "layer" : "layers"} ${kind.layers}`),
    element("p", { class: "quiet" }, summary(kind)), cache,
    element("div", { class: "charts" }, charts),
    element("details", { open: true }, element("summary", {}, "All facts, and where each comes from"),
      factTable(kind.facts.filter((fact) => fact.words !== "none"), model.name),
      nothing.length ? element("details", {}, element("summary", {}, `What these layers have not: ${nothing.length} facts that are none`), factTable(nothing, model.name)) : null));
  rememberFolds(section, `${key}${kind.name}`);
  return section;
}
