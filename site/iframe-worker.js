// A page from disk may start no worker, and the search is one: there its script runs in a hidden frame instead, which has what the
// search asks of a worker. Material takes this file in place of the one that it would fetch from elsewhere: its name is what it looks for.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inside = frame.contentWindow;
      const load = (source) => new Promise((resolve, reject) => {
        const script = frame.contentDocument.createElement("script");
        script.src = source;
        script.onload = resolve;
        script.onerror = () => reject(new Error(`cannot load ${source}`));
        frame.contentDocument.body.append(script);
      });
      this.inside.importScripts = (...sources) => sources.reduce((before, source) => before.then(() => load(source)), Promise.resolve());
      this.inside.postMessage = (data) => {
        this.answered();
        this.dispatchEvent(new MessageEvent("message", { data }));
      };
      this.turn = load(url);
    }
    // One at a time: in a worker importScripts holds the next message up, here it cannot. Each is answered once.
    postMessage(data) {
      this.turn = this.turn.then(() => new Promise((answered) => {
        this.answered = answered;
        this.inside.dispatchEvent(new MessageEvent("message", { data }));
      }));
    }
  };
}
