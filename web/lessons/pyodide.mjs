// Pyodide for the lessons' kernels. What a student has guessed and solved, minifp's progress.json, is
// kept by the browser (IndexedDB), entry by entry: notebooks that are open at once lose none, and the
// first guess at a question stays.

import { loadPyodide as begun } from "../pyodide/pyodide.mjs";
import { keepFiles } from "../playground/folder.js";

const FOLDER = "/progress", FILE = "progress.json", STORE = "entries";
const none = () => ({ predictions: {}, exercises: {}, later: {} }); // as minifp/teach/progress.py has it

const promised = (request) => new Promise((good, bad) => {
  request.onsuccess = () => good(request.result);
  request.onerror = () => bad(request.error);
});

async function storage() {
  const request = indexedDB.open("minifp-lessons", 1);
  request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: ["kind", "name"] });
  const database = await promised(request);
  return (mode) => database.transaction(STORE, mode).objectStore(STORE);
}

/** Keep what a file has that it had not before. */
async function save(store, before, after) {
  for (const [kind, entries] of Object.entries(after)) {
    for (const [name, value] of Object.entries(entries)) {
      if (JSON.stringify(before[kind]?.[name]) === JSON.stringify(value)) continue;
      if (kind === "predictions" && await promised(store.get([kind, name]))) continue;
      store.put({ kind, name, value });
    }
  }
}

/** Put what is kept into Python's files, and keep what is written there. */
async function keep(FS) {
  const open = await storage();
  let held = none();
  for (const { kind, name, value } of await promised(open("readonly").getAll())) held[kind][name] = value;
  const changed = (kind, { path, bytes }) => {
    if (path !== FILE) return;
    const now = kind === "file" ? JSON.parse(new TextDecoder().decode(bytes)) : none();
    const done = kind === "file" ? save(open("readwrite"), held, now) : promised(open("readwrite").clear());
    done.catch((error) => console.error(`progress is not kept: ${error.message}`));
    held = now;
  };
  const files = keepFiles(FS, changed, FOLDER);
  files.put([{ path: FILE, bytes: new TextEncoder().encode(JSON.stringify(held)) }]);
}

export async function loadPyodide(options) {
  const python = await begun({
    ...options, indexURL: new URL("../pyodide/", import.meta.url).href,
    env: { ...options.env, MINIFP_TEACH_FILE: `${FOLDER}/${FILE}` },
  });
  try { await keep(python.FS); } catch (error) {
    console.warn(`This browser keeps no guesses: they are lost when a notebook is left. (${error.message})`);
  }
  return python;
}
