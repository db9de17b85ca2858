"use strict";
// Opens a page in Chromium with the network off and prints what the page's selftest says, and
// every error of the console. Arguments: the browser, a folder for its profile, the address, and
// axe-core to check every chapter with, or nothing.
const { spawn } = require("child_process");
const [browser, profile, address, axe] = process.argv.slice(2);
const chromium = spawn(browser, ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--user-data-dir=" + profile, "--window-size=1280,900", "about:blank"], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
const waiting = new Map(), errors = [];
let last = 0, text = "";
const send = (method, params = {}, sessionId) => new Promise((done) => {
  waiting.set(++last, done);
  chromium.stdio[3].write(JSON.stringify({ id: last, method, params, sessionId }) + "\0");
});
chromium.stdio[4].on("data", (data) => {
  text += data;
  for (let end; (end = text.indexOf("\0")) >= 0; text = text.slice(end + 1)) {
    const m = JSON.parse(text.slice(0, end));
    if (m.id) waiting.get(m.id)(m.result || m);
    else if (m.method === "Runtime.exceptionThrown") errors.push(m.params.exceptionDetails.text);
    else if (m.method === "Log.entryAdded" && m.params.entry.level === "error") errors.push(m.params.entry.text);
  }
});
// accessibility returns what axe-core finds serious in any chapter.
async function accessibility(sessionId) {
  const found = [], source = require("fs").readFileSync(axe, "utf8");
  const evaluate = async (expression) => (await send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true }, sessionId)).result.value;
  await evaluate(source);
  for (const scheme of ["light", "dark"]) {
    await send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] }, sessionId);
    for (const name of await evaluate("[...document.querySelectorAll('.chapter')].map((s) => s.id)")) {
      await evaluate(`document.querySelectorAll('.chapter').forEach((s) => s.classList.toggle('current', s.id === '${name}'))`);
      await new Promise((done) => setTimeout(done, 300)); // colours that fade
      found.push(...await evaluate(`axe.run().then((r) => r.violations.filter((v) => v.impact === 'serious' || v.impact === 'critical').map((v) => '${scheme} ${name}: ' + v.id + ' ' + v.nodes[0].html))`));
    }
  }
  return found;
}

(async () => {
  const { targetId } = await send("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await send("Target.attachToTarget", { targetId, flatten: true });
  for (const domain of ["Runtime", "Log", "Network", "Page"]) await send(domain + ".enable", {}, sessionId);
  await send("Network.emulateNetworkConditions", { offline: true, latency: 0, downloadThroughput: -1, uploadThroughput: -1 }, sessionId);
  await send("Page.navigate", { url: address }, sessionId);
  for (;;) {
    const { result } = await send("Runtime.evaluate", { expression: "(document.getElementById('selftest') || {}).textContent", returnByValue: true }, sessionId);
    if (result && result.value) {
      const seen = JSON.parse(result.value);
      if (axe) seen.errors.push(...await accessibility(sessionId));
      seen.errors.push(...errors);
      process.stdout.write(JSON.stringify(seen), () => { chromium.kill(); process.exit(0); });
      return;
    }
    await new Promise((done) => setTimeout(done, 100));
  }
})();
