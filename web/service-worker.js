// Keeps the site's files by the hashes in lock.json: once the playground has loaded it needs no
// network, nor do the lessons once they are kept, and a file that did not change is not fetched again.
// It also tells the browser that nothing comes from elsewhere, and that pages are isolated from others,
// which lets the playground stop a program as Ctrl-C does. JupyterLite's are not: where they are, its
// kernel takes another way to Python, on which answers get lost.

const SITE = new URL("./", location.href).href;
const LOCK = `${SITE}lock.json`;
const ISOLATED = { "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp" };
const OURS = { "Content-Security-Policy": "default-src 'self' 'unsafe-inline' 'unsafe-eval' blob: data:" };
const ofJupyter = (path) => path.startsWith("jupyter/");
const KEPT = { keep: (path) => !ofJupyter(path), "keep all": () => true }; // by a page's message
const opened = caches.open("minifp-site");
let lock; // a promise of the newest lock.json, or of the kept one

async function readLock() {
  const cache = await opened;
  try {
    const response = await fetch(LOCK, { cache: "no-cache" });
    if (!response.ok) throw new Error(response.statusText);
    await cache.put(LOCK, response.clone());
    return await response.json();
  } catch (error) {
    const kept = await cache.match(LOCK);
    if (kept) return kept.json();
    throw error;
  }
}

const keyOf = (path, sha256) => `${SITE}${path}?sha256=${sha256}`;
const base64 = (hex) => btoa(hex.match(/../g).map((two) => String.fromCharCode(parseInt(two, 16))).join(""));

/** A file of the site: the kept one, else one with the right hash, which is kept. */
async function file(path) {
  const { sha256 } = (await (lock ??= readLock())).files[path];
  const cache = await opened, key = keyOf(path, sha256);
  const kept = await cache.match(key);
  if (kept) return kept;
  const response = await fetch(SITE + path, { integrity: `sha256-${base64(sha256)}`, cache: "no-cache" });
  if (response.ok) await cache.put(key, response.clone());
  return response;
}

/** Keep those files, and none of an earlier site. */
async function keepFiles(wanted) {
  const { files } = await (lock = readLock());
  await Promise.all(Object.keys(files).filter(wanted).map(file));
  const keys = new Set([LOCK, ...Object.entries(files).map(([path, { sha256 }]) => keyOf(path, sha256))]);
  const cache = await opened;
  const old = (await cache.keys()).filter(({ url }) => !keys.has(url));
  await Promise.all(old.map((request) => cache.delete(request)));
}

async function answer(request, path) {
  if (request.mode === "navigate") lock = readLock();
  const { files } = await (lock ??= readLock());
  if (path === "lock.json") return (await opened).match(LOCK);
  if (`${path}/index.html` in files) return Response.redirect(request.url.replace(/(?=[?#]|$)/, "/"));
  const response = path in files ? await file(path) : await fetch(request);
  const headers = new Headers(response.headers);
  for (const [name, value] of Object.entries(ofJupyter(path) ? OURS : { ...OURS, ...ISOLATED })) headers.set(name, value);
  return new Response(response.body, { status: response.status, statusText: response.statusText, headers });
}

addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil(clients.claim()));
addEventListener("message", (event) => {
  if (!(event.data in KEPT)) return;
  const kept = keepFiles(KEPT[event.data]).then(() => "", ({ message }) => message);
  event.waitUntil(kept.then((error) => event.ports[0]?.postMessage(error)));
});
addEventListener("fetch", (event) => {
  const url = event.request.url.replace(/[?#].*/, "");
  if (event.request.method !== "GET" || !url.startsWith(SITE)) return;
  const path = url.slice(SITE.length);
  event.respondWith(answer(event.request, path === "" || path.endsWith("/") ? `${path}index.html` : path));
});
