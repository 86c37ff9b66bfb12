// Python in a worker: run a program, stop it, change its loss scale, and begin anew where it does not
// stop.

const PATIENCE = 3000; // milliseconds for a program to stop by itself
const INTERRUPT = 2; // SIGINT

export class Python {
  /** told: called with what the worker posts, and with {kind: "restarted"}. files: a promise of what
   * its folder holds, called for at each beginning. */
  constructor(told, files) {
    this.told = told;
    this.files = files;
    this.start();
  }

  /** The worker is begun by a blob: so it has this page's policy, and may fetch nothing elsewhere. */
  start() {
    const module = new URL("worker.js", import.meta.url).href;
    const text = new Blob([`import ${JSON.stringify(module)};`], { type: "text/javascript" });
    const worker = this.worker = new Worker(URL.createObjectURL(text), { type: "module" });
    worker.addEventListener("message", ({ data }) => worker === this.worker && this.hear(data));
    worker.addEventListener("error", (event) => this.told({ kind: "broken", text: event.message ?? "the worker did not start" }));
    this.shared = globalThis.crossOriginIsolated
      ? { interrupts: new Uint8Array(new SharedArrayBuffer(1)), wishes: new Int32Array(new SharedArrayBuffer(8)) } : null;
    this.yields = false;
  }

  async hear(data) {
    if (data.kind === "ready") {
      this.yields = data.yields;
      if (this.shared) this.worker.postMessage({ shared: this.shared });
      this.worker.postMessage({ files: await this.files() });
    }
    if (data.kind === "done") clearTimeout(this.giveUp);
    this.told(data);
  }

  /** Whether a running program hears what the page asks. */
  get hears() {
    return Boolean(this.shared) || this.yields;
  }

  /** check: a challenge's, or "". wish: log2 of the loss scale from the second step on; null for the
   * program's own. */
  run(source, check, wish = null) {
    if (this.shared) this.shared.interrupts[0] = 0;
    const program = { source, check };
    this.worker.postMessage(wish === null ? { program } : { wish, program });
  }

  /** Ask the program that runs for another loss scale, 2^exponent, from its next step on. */
  wish(exponent) {
    if (!this.shared) return this.worker.postMessage({ wish: exponent });
    Atomics.store(this.shared.wishes, 1, exponent);
    Atomics.add(this.shared.wishes, 0, 1);
  }

  /** As Ctrl-C does, where the program hears it; else another worker. */
  stop() {
    if (!this.hears) return this.restart();
    if (this.shared) this.shared.interrupts[0] = INTERRUPT;
    else this.worker.postMessage({ stop: true });
    this.giveUp = setTimeout(() => this.restart(), PATIENCE);
  }

  remove(path) {
    this.worker.postMessage({ remove: path });
  }

  restart() {
    clearTimeout(this.giveUp);
    this.worker.terminate();
    this.start();
    this.told({ kind: "restarted" });
  }
}
