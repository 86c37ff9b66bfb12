// What programs have written: kept in the browser, listed, to be downloaded and deleted.

import { node, table } from "../explorables/element.js";

const STORE = "files";

const promised = (request) => new Promise((good, bad) => {
  request.onsuccess = () => good(request.result);
  request.onerror = () => bad(request.error);
});

/** The browser's storage. Throws where it is refused, as in some private windows. */
async function storage() {
  const request = indexedDB.open("minifp-playground", 1);
  request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: "path" });
  const database = await promised(request);
  return (mode) => database.transaction(STORE, mode).objectStore(STORE);
}

const size = (bytes) => (bytes < 1e3 ? `${bytes} bytes` : bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`);

export class Files {
  /** removed: called with the path of a file that the reader deletes. */
  constructor(root, removed) {
    this.root = root;
    this.removed = removed;
    this.held = new Map();
    this.why = node("p", { className: "muted", hidden: true });
    this.list = node("div", {});
    root.append(this.why, this.list);
    this.kept = storage();
    this.ready = this.ask(async (store) => {
      for (const { path, bytes } of await promised(store("readonly").getAll())) this.held.set(path, bytes);
      this.show();
    });
  }

  /** Do something with the storage; where it is refused, say so, once. */
  async ask(does) {
    try { await does(await this.kept); } catch (error) {
      this.why.textContent = `This browser does not keep these files: they are lost when you leave the page. (${error.message})`;
      this.why.hidden = false;
      this.show();
    }
  }

  /** All files, for a worker that begins. */
  async all() {
    await this.ready;
    return [...this.held].map(([path, bytes]) => ({ path, bytes }));
  }

  put(path, bytes) {
    this.held.set(path, bytes);
    this.show();
    return this.ask((store) => promised(store("readwrite").put({ path, bytes })));
  }

  remove(path) {
    this.held.delete(path);
    this.show();
    return this.ask((store) => promised(store("readwrite").delete(path)));
  }

  show() {
    this.waiting ??= requestAnimationFrame(() => {
      this.waiting = undefined;
      const rows = [...this.held].sort(([a], [b]) => (a < b ? -1 : 1)).map(([path, bytes]) => [path, size(bytes.length), this.buttons(path)]);
      this.root.hidden = !rows.length;
      this.list.replaceChildren(...(rows.length ? [table(["file", "size", "to do"], rows)] : []));
    });
  }

  buttons(path) {
    const download = node("button", { ariaLabel: `Download ${path}` }, "Download");
    const remove = node("button", { ariaLabel: `Delete ${path}` }, "Delete");
    download.addEventListener("click", () => save(path, this.held.get(path)));
    remove.addEventListener("click", () => { this.remove(path); this.removed(path); });
    return node("span", { className: "bar" }, download, remove);
  }
}

/** Have the browser save a file. */
function save(path, bytes) {
  const href = URL.createObjectURL(new Blob([bytes]));
  node("a", { href, download: path.split("/").at(-1) }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
}
