"use strict";
// The single file begins with this: it unpacks the other chapters and the scripts, after the
// first picture is on the screen.
function unpackText(text) { // see binaryText in binary.go
  const code = new Map();
  const all = new TextDecoder("windows-1252").decode(Uint8Array.from({ length: 256 }, (_, i) => i));
  for (let i = 0; i < 256; i++) code.set(all.charCodeAt(i), i);
  const out = new Uint8Array(text.length);
  let n = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    out[n++] = c === 61 ? (text.charCodeAt(++i) - 64) & 255 : c < 128 ? c : code.get(c);
  }
  return out.subarray(0, n);
}

(async () => {
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
  const element = document.getElementById("rest");
  const stream = new Blob([unpackText(element.textContent)]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const [html, js] = (await new Response(stream).text()).split("\0");
  element.remove();
  document.querySelector(".chapter").insertAdjacentHTML("afterend", html);
  (0, eval)(js);
})().catch((e) => { document.querySelector(".error").hidden = false; document.querySelector(".error").textContent = "The knobs do not work here: " + e.message; });
