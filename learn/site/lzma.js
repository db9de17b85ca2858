"use strict";
// unlzma unpacks the .lzma format (LZMA alone, with the size in its header): the program of the
// page is twice as large by what browsers unpack themselves. Names follow the LZMA
// specification: probabilities are 11 bits, moved by a 32nd of the rest after each bit.
function unlzma(src) {
  const lc = src[0] % 9, rest = (src[0] / 9) | 0, lp = rest % 5, pb = (rest / 5) | 0;
  let size = 0;
  for (let i = 11; i >= 5; i--) size = size * 256 + src[i];
  const out = new Uint8Array(size);
  let pos = 14, at = 0, range = 0xffffffff, code = 0;
  for (let i = 0; i < 4; i++) code = ((code << 8) | src[pos++]) >>> 0;

  const LITERAL = 1984, p = new Uint16Array(LITERAL + (0x300 << (lc + lp))).fill(1024);
  // Where each kind of probability begins.
  const MATCH = 0, REP = 192, REP0 = 204, REP1 = 216, REP2 = 228, REP0LONG = 240,
    SLOT = 432, SPECIAL = 688, ALIGN = 816, LEN = 832, REPLEN = 1346;

  function bit(i) {
    const q = p[i], bound = (range >>> 11) * q;
    let b;
    if (code < bound) { range = bound; p[i] = q + ((2048 - q) >>> 5); b = 0; }
    else { range -= bound; code -= bound; p[i] = q - (q >>> 5); b = 1; }
    if (range < 0x1000000) { range = (range << 8) >>> 0; code = ((code << 8) | src[pos++]) >>> 0; }
    return b;
  }
  function tree(base, bits) {
    let m = 1;
    for (let i = 0; i < bits; i++) m = (m << 1) | bit(base + m);
    return m - (1 << bits);
  }
  function reverse(base, bits) {
    let m = 1, v = 0;
    for (let i = 0; i < bits; i++) { const b = bit(base + m); m = (m << 1) | b; v |= b << i; }
    return v;
  }
  function direct(bits) {
    let v = 0;
    while (bits-- > 0) {
      range >>>= 1;
      const b = code >= range ? 1 : 0;
      if (b) code -= range;
      v = (v << 1) | b;
      if (range < 0x1000000) { range = (range << 8) >>> 0; code = ((code << 8) | src[pos++]) >>> 0; }
    }
    return v;
  }
  function length(base, posState) {
    if (!bit(base)) return 2 + tree(base + 2 + (posState << 3), 3);
    if (!bit(base + 1)) return 10 + tree(base + 130 + (posState << 3), 3);
    return 18 + tree(base + 258, 8);
  }

  let state = 0, r0 = 0, r1 = 0, r2 = 0, r3 = 0;
  const posMask = (1 << pb) - 1, litMask = (1 << lp) - 1;
  while (at < size) {
    const posState = at & posMask;
    if (!bit(MATCH + (state << 4) + posState)) {
      const before = at > 0 ? out[at - 1] : 0;
      const base = LITERAL + 0x300 * (((at & litMask) << lc) + (before >> (8 - lc)));
      let m = 1;
      if (state >= 7) {
        let match = out[at - r0 - 1];
        do {
          const mb = (match >> 7) & 1;
          match <<= 1;
          const b = bit(base + ((1 + mb) << 8) + m);
          m = (m << 1) | b;
          if (mb !== b) break;
        } while (m < 0x100);
      }
      while (m < 0x100) m = (m << 1) | bit(base + m);
      out[at++] = m;
      state = state < 4 ? 0 : state < 10 ? state - 3 : state - 6;
      continue;
    }
    let len;
    if (bit(REP + state)) {
      if (!bit(REP0 + state)) {
        if (!bit(REP0LONG + (state << 4) + posState)) {
          state = state < 7 ? 9 : 11;
          out[at] = out[at - r0 - 1];
          at++;
          continue;
        }
      } else {
        let d;
        if (!bit(REP1 + state)) d = r1;
        else {
          if (!bit(REP2 + state)) d = r2;
          else { d = r3; r3 = r2; }
          r2 = r1;
        }
        r1 = r0;
        r0 = d;
      }
      len = length(REPLEN, posState);
      state = state < 7 ? 8 : 11;
    } else {
      r3 = r2; r2 = r1; r1 = r0;
      len = length(LEN, posState);
      state = state < 7 ? 7 : 10;
      const slot = tree(SLOT + (Math.min(len - 2, 3) << 6), 6);
      if (slot < 4) r0 = slot;
      else {
        const bits = (slot >> 1) - 1;
        r0 = (2 | (slot & 1)) << bits;
        if (slot < 14) r0 += reverse(SPECIAL + r0 - slot, bits);
        else r0 += (direct(bits - 4) << 4) + reverse(ALIGN, 4);
      }
      if (r0 < 0 || r0 >= at) throw new Error("the packed program is damaged");
    }
    for (const end = Math.min(at + len, size); at < end; at++) out[at] = out[at - r0 - 1];
  }
  return out;
}

// unpackProgram unpacks both parts of course.lzma: see generate.go.
function unpackProgram(packed) {
  const first = packed[0] | packed[1] << 8 | packed[2] << 16 | packed[3] << 24;
  const a = unlzma(packed.subarray(4, 4 + first)), b = unlzma(packed.subarray(4 + first));
  const out = new Uint8Array(a.length + b.length);
  out.set(a);
  out.set(b, a.length);
  return out;
}
