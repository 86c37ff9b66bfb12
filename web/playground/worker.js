// The worker in which Python runs: Pyodide, the packages of the site's lock.json, and playground.py.
// It takes {source} and {interrupts}, and posts {kind, ...}: see playground.js.

import { loadPyodide } from "../pyodide/pyodide.mjs";

const at = (path) => new URL(path, import.meta.url).href;
const post = (kind, more = {}) => postMessage({ kind, ...more });

async function start() {
  const python = await loadPyodide({
    indexURL: at("../pyodide/"), lockFileURL: at("../lock.json"), packageBaseUrl: at("../wheels/"),
    packages: ["minifp"], // and what it needs; hashes are checked
  });
  const response = await fetch(at("playground.py"));
  if (!response.ok) throw new Error(`playground.py: ${response.status} ${response.statusText}`);
  python.FS.writeFile("/home/pyodide/playground.py", await response.text());
  return [python, python.pyimport("playground").Playground(
    (kind, more) => post(kind, more.toJs({ dict_converter: Object.fromEntries })))];
}

const started = start();
started.then(() => post("ready"), (error) => post("broken", { text: String(error) }));

addEventListener("message", async ({ data }) => {
  const [python, playground] = await started;
  if (data.interrupts) python.setInterruptBuffer(data.interrupts);
  if (data.source !== undefined) post("done", { how: playground.run(data.source) });
});
