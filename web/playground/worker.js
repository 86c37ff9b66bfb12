// The worker in which Python runs: Pyodide, the packages of the site's lock.json, and playground.py.
// It takes {wish, program}, {wish}, {stop}, {files}, {remove} and {shared}, and posts {kind, ...}: see
// playground.js. A program is {source, check}, the check empty but of a challenge.

import { loadPyodide } from "../pyodide/pyodide.mjs";
import { FOLDER, keepFiles } from "./folder.js";

const OWN = ["playground.py", "challenge.py", "steps.py"];
const at = (path) => new URL(path, import.meta.url).href;
const post = (kind, more = {}, moved = []) => postMessage({ kind, ...more }, moved);
// What the page asks of a running program: memory of the worker's own, into which messages are
// written where the program lets them arrive; or memory that the page shares.
let wishes = new Int32Array(2); // how often the slider was moved, and log2 of the scale it asks for
let shared = false, stopped = false, heard = 0;

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

const channel = {
  wished() {
    if (Atomics.load(wishes, 0) === heard) return undefined; // None in Python
    heard = Atomics.load(wishes, 0);
    return Atomics.load(wishes, 1);
  },
  stopped: () => stopped,
  /** A moment in which messages arrive, if that is how the page speaks. */
  breathe: () => (shared ? undefined : new Promise((go) => setTimeout(go))),
};

function wish(exponent) {
  Atomics.store(wishes, 1, exponent);
  Atomics.add(wishes, 0, 1);
}

async function start() {
  const own = Promise.all(OWN.map(fetched));
  const python = await loaded();
  (await own).forEach((text, n) => python.FS.writeFile(`/home/pyodide/${OWN[n]}`, text));
  const folder = keepFiles(python.FS, post);
  const { Playground } = python.pyimport("playground");
  python.runPython(`import os; os.chdir("${FOLDER}")`);
  return { python, folder, playground: Playground(
    (kind, more) => post(kind, more.toJs({ dict_converter: Object.fromEntries })), channel) };
}

const started = start();
const yields = "Suspending" in WebAssembly; // a program can wait for a promise, and messages arrive
started.then(() => post("ready", { yields }), (error) => post("broken", { text: error.message }));

const TAKES = {
  shared: ({ python }, memory) => {
    ({ wishes } = memory);
    shared = true;
    python.setInterruptBuffer(memory.interrupts);
  },
  stop: () => { stopped = true; },
  wish: (_, exponent) => wish(exponent),
  files: ({ folder }, files) => folder.put(files),
  remove: ({ folder }, path) => folder.remove(path),
  program: async ({ playground }, { source, check }) => {
    stopped = false;
    const { run } = playground; // what waits for promises, as time.sleep then does, hears no interrupt
    post("done", { how: await (yields && !shared ? run.callPromising(source, check) : run(source, check)) });
  },
};

addEventListener("message", async ({ data }) => {
  const held = await started;
  if ("program" in data) heard = Atomics.load(wishes, 0); // what was wished of an earlier program is past
  for (const [kind, value] of Object.entries(data)) await TAKES[kind](held, value);
});
