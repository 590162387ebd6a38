// The search runs in a worker, which browsers refuse to pages that are opened as files.
// There, a hidden frame does its work instead.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inner = frame.contentWindow;
      inner.postMessage = (data) =>
        this.dispatchEvent(new MessageEvent("message", { data }));
      const script = inner.document.createElement("script");
      this.ready = new Promise((resolve) => script.addEventListener("load", resolve));
      this.inner = inner;
      script.src = String(url);
      inner.document.body.append(script);
    }

    postMessage(data) {
      this.ready.then(() =>
        this.inner.dispatchEvent(new MessageEvent("message", { data })),
      );
    }
  };
}
