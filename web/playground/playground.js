// The page: programs, Run, Stop, Share and the loss scale, and where what the worker posts is shown.

import { Challenges } from "./challenges.js";
import { Curves } from "./curves.js";
import { editor } from "./editor.js";
import { Files } from "./files.js";
import { Glance } from "./glance.js";
import { Output } from "./output.js";
import { Python } from "./python.js";
import { addressOf, programOf } from "./share.js";
import { Slider } from "./slider.js";

const SITE = new URL("../", import.meta.url).href;
const ENDS = { done: "Done", stopped: "Stopped", failed: "The program failed" };
const at = (id) => document.getElementById(id);
const [run, stop, share, again, status] = ["run", "stop", "share", "again", "status"].map(at);
const program = editor(at("program"), start);
const curves = new Curves(at("curves"));
const output = new Output(at("output"));
const glance = new Glance(at("glance"));
const files = new Files(at("files"), (path) => python.remove(path));
const slider = new Slider(at("scale"), wish);
let state = "loading", began = 0, forNext = null, challenges = null;

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
  verdict: (told) => challenges.judge(told),
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
  if (state !== "ready" || !challenges) return;
  delete status.dataset.kept;
  for (const part of [curves, output, glance, slider, challenges]) part.clear();
  began = performance.now();
  become("running", "Running.");
  python.run(program.value, challenges.check, forNext);
  forNext = null;
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

/** All programs to begin with. Throws where they did not arrive. */
async function programs() {
  const response = await fetch("programs.json");
  if (!response.ok) throw new Error(`${response.status} ${response.statusText}`);
  return response.json();
}

/** The program that the address holds, else the one that it names, else the first. */
async function begin() {
  const shared = await programOf(location.href).catch(() => {
    output.text("The address of this page holds a program that cannot be read: was it copied whole?\n", "err");
    return null;
  });
  if (shared !== null) program.value = shared;
  challenges.begin(shared !== null);
}

async function open() {
  const all = await programs().catch(({ message }) => {
    output.text(`The examples and challenges could not be loaded (${message}): reload the page to try again.\n`, "err");
    return [{ name: "none", title: "A program of your own", question: "", program: "import minifp as fp\n", check: "" }];
  });
  challenges = new Challenges(at("examples"), at("question"), all, ({ program: text }) => { program.value = text; });
  addEventListener("hashchange", begin);
  await begin();
}

run.addEventListener("click", start);
stop.addEventListener("click", () => { become("stopping", "Stopping."); python.stop(); });
share.addEventListener("click", shareProgram);
again.addEventListener("click", () => { if (challenges?.now) challenges.choose(challenges.now.name); });
open();
