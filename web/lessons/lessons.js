// The lessons' first page. It registers the site's service worker, which keeps what the notebooks
// fetch, or all of it when the button is clicked, and lets nothing come from elsewhere.

const SITE = new URL("../", import.meta.url).href;
const keep = document.querySelector("#keep"), status = document.querySelector("#status");
const registered = navigator.serviceWorker?.register(`${SITE}service-worker.js`, { scope: SITE });

/** Have all files kept. Throws with what went wrong. */
async function keepAll() {
  await registered;
  const { active } = await navigator.serviceWorker.ready;
  const { port1, port2 } = new MessageChannel();
  const answer = new Promise((resolve) => { port1.onmessage = ({ data }) => resolve(data); });
  active.postMessage("keep all", [port2]);
  const error = await answer;
  if (error) throw new Error(error);
}

keep.disabled = !registered; // as in pages that came by plain http
keep.addEventListener("click", async () => {
  keep.disabled = true;
  status.textContent = "Files are being fetched.";
  try {
    await keepAll();
    status.textContent = "Kept: the site needs no network from now on.";
  } catch ({ message }) {
    status.textContent = `Not kept: ${message}. Try again.`;
    keep.disabled = false;
  }
});
