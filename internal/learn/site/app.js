"use strict";
// The page: it reads the knobs, asks the program, and puts the answer in place. Everything that
// is a number or a drawing comes from the program.
(() => {
  const root = document.documentElement, served = root.dataset.served, folder = root.dataset.folder;
  const sections = [...document.querySelectorAll(".chapter")], words = document.getElementById("words");
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  let ready = false, current = null;
  const testing = location.hash === "#selftest";
  root.classList.add("js");

  // The program.
  const call = (request) => served
    ? fetch("call", { method: "POST", body: JSON.stringify(request) }).then((r) => r.json())
    : Promise.resolve(JSON.parse(globalThis.pate(JSON.stringify(request))));

  async function start() {
    if (served) return begin();
    const module = new Blob([Uint8Array.from(atob(packed), (c) => c.charCodeAt(0))]).stream().pipeThrough(new DecompressionStream("gzip"));
    globalThis.pateReady = begin;
    const go = new globalThis.Go();
    const program = await WebAssembly.instantiate(await new Response(module).arrayBuffer(), go.importObject);
    go.run(program.instance);
  }

  function begin() {
    ready = true;
    root.dataset.ready = "1";
    fromHash();
  }

  // Knobs and situations.
  const knobs = (section) => [...section.querySelectorAll("[data-knob]")];
  const knob = (section, id) => section.querySelector(`[data-knob="${id}"]`);
  function put(k, value) {
    if (k.dataset.move && ![...k.options].some((o) => o.value === value)) k.add(new Option(value.replace(">", " \u2192 "), value));
    k.value = value;
    if (k.type === "range") k.parentNode.querySelector("output").textContent = k.value;
  }
  function situation(section) {
    const s = {};
    for (const k of knobs(section)) if (k.value !== k.dataset.default) s[k.dataset.knob] = k.value;
    return s;
  }
  function set(section, s) {
    for (const k of knobs(section)) put(k, s && k.dataset.knob in s ? s[k.dataset.knob] : k.dataset.default);
  }
  function hashOf(section) {
    const s = new URLSearchParams(situation(section)).toString();
    return "#" + section.id + (s ? "?" + s : "");
  }
  function fromHash() {
    const [name, query] = location.hash.slice(1).split("?");
    const section = sections.find((s) => s.id === name) || (words ? null : sections[0]);
    if (!section) return mark(null);
    if (query !== undefined || section !== current) set(section, Object.fromEntries(new URLSearchParams(query || "")));
    open(section);
  }
  // mark shows a chapter, or the page of words, and marks it in the list.
  function mark(section) {
    current = section;
    if (words) words.hidden = section !== null;
    for (const s of sections) s.classList.toggle("current", s === section);
    for (const a of document.querySelectorAll("[data-chapter]"))
      if (a.dataset.chapter === (section ? section.id : "words")) {
        a.setAttribute("aria-current", "page");
        a.closest("ol").scrollLeft = a.offsetLeft - 40; // on a phone the list is one line
      } else a.removeAttribute("aria-current");
  }
  function open(section) {
    mark(section);
    draw(section);
  }

  // Drawing: a new drawing is put over the old one, element by element, so that what only moved
  // moves.
  function patch(old, fresh) {
    if (old.nodeName !== fresh.nodeName) return old.replaceWith(fresh.cloneNode(true));
    if (old.nodeType !== 1) { if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue; return; }
    for (const a of [...old.attributes]) if (!fresh.hasAttribute(a.name)) old.removeAttribute(a.name);
    for (const a of fresh.attributes) if (old.getAttribute(a.name) !== a.value) old.setAttribute(a.name, a.value);
    while (old.childNodes.length > fresh.childNodes.length) old.lastChild.remove();
    for (let i = 0; i < fresh.childNodes.length; i++)
      if (i < old.childNodes.length) patch(old.childNodes[i], fresh.childNodes[i]);
      else old.append(fresh.childNodes[i].cloneNode(true));
  }
  function build(view) {
    const box = document.createElement("div");
    for (const p of view.panels) {
      const f = document.createElement("figure");
      f.dataset.panel = p.id;
      if (p.wide) f.className = "wide";
      f.innerHTML = `<figcaption></figcaption><div class="drawing">${p.svg}</div><p class="alt"></p>`;
      f.querySelector("figcaption").textContent = p.title;
      f.querySelector(".alt").textContent = p.alt;
      box.append(f);
    }
    box.className = "panels";
    return box;
  }
  const lines = (parent, words, make) => parent.replaceChildren(...words.map(make));
  const element = (name, words) => Object.assign(document.createElement(name), { textContent: words });

  let turn = 0;
  async function draw(section) {
    shown(section);
    if (!ready) return null;
    const mine = ++turn, verdictNow = section.querySelector(".live .verdict");
    if (section.dataset.needs && !served) {
      verdictNow.textContent = section.dataset.needs;
      verdictNow.classList.add("busy");
      await new Promise((done) => setTimeout(done, 30));
      if (mine !== turn) return null;
    }
    const reply = await call({ ask: "draw", chapter: section.id, situation: situation(section) });
    if (mine !== turn) return null; // a later one is on its way
    verdictNow.classList.remove("busy");
    const error = section.querySelector(".error");
    error.hidden = !reply.error;
    error.textContent = reply.error || "";
    const stills = section.querySelector(".stills");
    if (stills) stills.classList.add("hidden");
    if (reply.error) return reply;
    const view = reply.view;
    patch(section.querySelector(".live .panels"), build(view));
    const verdict = section.querySelector(".live .verdict");
    verdict.textContent = view.verdict.words;
    verdict.classList.toggle("broken", !view.verdict.holds);
    lines(section.querySelector(".live .says"), view.says, (w) => element("p", w));
    const command = section.querySelector(".live .command");
    command.hidden = !view.command;
    command.querySelector("code").textContent = view.command || "";
    lines(section.querySelector(".numbers tbody"), view.numbers, (n) => {
      const row = document.createElement("tr"), name = element("th", n.name);
      name.scope = "row";
      row.append(name, element("td", n.text));
      return row;
    });
    if (section === current) history.replaceState(null, "", hashOf(section));
    return reply;
  }

  // What follows from the knobs alone: which of them matter, and which votes can move.
  function shown(section) {
    for (const box of section.querySelectorAll(".knob[data-for]")) {
      const [id, values] = box.dataset.for.split("=");
      box.hidden = values !== undefined && !values.split("|").includes(knob(section, id).value);
    }
    const move = section.querySelector("[data-move]"), votes = knob(section, "votes");
    if (!move || !votes || move.dataset.votes === votes.value) return;
    move.dataset.votes = votes.value;
    const kept = move.value, n = votes.value.split(/[ ,]+/).filter(Boolean).map(Number);
    const options = [new Option("from the largest to the next", "")];
    n.forEach((x, i) => n.forEach((_, j) => { if (i !== j && x > 0) options.push(new Option(`class ${i} \u2192 class ${j}`, `${i}>${j}`)); }));
    move.replaceChildren(...options);
    put(move, options.some((o) => o.value === kept) ? kept : "");
  }

  function turned(section, k) {
    put(k, k.value);
    return draw(section);
  }

  for (const section of sections) {
    for (const k of knobs(section)) k.dataset.default = k.dataset.move ? "" : k.tagName === "SELECT" ? k.dataset.default || k.options[0].value : k.getAttribute("value");
    section.addEventListener("input", (e) => { if (e.target.dataset.knob) turned(section, e.target); });
    section.querySelector(".knobs").addEventListener("submit", (e) => e.preventDefault());
    section.addEventListener("click", (e) => {
      const scene = e.target.closest("[data-scene]"), play = e.target.closest("[data-play]"), setter = e.target.closest("[data-set]");
      if (scene) { set(section, JSON.parse(scene.dataset.scene)); draw(section); }
      else if (play) run(section, knob(section, play.dataset.play), play);
      else if (setter) {
        const [id, value] = setter.getAttribute("data-set").split("=");
        put(knob(section, id), value);
        draw(section);
      }
    });
    section.querySelector(".trace").addEventListener("click", async () => {
      const reply = await call({ ask: "trace", chapter: section.id, situation: situation(section) });
      const note = section.querySelector(".more .note");
      if (reply.error) { note.textContent = reply.error; return; }
      const a = document.createElement("a");
      a.href = URL.createObjectURL(new Blob([reply.trace], { type: "text/markdown" }));
      a.download = section.id + ".md";
      a.click();
      URL.revokeObjectURL(a.href);
      note.textContent = section.id + ".md is written.";
    });
    section.querySelector(".share").addEventListener("click", async () => {
      const link = location.href.split("#")[0] + hashOf(section), note = section.querySelector(".more .note");
      try { await navigator.clipboard.writeText(link); note.textContent = "Copied."; }
      catch { note.textContent = link; }
    });
    for (const form of section.querySelectorAll(".exercise")) form.addEventListener("submit", async (e) => {
      e.preventDefault();
      const note = form.querySelector(".note"), given = parseFloat(form.querySelector("input").value.replace(",", "."));
      if (!isFinite(given)) { note.textContent = "A number, please."; return; }
      const reply = await call({ ask: "check", chapter: section.id, exercise: form.dataset.exercise, given });
      note.textContent = reply.error || reply.words;
      note.classList.toggle("right", !!reply.right);
    });
    drag(section);
  }

  // A dot that is dragged to another column moves a vote.
  function drag(section) {
    let from = null, ghost = null;
    const column = (e) => { const hit = document.elementFromPoint(e.clientX, e.clientY); return hit && hit.closest("[data-drop]"); };
    section.addEventListener("pointerdown", (e) => {
      const dot = e.target.closest && e.target.closest(".live [data-class]");
      if (!dot || !dot.closest("svg").querySelector("[data-drop]")) return;
      e.preventDefault();
      from = dot.dataset.class;
      ghost = Object.assign(document.createElement("div"), { className: "drag" });
      document.body.append(ghost);
      follow(e);
    });
    function follow(e) {
      if (!ghost) return;
      ghost.style.left = e.clientX + "px";
      ghost.style.top = e.clientY + "px";
      for (const c of section.querySelectorAll(".column.target")) c.classList.remove("target");
      const c = column(e);
      if (c && c.dataset.drop !== from) c.classList.add("target");
    }
    addEventListener("pointermove", follow);
    addEventListener("pointerup", (e) => {
      if (!ghost) return;
      ghost.remove();
      ghost = null;
      const c = column(e), move = section.querySelector("[data-move]");
      if (c && move && c.dataset.drop !== from) { put(move, from + ">" + c.dataset.drop); draw(section); }
    });
    addEventListener("pointercancel", () => { if (ghost) { ghost.remove(); ghost = null; } });
  }

  // Play: the knob runs to its end, or in one step where motion is not wanted.
  async function run(section, k, button) {
    if (button.dataset.running) { delete button.dataset.running; return; }
    button.dataset.running = "1";
    if (+k.value >= +k.max) k.value = k.min;
    const step = Math.max(+k.step, (k.max - k.min) / 60);
    while (button.dataset.running && +k.value < +k.max && !calm.matches) {
      k.value = +k.value + step;
      await turned(section, k);
      await new Promise((r) => setTimeout(r, 90));
    }
    delete button.dataset.running;
  }

  // Lecture mode: large type; arrows go through the situations of a chapter and then on.
  const lecture = document.getElementById("lecture");
  function lectureMode(on) {
    root.classList.toggle("lecture", on);
    lecture.setAttribute("aria-pressed", on);
  }
  lecture.addEventListener("click", () => lectureMode(!root.classList.contains("lecture")));
  addEventListener("keydown", (e) => {
    if (!root.classList.contains("lecture") || e.target.closest("input,select,textarea") || e.altKey || e.ctrlKey || e.metaKey) return;
    const by = { ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1 }[e.key];
    if (e.key === "Escape") lectureMode(false);
    if (!by) return;
    e.preventDefault();
    const scenes = current ? [...current.querySelectorAll("[data-scene]")] : [];
    const next = current ? +(current.dataset.at || 0) + by : -1;
    if (next >= 0 && next < scenes.length) { current.dataset.at = next; scenes[next].click(); return; }
    const other = sections[sections.indexOf(current) + by];
    if (!other) return;
    other.dataset.at = by > 0 ? 0 : other.querySelectorAll("[data-scene]").length - 1;
    open(other);
    other.querySelectorAll("[data-scene]")[other.dataset.at].click();
    scrollTo(0, 0);
  });

  const solutions = document.getElementById("solutions");
  document.getElementById("worksheet").addEventListener("click", () => { solutions.style.display = "inline-block"; root.classList.remove("solved"); print(); });
  solutions.addEventListener("click", () => {
    for (const d of document.querySelectorAll(".solution")) d.open = true;
    root.classList.add("solved");
    print();
  });

  // A test opens the page with #selftest: every knob of every chapter is turned as by hand, and
  // what is seen goes into an element as JSON.
  async function selftest() {
    const seen = [], errors = [];
    addEventListener("error", (e) => errors.push(String(e.message)));
    addEventListener("unhandledrejection", (e) => errors.push(String(e.reason)));
    for (const section of sections) {
      set(section, {});
      open(section);
      for (const k of section.dataset.needs ? [knob(section, "runs")] : knobs(section)) {
        const values = section.dataset.needs ? [k.min] : k.dataset.move ? ["0>1", "1>0"] : k.tagName === "SELECT" ? [...k.options].map((o) => o.value) : k.type === "range" ? [k.min, k.max] : [k.dataset.default];
        for (const value of values) {
          set(section, {});
          shown(section);
          const before = performance.now();
          put(k, value);
          const reply = await turned(section, k);
          seen.push({ chapter: section.id, situation: situation(section), ms: performance.now() - before, error: (reply && reply.error) || "", numbers: reply && reply.view ? reply.view.numbers : [] });
        }
      }
      set(section, {});
    }
    const out = element("pre", JSON.stringify({ seen, errors, loaded: root.dataset.loaded }));
    out.id = "selftest";
    out.hidden = true;
    document.body.append(out);
  }

  addEventListener("hashchange", () => { if (ready) fromHash(); });
  mark(sections.find((s) => s.id === location.hash.slice(1).split("?")[0]) || (!words && sections[0]) || null);
  if (sections.length) requestAnimationFrame(() => setTimeout(() => {
    root.dataset.loaded = Math.round(performance.now());
    start().then(() => { if (testing) return selftest(); })
      .catch((e) => { const p = document.querySelector(".chapter.current .error") || sections[0].querySelector(".error"); p.hidden = false; p.textContent = "The knobs do not work here: " + e.message; });
  }, 0));
})();
