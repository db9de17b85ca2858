"use strict";
// Runs the embedded program, as the page does: requests come as lines on stdin, replies go as
// lines to stdout.
const fs = require("fs"), vm = require("vm"), zlib = require("zlib");
vm.runInThisContext(fs.readFileSync("wasm_exec.js", "utf8"));
globalThis.pateReady = () => {
  const requests = fs.readFileSync(0, "utf8").split("\n").filter(Boolean);
  fs.writeFileSync(1, requests.map((q) => globalThis.pate(q)).join(""));
  process.exit(0);
};
const go = new Go();
WebAssembly.instantiate(zlib.gunzipSync(fs.readFileSync("course.wasm.gz")), go.importObject).then((program) => go.run(program.instance));
