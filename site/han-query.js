// What is asked in Chinese, character by character, as the index has it (mkdocs.yml), all of them asked for. Material's own division of
// a question drops the last character and fails from three on. scripts/build_site puts this before the script of the search.
addEventListener("message", (event) => {
  const asked = event.data.data;
  if (typeof asked === "string" && /\p{sc=Han}{2}/u.test(asked)) {
    event.stopImmediatePropagation();
    const data = asked.replace(/\p{sc=Han}{2,}/gu, (run) => ` ${[...run].map((character) => `+${character}`).join(" ")} `);
    dispatchEvent(new MessageEvent("message", { data: { ...event.data, data } }));
  }
});
