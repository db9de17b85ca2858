"use strict";
// Opens pages in Chromium with the network off, at the width of a phone and of a desk, light and
// dark, and prints what it sees of each and every error. Arguments: the browser, a folder for
// its profile, the addresses.
const { spawn } = require("child_process");
const [browser, profile, ...addresses] = process.argv.slice(2);
const chromium = spawn(browser, ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--user-data-dir=" + profile, "about:blank"], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
const waiting = new Map(), errors = [];
let last = 0, text = "", loaded = () => {};
const send = (method, params = {}, sessionId) => new Promise((done) => {
  waiting.set(++last, done);
  chromium.stdio[3].write(JSON.stringify({ id: last, method, params, sessionId }) + "\0");
});
chromium.stdio[4].on("data", (data) => {
  text += data;
  for (let end; (end = text.indexOf("\0")) >= 0; text = text.slice(end + 1)) {
    const m = JSON.parse(text.slice(0, end));
    if (m.id) waiting.get(m.id)(m.result || m);
    else if (m.method === "Page.loadEventFired") loaded();
    else if (m.method === "Runtime.exceptionThrown") errors.push(m.params.exceptionDetails.text);
    else if (m.method === "Log.entryAdded") errors.push(m.params.entry.text);
    else if (m.method === "Network.requestWillBeSent" && !m.params.request.url.startsWith("file:")) errors.push("asked for " + m.params.request.url);
  }
});
// look returns what overflows to the right, outside what scrolls by itself, the colours, and
// names of lines that leave their picture or lie upon each other.
const look = (width) => `(() => {
  const overflow = Math.max(0, document.documentElement.scrollWidth - ${width}), clash = [];
  for (const svg of document.querySelectorAll("svg.chart")) {
    const frame = svg.getBoundingClientRect(), names = [...svg.querySelectorAll(".name")].map((t) => [t.textContent, t.getBoundingClientRect()]);
    if (!frame.width) continue;
    names.forEach(([name, a], i) => {
      if (a.right > frame.right + 1 || a.bottom > frame.bottom + 1 || a.top < frame.top - 1) clash.push(name + " leaves its picture");
      for (const [other, b] of names.slice(i + 1)) if (Math.abs((a.top + a.bottom) - (b.top + b.bottom)) < 20) clash.push(name + " upon " + other);
    });
  }
  const style = getComputedStyle(document.body), said = document.querySelector(".protects");
  return { overflow, clash, ink: style.color, paper: style.backgroundColor, decision: said ? said.getBoundingClientRect().bottom : 0,
    charts: [...document.querySelectorAll("svg.chart")].filter((s) => s.getBoundingClientRect().width > 0).length };
})()`;

(async () => {
  const { targetId } = await send("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await send("Target.attachToTarget", { targetId, flatten: true });
  for (const domain of ["Runtime", "Log", "Network", "Page"]) await send(domain + ".enable", {}, sessionId);
  await send("Network.emulateNetworkConditions", { offline: true, latency: 0, downloadThroughput: -1, uploadThroughput: -1 }, sessionId);
  const seen = [];
  for (const address of addresses) {
    const load = new Promise((done) => { loaded = done; });
    await send("Page.navigate", { url: address }, sessionId);
    await load;
    for (const width of [390, 1280]) {
      await send("Emulation.setDeviceMetricsOverride", { width, height: 844, deviceScaleFactor: 1, mobile: width < 600 }, sessionId);
      for (const scheme of ["light", "dark"]) {
        await send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] }, sessionId);
        const { result } = await send("Runtime.evaluate", { expression: look(width), returnByValue: true }, sessionId);
        seen.push({ address, width, scheme, ...result.value });
      }
    }
  }
  process.stdout.write(JSON.stringify({ seen, errors }), () => { chromium.kill(); process.exit(0); });
})();
