// ---- a chart of curves over one axis, with its values under the pointer and in a table ----

const WIDTH = 560, HEIGHT = 270, LEFT = 62, RIGHT = 16, TOP = 26, BOTTOM = 40;

function scaleOf(values, log, from, to) {
  const finite = values.filter((v) => v !== null && Number.isFinite(v) && (!log || v > 0));
  let low = Math.min(...finite), high = Math.max(...finite);
  if (!finite.length) { low = log ? 1 : 0; high = log ? 10 : 1; }
  if (low === high) { low = log ? low / 2 : low - 0.5; high = log ? high * 2 : high + 0.5; }
  const map = log ? Math.log10 : (v) => v;
  const scale = (v) => from + (map(v) - map(low)) / (map(high) - map(low)) * (to - from);
  return Object.assign(scale, { low, high, log, holds: (v) => v !== null && (!log || v > 0) });
}

function ticksOf(scale, ofBytes) {
  if (ofBytes) {
    const first = Math.ceil(Math.log2(scale.low) - 1e-9), last = Math.floor(Math.log2(scale.high) + 1e-9);
    return range(last - first + 1).filter((n) => n % Math.max(1, Math.ceil((last - first) / 5)) === 0).map((n) => 2 ** (first + n));
  }
  if (scale.log) {
    const first = Math.ceil(Math.log10(scale.low) - 1e-9), last = Math.floor(Math.log10(scale.high) + 1e-9);
    const step = Math.max(1, Math.ceil((last - first) / 6));
    const out = [];
    for (let e = first; e <= last; e += step) out.push(Number(`1e${e}`));
    if (out.length > 1) return out;
    // Less than two powers of ten: some numbers between them.
    const finer = [];
    for (let e = first - 1; e <= last + 1; ++e) {
      for (const m of [1, 2, 5]) finer.push(Number(`${m}e${e}`));
    }
    return finer.filter((t) => t >= scale.low && t <= scale.high);
  }
  const rough = (scale.high - scale.low) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
  const out = [];
  for (let t = Math.ceil(scale.low / step) * step; t <= scale.high + step * 1e-9; t += step) {
    out.push(Number(t.toPrecision(12)));
  }
  return out;
}

// A value that is worth a name, in place of those that its name would touch.
function withTick(ticks, value, scale) {
  const NAME = 14;
  return value === undefined || !Number.isFinite(value) ? ticks : [...ticks.filter((t) => Math.abs(scale(t) - scale(value)) >= NAME), value];
}

// Six digits do not fit beside an axis.
function tickName(t) { return Math.abs(t) >= 1e5 ? t.toExponential().replace("e+", "e") : short(t); }

function table(columns) {
  const rows = Math.max(...columns.map((column) => column.values.length));
  const cell = (value) => value === null || value === undefined ? "never" : String(value);
  return element("div", { class: "wide", tabindex: 0 }, element("table", {},
    element("thead", {}, element("tr", {}, columns.map((c) => element("th", { class: "number", scope: "col" }, c.name)))),
    element("tbody", {}, Array.from({ length: rows }, (_, row) => element("tr", {},
      columns.map((c) => element("td", { class: "number" }, cell(c.values[row]))))))));
}

// Named lines across a chart. A name stands above its line, on the left, where wavelengths are short; below it where the
// next line is so near that the names would touch, or the name of the axis.
function limitLines(limits, yScale) {
  const NAME = 16;
  const placed = limits.map((limit) => ({ ...limit, at: yScale(limit.y) })).sort((a, b) => a.at - b.at);
  return placed.flatMap(({ name, at }, n) => {
    const isBelow = at - (n > 0 ? placed[n - 1].at : TOP - 10) < NAME;
    return [element("line", { class: "limit", x1: LEFT, x2: WIDTH - RIGHT, y1: at, y2: at }),
      element("text", { class: "limit-name", x: LEFT + 6, y: isBelow ? at + NAME - 3 : at - 4 }, name)];
  });
}

// Of two models beside each other: the values that a chart's scale has to hold, by its name.
const shared = new Map();

function shareScales(numbers) {
  shared.clear();
  if (!numbers.comparison) return;
  const add = (name, values) => shared.set(name, [...(shared.get(name) ?? []), ...values]);
  for (const model of numbers.models) {
    add("cache", [model.cache.map((c) => c.bytes), ...layerCaches(model).map((curve) => curve.values)].flat());
    for (const rotation of model.stacks.flatMap((stack) => stack.kinds).flatMap((kind) => kind.rotations)) {
      if (!rotation.by_time) continue;
      add("wavelengths", [rotation.wavelength, rotation.unscaled ? rotation.unscaled.wavelength : [], model.length].flat());
      add("decay", [rotation.decay.score.slice(1), (rotation.decay.unscaled ?? []).slice(1)].flat());
      if (rotation.tables) add("tables", [rotation.tables.float32, rotation.tables.bfloat16].flat());
    }
  }
}

// {title, caption, x: {name, values, log}, y: {name, log, tick, bytes}, curves: [{name, values, kind, dashed, dots, marked, parts}],
//  limits: [{name, y}]}. marked: places in `values` that get a ring. parts: the name of the line that each value is of.
// tick: a value of the axis that is named in any case. bytes: whether the values are bytes.
function chart(of) {
  const xs = of.x.values;
  const all = of.curves.flatMap((curve) => curve.values);
  const xScale = scaleOf(xs, of.x.log, LEFT, WIDTH - RIGHT);
  const yScale = scaleOf([...all, ...(of.limits ?? []).map((l) => l.y), ...(shared.get(of.name) ?? [])], of.y.log, HEIGHT - BOTTOM, TOP);
  const parts = [];
  for (const t of ticksOf(xScale)) {
    const at = xScale(t);
    parts.push(element("line", { class: "grid", x1: at, x2: at, y1: TOP, y2: HEIGHT - BOTTOM }),
      element("text", { x: at, y: HEIGHT - BOTTOM + 16, "text-anchor": "middle" }, tickName(t)));
  }
  const words = of.y.bytes ? bytes : short;
  for (const t of withTick(ticksOf(yScale, of.y.bytes), of.y.tick, yScale)) {
    const at = yScale(t);
    parts.push(element("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: at, y2: at }),
      element("text", { x: LEFT - 6, y: at + 4, "text-anchor": "end" }, of.y.bytes ? bytes(t).replace(/i?B$/, "") : tickName(t)));
  }
  parts.push(element("text", { x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 6, "text-anchor": "middle" }, of.x.name),
    element("text", { x: LEFT, y: TOP - 10 }, of.y.name));
  parts.push(...limitLines(of.limits ?? [], yScale));
  for (const curve of of.curves) {
    const kind = `k${(curve.kind ?? 0) % 8}`;
    const lines = new Map();  // by part
    const down = new Set();
    curve.values.forEach((v, n) => {
      const part = curve.parts && curve.parts.length ? curve.parts[n] : "";
      if (!yScale.holds(v) || !xScale.holds(xs[n])) { down.delete(part); return; }
      lines.set(part, `${lines.get(part) ?? ""}${down.has(part) ? "L" : "M"}${xScale(xs[n]).toFixed(1)} ${yScale(v).toFixed(1)}`);
      down.add(part);
      if (curve.dots) parts.push(element("circle", { class: `dot ${kind}`, cx: xScale(xs[n]), cy: yScale(v), r: 2.4 }));
    });
    if (!curve.dots || curve.values.length > 1) {
      parts.push(element("path", { class: `curve ${kind}${curve.dashed ? " other" : ""}`, d: [...lines.values()].join(""), fill: "none" }));
    }
    for (const n of curve.marked ?? []) {
      if (yScale.holds(curve.values[n])) {
        parts.push(element("circle", { class: "unseen", cx: xScale(xs[n]), cy: yScale(curve.values[n]), r: 4.5 }));
      }
    }
  }
  const cursor = element("line", { class: "cursor", x1: 0, x2: 0, y1: TOP, y2: HEIGHT - BOTTOM, visibility: "hidden" });
  const svg = element("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, tabindex: 0, role: "img",
    "aria-label": `${of.title}. ${of.caption ?? ""} Arrow keys go from value to value; the table below has all of them.` },
    parts, cursor);
  let at = 0;
  const show = (n, clientX, clientY) => {
    at = Math.max(0, Math.min(xs.length - 1, n));
    const x = xScale(xs[at]);
    cursor.setAttribute("x1", x);
    cursor.setAttribute("x2", x);
    cursor.setAttribute("visibility", "visible");
    const box = svg.getBoundingClientRect();
    const lines = [`${of.x.name}: ${short(xs[at])}`,
      ...of.curves.slice(0, 12).map((c) => `${c.name}: ${words(c.values[at])}${(c.marked ?? []).includes(at) ? " (beyond)" : ""}`)];
    showTip(lines.join("\n"), clientX ?? box.left + x / WIDTH * box.width, clientY ?? box.top + box.height / 3);
  };
  const leave = () => { cursor.setAttribute("visibility", "hidden"); hideTip(); };
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const x = (event.clientX - box.left) / box.width * WIDTH;
    let best = 0;
    xs.forEach((v, n) => {
      if (xScale.holds(v) && Math.abs(xScale(v) - x) < Math.abs(xScale(xs[best]) - x)) best = n;
    });
    show(best, event.clientX, event.clientY);
  });
  svg.addEventListener("pointerleave", leave);
  svg.addEventListener("blur", leave);
  svg.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    show(at + step);
  });
  const legend = of.curves.length > 1 && of.curves.length <= 8
    ? element("figcaption", {}, of.curves.map((c) => [swatch(c.kind ?? 0), `${c.name}${c.dashed ? " (dashed)" : ""}  `]).flat())
    : null;
  return element("figure", { class: "chart", "data-chart": of.name },
    element("h4", {}, of.title), svg, legend,
    of.caption ? element("figcaption", {}, of.caption) : null,
    element("details", {}, element("summary", {}, "As a table"),
      table([{ name: of.x.name, values: xs }, ...of.curves.map((c) => ({ name: c.name, values: c.values }))])));
}

function swatch(kind) {
  const svg = element("svg", { viewBox: "0 0 10 10", class: "swatch", "aria-hidden": "true" },
    element("rect", { class: `k${kind % 8}`, width: 10, height: 10 }));
  return svg;
}
