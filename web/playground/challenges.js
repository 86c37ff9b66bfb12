// The programs to begin with: examples, and challenges, whose check says whether they are passed. Which
// were is kept in the browser.

import { node } from "../explorables/element.js";
import { raised } from "../explorables/formats.js";

const KEPT = "minifp-passed", KEY = "try";

/** Text with `code` and raised exponents, as children of an element. */
const typeset = (text) => text.split("`").map((part, i) => (i % 2 ? node("code", {}, part) : raised(part)));

/** The names of the challenges that were passed here; none where storage is refused. */
function passedBefore() {
  try { return JSON.parse(localStorage.getItem(KEPT)) ?? []; } catch { return []; }
}

export class Challenges {
  /** select: of the programs. root: where the question and the verdict stand. programs: those of
   * programs.json. chosen: called with a program that the reader chooses. */
  constructor(select, root, programs, chosen) {
    this.select = select;
    this.programs = new Map(programs.map((program) => [program.name, program]));
    this.passed = new Set(passedBefore());
    this.chosen = chosen;
    this.title = node("h2");
    this.question = node("p");
    this.verdict = node("p", { role: "status" });
    this.root = root;
    root.append(this.title, this.question, this.verdict);
    this.list();
    this.ask(undefined);
    select.addEventListener("change", () => this.choose(select.value));
  }

  get checked() { return [...this.programs.values()].filter(({ check }) => check); }

  /** The check of the challenge that is asked, or "". */
  get check() { return this.now?.check ?? ""; }

  /** Fill the list anew, with marks at those that were passed. */
  list() {
    const option = ({ name, title }) => node("option", { value: name }, `${this.passed.has(name) ? "✓ " : ""}${title}`);
    const examples = [...this.programs.values()].filter(({ check }) => !check), challenges = this.checked;
    const count = challenges.filter(({ name }) => this.passed.has(name)).length;
    this.select.replaceChildren(
      node("optgroup", { label: "Examples" }, ...examples.map(option)),
      node("optgroup", { label: `Challenges: ${count} of ${challenges.length} passed` }, ...challenges.map(option)));
    this.select.value = this.now?.name ?? "";
  }

  /** Begin one: its program goes into the editor, its name into the address. */
  choose(name) {
    history.replaceState(null, "", `?${KEY}=${name}`);
    this.ask(name);
    this.chosen(this.now);
  }

  /** The one that the address names, or else the first; without one where the program is another's. */
  begin(isShared) {
    const named = new URLSearchParams(location.search).get(KEY);
    this.ask(this.programs.has(named) ? named : isShared ? undefined : [...this.programs.keys()][0]);
    if (!isShared) this.chosen(this.now);
  }

  ask(name) {
    this.now = this.programs.get(name);
    this.select.value = name ?? "";
    this.root.hidden = !this.now;
    this.clear();
    if (!this.now) return;
    this.title.replaceChildren(this.now.title);
    this.question.replaceChildren(...typeset(this.now.question));
  }

  clear() { this.verdict.replaceChildren(); }

  /** What the check said of the program that ran. */
  judge({ passed, text }) {
    this.verdict.className = passed ? "passed" : "wrong";
    this.verdict.replaceChildren(node("strong", {}, passed ? "Passed. " : "Not yet. "), ...typeset(text));
    if (!passed) return;
    this.passed.add(this.now.name);
    try { localStorage.setItem(KEPT, JSON.stringify([...this.passed])); } catch { /* marks of this visit alone */ }
    this.list();
    const next = this.checked.find(({ name }) => !this.passed.has(name));
    if (!next) return this.verdict.append(" That was the last challenge.");
    const button = node("button", {}, `Next: ${next.title}`);
    button.addEventListener("click", () => this.choose(next.name));
    this.verdict.append(" ", button);
  }
}
