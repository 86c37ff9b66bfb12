// Python in a worker: run a program, stop it, and begin anew where it does not stop.

const PATIENCE = 3000; // milliseconds for a program to stop by itself
const INTERRUPT = 2; // SIGINT

export class Python {
  /** told: called with what the worker posts, and with {kind: "restarted"}. */
  constructor(told) {
    this.told = told;
    this.start();
  }

  /** The worker is begun by a blob: so it has this page's policy, and may fetch nothing elsewhere. */
  start() {
    const module = new URL("worker.js", import.meta.url).href;
    const text = new Blob([`import ${JSON.stringify(module)};`], { type: "text/javascript" });
    const worker = this.worker = new Worker(URL.createObjectURL(text), { type: "module" });
    worker.addEventListener("message", ({ data }) => worker === this.worker && this.hear(data));
    worker.addEventListener("error", (event) => this.told({ kind: "broken", text: event.message ?? "the worker did not start" }));
    this.interrupts = globalThis.crossOriginIsolated ? new Uint8Array(new SharedArrayBuffer(1)) : null;
  }

  hear(data) {
    if (data.kind === "ready" && this.interrupts) this.worker.postMessage({ interrupts: this.interrupts });
    if (data.kind === "done") clearTimeout(this.giveUp);
    this.told(data);
  }

  run(source) {
    if (this.interrupts) this.interrupts[0] = 0;
    this.worker.postMessage({ source });
  }

  /** As Ctrl-C does, where the page may share memory with the worker; else another worker. */
  stop() {
    if (!this.interrupts) return this.restart();
    this.interrupts[0] = INTERRUPT;
    this.giveUp = setTimeout(() => this.restart(), PATIENCE);
  }

  restart() {
    clearTimeout(this.giveUp);
    this.worker.terminate();
    this.start();
    this.told({ kind: "restarted" });
  }
}
