// What is typed into the search, made into what the index can answer. scripts/build_site puts this before the script of the search.
//
// Of words each is asked for, as a beginning; where no section has all of them, any. Chinese has no spaces: the index has it character
// by character, and would find them anywhere. So it is looked for in the texts themselves, as it was typed, or, where nothing has that,
// by its pairs of characters. Pages in the language of the question come first.
const han = /\p{sc=Han}/u;
let sections = [];  // what the index was made of: location, title, text
let some = null;    // the question to ask next should nothing be found

// lunr tells states of its automaton apart by a text in which a character and the number behind it run into another such pair, "1" 23 and
// "12" 3: states of another meaning become one, words come out that are not in the index, and the search fails. Here a comma ends each.
function mendAutomaton() {
  self.lunr.TokenSet.prototype.toString = function () {
    return (this.final ? "1" : "0") + Object.keys(this.edges).sort().map((edge) => `${edge}${this.edges[edge].id},`).join("");
  };
}

// The words without what the search takes for its own signs, without those that the index leaves out, without one that was only begun, and
// without the s of a plural.
function wordsOf(question) {
  const words = question.toLowerCase().split(/[\s\-+*:^~"'()[\]{}<>|,;!?=/\\]+/u).map((word) => word.replace(/^\.+|\.+$/gu, "")).filter(Boolean);
  const kept = words.filter((word) => word.length > 1 && self.lunr.stopWordFilter(word) !== undefined);
  return (kept.length ? kept : words).map((word) => word.length > 3 ? word.replace(/(?<!s)s$/u, "") : word);
}

const isChinese = (location) => /\.zh-CN\.html/u.test(location);
const plain = (text) => text.replace(/<[^>]*>/gu, "");
const pairsOf = (part) => han.test(part) && part.length > 2 ? [...part].slice(1).map((_, i) => part.slice(i, i + 2)) : [part];

function marked(text, parts) {
  const sought = new RegExp(parts.map((part) => part.replace(/[.*+?^${}()|[\]\\]/gu, "\\$&")).join("|"), "giu");
  return text.replace(sought, (found) => `<mark>${found}</mark>`);
}

// Sections by how many of the parts they have, those of a title counting tenfold, of a page's title twentyfold; below their pages.
function rank(parts, least) {
  const pages = new Map();
  const page = (location) => location.split("#")[0];
  for (const { location, title, text } of sections) {
    const [head, body] = [title, plain(text)].map((part) => part.toLowerCase());
    const found = parts.filter((part) => head.includes(part) || body.includes(part));
    const titled = parts.filter((part) => head.includes(part));
    if (found.length < least) continue;
    const at = Math.max(0, body.indexOf(found.find((part) => body.includes(part)) ?? "") - 30);
    const entry = { location, title: marked(title, parts), text: marked(plain(text).slice(at, at + 120), parts),
      score: found.length + (location.includes("#") ? 10 : 20) * titled.length, terms: Object.fromEntries(parts.map((part) => [part, found.includes(part)])) };
    pages.set(page(location), [...pages.get(page(location)) ?? [], entry]);
  }
  for (const [location, entries] of pages) {
    entries.sort((a, b) => b.score - a.score);
    if (!entries.some((entry) => entry.location === location)) {
      const { title } = sections.find((section) => section.location === location);
      entries.push({ location, title, text: "", score: 0, terms: {} });
    }
  }
  return [...pages.values()].sort((a, b) => isChinese(b[0].location) - isChinese(a[0].location) || b[0].score - a[0].score);
}

function answerInChinese(question) {
  const parts = question.toLowerCase().match(/\p{sc=Han}+|[^\s\p{sc=Han}\p{P}]+/gu);
  const whole = rank(parts, parts.length);
  const pairs = parts.flatMap(pairsOf);
  return whole.length ? whole : rank(pairs, Math.ceil(pairs.length / 3));
}

const post = self.postMessage.bind(self);
self.postMessage = (message) => {
  if (message.type === 3 && some !== null && message.data.items.length === 0) {
    const question = some;
    some = null;
    dispatchEvent(new MessageEvent("message", { data: { type: 2, data: question, made: true } }));
    return;
  }
  message.data?.items?.sort((a, b) => isChinese(a[0].location) - isChinese(b[0].location));
  post(message);
};

addEventListener("message", (event) => {
  const { type, data, made } = event.data;
  if (type === 0) {
    sections = data.docs;
    mendAutomaton();
  }
  if (type !== 2 || made) return;
  event.stopImmediatePropagation();
  if (han.test(data)) {
    post({ type: 3, data: { items: answerInChinese(data) } });
    return;
  }
  const words = wordsOf(data);
  some = words.length > 1 ? words.map((word) => `${word}*`).join(" ") : null;
  dispatchEvent(new MessageEvent("message", { data: { type, data: words.map((word) => `+${word}*`).join(" "), made: true } }));
});
