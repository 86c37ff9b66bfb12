// The page: examples, Run, Stop, Share and the loss scale, and where what the worker posts is shown.

import { node } from "../explorables/element.js";
import { Curves } from "./curves.js";
import { editor } from "./editor.js";
import { Files } from "./files.js";
import { Glance } from "./glance.js";
import { Output } from "./output.js";
import { Python } from "./python.js";
import { addressOf, programOf } from "./share.js";
import { Slider } from "./slider.js";

const EXAMPLES = {
  digits: "LeNet on digits, mixed precision",
  no_scaling: "The same without a loss scale",
  explain: "What is 0.1?",
  tensor: "A tensor of your own",
};
const SITE = new URL("../", import.meta.url).href;
const ENDS = { done: "Done", stopped: "Stopped", failed: "The program failed" };
const at = (id) => document.getElementById(id);
const [run, stop, share, examples, status] = ["run", "stop", "share", "examples", "status"].map(at);
const program = editor(at("program"), start);
const curves = new Curves(at("curves"));
const output = new Output(at("output"));
const glance = new Glance(at("glance"));
const files = new Files(at("files"), (path) => python.remove(path));
const slider = new Slider(at("scale"), wish);
let state = "loading", began = 0, forNext = null;

function become(next, text) {
  state = next;
  run.disabled = next !== "ready";
  stop.disabled = next !== "running";
  status.textContent = text;
}

const TOLD = {
  ready: () => {
    become("ready", status.dataset.kept ?? "Ready.");
    keepSite().catch(({ message }) => { status.textContent += ` (Not kept for use without a network: ${message})`; });
  },
  broken: ({ text }) => become("broken", `Python could not be loaded: ${text}. Reload the page to try again.`),
  text: ({ text, stream }) => output.text(text, stream),
  html: ({ html }) => output.html(html),
  step: (step) => {
    curves.add(step);
    slider.follow(step.scale);
  },
  glance: (told) => glance.show(told, slider.value),
  wished: ({ text }) => slider.answer(text),
  file: ({ path, bytes }) => files.put(path, bytes),
  removed: ({ path }) => files.remove(path),
  done: ({ how }) => become("ready", `${ENDS[how]} after ${((performance.now() - began) / 1000).toFixed(1)} seconds.`),
  restarted: () => {
    status.dataset.kept = "Stopped; Python was begun anew. Curves and output are those of the program that was stopped.";
    become("loading", "Stopped. Python is begun anew; curves and output are kept.");
  },
};
const python = new Python((told) => TOLD[told.kind](told), () => files.all());

/** The slider was moved: another scale for the program that runs, or the next one. */
function wish(exponent) {
  glance.move(exponent);
  if (state === "running" && python.hears) {
    python.wish(exponent);
    return "The program is asked.";
  }
  if (python.hears) return "No program trains: below is what its last step that was looked at would lose.";
  forNext = exponent;
  return "In this browser a program that runs cannot be reached: the next run has this scale from its second step on.";
}

function start() {
  if (state !== "ready") return;
  delete status.dataset.kept;
  for (const part of [curves, output, glance, slider]) part.clear();
  began = performance.now();
  become("running", "Running.");
  python.run(program.value, forNext);
  forNext = null;
}

/** The text of an example; a comment that says so where it could not be loaded. */
async function loaded(name) {
  const response = await fetch(`examples/${name}.py`);
  return response.ok ? response.text() : `# The example could not be loaded: ${response.status} ${response.statusText}\n`;
}

const texts = Object.fromEntries(Object.keys(EXAMPLES).map((name) => [name, loaded(name)]));

async function showExample() {
  program.value = await texts[examples.value];
}

async function shareProgram() {
  history.replaceState(null, "", await addressOf(program.value));
  const copied = await navigator.clipboard.writeText(location.href).then(() => true, () => false);
  status.textContent = `The address of this page holds the program${copied ? ", and was copied" : ""}.`;
}

/** From now on the site works without a network: see service-worker.js. */
async function keepSite() {
  if (!navigator.serviceWorker) return; // as in pages that came by plain http
  await navigator.serviceWorker.register(`${SITE}service-worker.js`, { scope: SITE });
  (await navigator.serviceWorker.ready).active.postMessage("keep");
}

/** The program that the address holds, else the first example. */
async function begin() {
  const shared = await programOf(location.href).catch(() => {
    output.text("The address of this page holds a program that cannot be read: was it copied whole?\n", "err");
    return null;
  });
  if (shared === null) await showExample();
  else program.value = shared;
}

examples.append(...Object.entries(EXAMPLES).map(([value, text]) => node("option", { value }, text)));
examples.addEventListener("change", showExample);
run.addEventListener("click", start);
stop.addEventListener("click", () => { become("stopping", "Stopping."); python.stop(); });
share.addEventListener("click", shareProgram);
addEventListener("hashchange", begin);
begin();
