"use strict";
// ---- elements, numbers, the pointer's tip ----

const SVG = "http://www.w3.org/2000/svg";

function element(name, attributes = {}, ...children) {
  const made = ["svg", "g", "path", "line", "circle", "rect", "text", "title", "desc"].includes(name)
    ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, String(value));
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined) made.append(child);
  }
  return made;
}

// The digits that --json has are kept in tables; charts and tips take fewer.
function short(x) {
  if (x === null || x === undefined) return "never";
  if (Number.isInteger(x) && Math.abs(x) < 1e6) return String(x);
  const size = Math.abs(x);
  if (size >= 1e6 || size < 1e-3) return x.toExponential(3).replace(/\.?0+e/, "e").replace("e+", "e");
  return String(Number(x.toPrecision(4)));
}

function tokens(n) {
  for (const [size, letter] of [[1073741824, "G"], [1048576, "M"], [1024, "k"]]) {
    if (n >= size && n % size === 0) return `${n / size}${letter}`;
  }
  return short(n);
}

function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  while (n >= 1024 && unit + 1 < units.length) { n /= 1024; ++unit; }
  return `${Number(n.toPrecision(4))} ${units[unit]}`;
}

// What the field calls a rule or a score term that JSON has a word for.
const FIELD_NAMES = { linear: "linear scaling", ntk: "NTK scaling", dynamic: "dynamic NTK", qwen_ntk: "Qwen's dynamic NTK", yarn: "YaRN",
  longrope: "LongRoPE", llama3: "Llama 3's rule", proportional: "p-RoPE", factors: "a list of factors", alibi: "ALiBi", t5: "T5's bias",
  clipped: "a bias by clipped distance", grid: "a bias by place in a window", kerple: "KERPLE", fire: "FIRE", sandwich: "Sandwich",
  mlp: "a perceptron of the distance", shaw: "Shaw's vectors", transformer_xl: "Transformer-XL's vectors", xlnet: "XLNet's vectors",
  deberta: "DeBERTa's vectors", decomposed_hw: "vectors by rows and columns", contextual: "CoPE", forget: "forget gates (FoX)",
  distance_logits: "logits by distance" };

function fieldName(word) { return FIELD_NAMES[word] ?? word; }

const tip = document.getElementById("tip");

function showTip(text, x, y) {
  tip.textContent = text;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = Math.min(x + 14, innerWidth - box.width - 8);
  const top = y + 18 + box.height > innerHeight ? y - box.height - 10 : y + 18;
  // Through the object model, since a style attribute is what the page's own policy refuses.
  tip.style.left = `${Math.max(4, left)}px`;
  tip.style.top = `${Math.max(4, top)}px`;
}

function hideTip() { tip.hidden = true; }

// ---- the address after #: what is chosen, so that a link restores it ----

const state = new Map(new URLSearchParams(location.hash.slice(1)));

// Another link, put into the address of the page that is open.
addEventListener("hashchange", () => { if (location.hash.includes("=")) location.reload(); });

function choose(key, value) {
  state.set(key, String(value));
  history.replaceState(null, "", `#${new URLSearchParams([...state])}`);
}

// A whole number of the address from `low` to `high`, else the usual one.
function chosen(key, low, high, usual) {
  const n = Number(state.get(key));
  return state.has(key) && Number.isInteger(n) && n >= low && n <= high ? n : usual;
}

// What is folded open or shut below `root`, under names that begin with `key`.
function rememberFolds(root, key) {
  root.querySelectorAll("details:not([data-link])").forEach((details, n) => {
    const name = `${key}d${n}`;
    const isOpen = () => chosen(name, 0, 1, usual) === 1;
    const usual = Number(details.open);
    details.setAttribute("data-link", name);
    details.open = isOpen();
    // It also fires for what the page has opened itself.
    details.addEventListener("toggle", () => { if (details.open !== isOpen()) choose(name, Number(details.open)); });
  });
}
