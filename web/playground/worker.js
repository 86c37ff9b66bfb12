// The worker in which Python runs: Pyodide, the packages of the site's lock.json, and playground.py.
// It takes {source} and {interrupts}, and posts {kind, ...}: see playground.js.

import { loadPyodide } from "../pyodide/pyodide.mjs";

const at = (path) => new URL(path, import.meta.url).href;
const post = (kind, more = {}) => postMessage({ kind, ...more });

async function fetched(path) {
  const response = await fetch(at(path));
  if (!response.ok) throw new Error(`${path}: ${response.status} ${response.statusText}`);
  return response.text();
}

/** Python with all packages of the lock. Throws where one did not arrive, or has another hash. */
async function loaded() {
  const lockFileContents = await fetched("../lock.json");
  const packages = Object.keys(JSON.parse(lockFileContents).packages);
  const python = await loadPyodide({
    indexURL: at("../pyodide/"), packageBaseUrl: at("../wheels/"), lockFileContents, packages,
  });
  const missing = packages.filter((name) => !(name in python.loadedPackages));
  if (missing.length) throw new Error(`${missing.join(", ")} did not arrive as the site's lock.json has it`);
  return python;
}

async function start() {
  const python = await loaded();
  python.FS.writeFile("/home/pyodide/playground.py", await fetched("playground.py"));
  return [python, python.pyimport("playground").Playground(
    (kind, more) => post(kind, more.toJs({ dict_converter: Object.fromEntries })))];
}

const started = start();
started.then(() => post("ready"), (error) => post("broken", { text: error.message }));

addEventListener("message", async ({ data }) => {
  const [python, playground] = await started;
  if (data.interrupts) python.setInterruptBuffer(data.interrupts);
  if (data.source !== undefined) post("done", { how: playground.run(data.source) });
});
