// ---- the compiled library ----

const encode = (text) => new TextEncoder().encode(text);

class Library {
  static async load() {
    const packed = Uint8Array.from(atob(document.getElementById("library").textContent.trim()), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const library = new Library();
    library.module = await WebAssembly.compile(await new Response(stream).arrayBuffer());
    library.start();
    return library;
  }

  // Anew after each call that something was thrown in, since that ends the call where it stands.
  start() {
    const imports = {};
    for (const { module, name } of WebAssembly.Module.imports(this.module)) {
      imports[module] ??= {};
      imports[module][name] = (...given) => {
        if (name === "thrown") throw new Error(this.text(given[0], given[1]));
        if (name === "proc_exit") throw new Error(`the library ended with status ${given[0]}`);
        if (name === "environ_sizes_get") {
          const memory = new DataView(this.exports.memory.buffer);
          memory.setUint32(given[0], 0, true);
          memory.setUint32(given[1], 0, true);
          return 0;
        }
        const notSupported = 58;
        return notSupported;
      };
    }
    this.exports = new WebAssembly.Instance(this.module, imports).exports;
    this.exports._initialize();
  }

  text(at, size) { return new TextDecoder().decode(new Uint8Array(this.exports.memory.buffer, at, size)); }

  // [status, answer] of an export that takes bytes (as two arguments each) and numbers.
  call(name, ...given) {
    const held = [];
    try {
      const words = given.flatMap((one) => {
        if (typeof one === "number") return [one];
        const at = this.exports.grow(Math.max(1, one.length));
        if (at === 0) throw new Error("no memory for a file of that size");
        held.push(at);
        new Uint8Array(this.exports.memory.buffer).set(one, at);
        return [at, one.length];
      });
      const status = this.exports[name](...words);
      const answer = this.text(this.exports.answer(), this.exports.answer_size());
      held.forEach((at) => this.exports.shrink(at));
      return [status, answer];
    } catch (error) {
      this.start();
      return [1, error.message];
    }
  }
}

// ---- what is looked at ----

const NONE = new Uint8Array();
const FIRST_PART = 4 << 20, LARGEST_PART = 512 << 20;
const LONGEST_LINK = 6000;
// What the slider's factor is called by a rule, behind what else it must have.
const RULES = { linear: "factor", ntk: "alpha", dynamic: "factor", yarn: "factor", llama3: "low_freq_factor=1,high_freq_factor=4,factor" };
const byId = (id) => document.getElementById(id);

let library;
let file = { name: "", bytes: NONE, original: NONE };
let timer = 0;

function show() {
  const set = byId("set").value;
  const length = Number(byId("length").value) || 0;
  const original = byId("against").checked ? file.original : NONE;
  const [status, answer] = library.call("read", file.bytes, encode(file.name), encode(set), length, 0, original);
  byId("refused").textContent = status === 0 ? "" : answer;
  byId("stale").hidden = status === 0;
  byId("models").classList.toggle("stale", status !== 0);
  if (status !== 0) return;
  showPage(JSON.parse(answer));
  choose("set", set);
  choose("length", byId("length").value);
  choose("against", byId("against").checked ? 1 : 0);
}

function soon() {
  clearTimeout(timer);
  timer = setTimeout(show, 120);
}

// What a link can hold of a file: its text where that is short, else its name.
function linkFile(name, text) {
  for (const key of ["model", "config", "file"]) state.delete(key);
  if (text !== null && text.length <= LONGEST_LINK) choose("config", text);
  else choose("file", name);
}

// `bytes`: those of the file, of which the text is what can be shown.
function showText(name, text, bytes = encode(text)) {
  file = { name, bytes, original: bytes };
  byId("text").value = text;
  byId("text").disabled = false;
  show();
}

function openPreset(name) {
  const [status, answer] = library.call("preset", encode(name));
  if (status !== 0) {
    byId("refused").textContent = answer;
    return;
  }
  let text = answer;
  try { text = JSON.stringify(JSON.parse(answer), null, 1); } catch { /* as it is */ }
  byId("preset").value = name;
  for (const key of ["config", "file"]) state.delete(key);
  choose("model", name);
  showText(name, text);
}

// Of a file of any size no more than its header is read.
async function openFile(given) {
  byId("preset").value = "";
  const magic = new TextDecoder("latin1").decode(await given.slice(0, 4).arrayBuffer());
  if (magic !== "GGUF") {
    if (given.size > LARGEST_PART) {
      byId("refused").textContent = `${given.name} is ${bytes(given.size)} and no GGUF file: a config.json is meant`;
      return;
    }
    const text = await given.text();
    linkFile(given.name, text);
    showText(given.name, text, new Uint8Array(await given.arrayBuffer()));
    return;
  }
  for (let size = FIRST_PART; ; size *= 4) {
    const part = new Uint8Array(await given.slice(0, Math.min(size, given.size)).arrayBuffer());
    const [status] = library.call("read", part, encode(given.name), NONE, 0, 0, NONE);
    if (status !== 0 && size < given.size && size * 4 <= LARGEST_PART) continue;
    file = { name: given.name, bytes: part, original: part };
    linkFile(given.name, null);
    byId("text").value = `${given.name}: a GGUF file, whose keys are not shown here`;
    byId("text").disabled = true;
    show();
    return;
  }
}

function setWord(word, value) {
  const rest = byId("set").value.split("\n").filter((line) => line && !line.startsWith(`${word}=`));
  byId("set").value = [...rest, ...(value === null ? [] : [`${word}=${value}`])].join("\n");
  soon();
}

// The sliders where the words that are set have them.
function placeSliders() {
  const lines = byId("set").value.split("\n");
  const of = (word) => lines.find((line) => line.startsWith(`${word}=`))?.slice(word.length + 1);
  const rule = of("rope_scaling")?.split(",") ?? [""];
  const factor = Number(rule.find((part) => part.startsWith(`${RULES[rule[0]]?.split(",").at(-1)}=`))?.split("=")[1] ?? 4);
  byId("rule").value = rule[0];
  byId("factor").value = Math.log2(factor);
  byId("factor-shown").textContent = String(factor);
  if (of("base") === undefined) return;
  byId("base").value = Math.log10(Number(of("base")));
  byId("base-shown").textContent = of("base");
}

function sliders() {
  const rule = byId("rule").value;
  const factor = Number((2 ** Number(byId("factor").value)).toPrecision(3));
  byId("factor-shown").textContent = String(factor);
  setWord("rope_scaling", rule === "" ? null : RULES[rule] ? `${rule},${RULES[rule]}=${factor}` : rule);
  const base = Number(byId("base").value);
  const isSet = base > Number(byId("base").min);
  const shown = Number((10 ** base).toPrecision(3));
  byId("base-shown").textContent = isSet ? String(shown) : "as the file says";
  setWord("base", isSet ? shown : null);
}

async function begin() {
  library = await Library.load();
  const names = library.call("presets")[1].split("\n").filter(Boolean);
  byId("preset").append(element("option", { value: "" }, ""), ...names.map((name) => element("option", { value: name }, name)));
  byId("preset").addEventListener("change", () => { if (byId("preset").value) openPreset(byId("preset").value); });
  byId("file").addEventListener("change", () => { if (byId("file").files.length) openFile(byId("file").files[0]); });
  byId("text").addEventListener("input", () => {
    file.bytes = encode(byId("text").value);
    linkFile(file.name, byId("text").value);
    soon();
  });
  for (const id of ["length", "set", "against"]) byId(id).addEventListener("input", soon);
  for (const id of ["rule", "factor", "base"]) byId(id).addEventListener("input", sliders);
  addEventListener("dragover", (event) => { event.preventDefault(); document.body.classList.add("dropping"); });
  addEventListener("dragleave", () => document.body.classList.remove("dropping"));
  addEventListener("drop", (event) => {
    event.preventDefault();
    document.body.classList.remove("dropping");
    if (event.dataTransfer.files.length) openFile(event.dataTransfer.files[0]);
  });
  byId("set").value = state.get("set") ?? "";
  byId("length").value = state.get("length") ?? "";
  byId("against").checked = state.get("against") === "1";
  placeSliders();
  const config = state.get("config"), absent = state.get("file");
  openPreset(names.includes(state.get("model")) ? state.get("model") : "llama-3.1-8b");
  if (config) {
    byId("text").value = config;
    file.bytes = encode(config);
    linkFile(file.name, config);
    show();
  } else if (absent) byId("refused").textContent = `The link is of ${absent}, which no link can hold: drop that file here.`;
  document.body.dataset.ready = "yes";
}

begin();
