// SHA-256 (FIPS 180-4) of a file, piece by piece, in a worker of its own: crypto.subtle wants all of it at once, and only
// on https. Asked with a File, answers {done} as it goes and {sha256} at the end, or {problem}.
const PIECE = 4 * 2 ** 20;
const primes = (count) => {
  const found = [];
  for (let n = 2; found.length < count; n += 1) if (found.every((p) => n % p)) found.push(n);
  return found;
};
// The first 32 bits of the fractional part.
const fraction = (value) => ((value - Math.floor(value)) * 2 ** 32) | 0;
const ROUND = Int32Array.from(primes(64), (p) => fraction(Math.cbrt(p)));

export class Sha256 {
  #state = Int32Array.from(primes(8), (p) => fraction(Math.sqrt(p)));
  #words = new Int32Array(64);
  #rest = new Uint8Array(64);
  #kept = 0;
  #length = 0;

  add(bytes) {
    this.#length += bytes.length;
    let at = 0;
    if (this.#kept) {
      at = Math.min(64 - this.#kept, bytes.length);
      this.#rest.set(bytes.subarray(0, at), this.#kept);
      this.#kept += at;
      if (this.#kept < 64) return;
      this.#block(new DataView(this.#rest.buffer), 0);
      this.#kept = 0;
    }
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    for (; at + 64 <= bytes.length; at += 64) this.#block(view, at);
    this.#rest.set(bytes.subarray(at));
    this.#kept = bytes.length - at;
  }

  hex() {
    const length = this.#length;
    const end = new Uint8Array((this.#kept < 56 ? 64 : 128) - this.#kept);
    end[0] = 0x80;
    const view = new DataView(end.buffer);
    view.setUint32(end.length - 8, Math.floor(length / 2 ** 29));
    view.setUint32(end.length - 4, (length << 3) >>> 0);
    this.add(end);
    return Array.from(this.#state, (word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
  }

  #block(view, at) {
    const [w, s] = [this.#words, this.#state];
    for (let i = 0; i < 16; i += 1) w[i] = view.getInt32(at + 4 * i);
    for (let i = 16; i < 64; i += 1) {
      const [x, y] = [w[i - 15], w[i - 2]];
      const a = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
      const b = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
      w[i] = (w[i - 16] + a + w[i - 7] + b) | 0;
    }
    let [a, b, c, d, e, f, g, h] = s;
    for (let i = 0; i < 64; i += 1) {
      const one = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
      const t = (h + one + ((e & f) ^ (~e & g)) + ROUND[i] + w[i]) | 0;
      const nought = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
      const u = (nought + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g; g = f; f = e; e = (d + t) | 0; d = c; c = b; b = a; a = (t + u) | 0;
    }
    s[0] += a; s[1] += b; s[2] += c; s[3] += d; s[4] += e; s[5] += f; s[6] += g; s[7] += h;
  }
}

if (typeof WorkerGlobalScope !== "undefined") {
  addEventListener("message", async ({ data: file }) => {
    try {
      const sum = new Sha256();
      for (let at = 0; at < file.size; at += PIECE) {
        sum.add(new Uint8Array(await file.slice(at, at + PIECE).arrayBuffer()));
        postMessage({ done: at });
      }
      postMessage({ sha256: sum.hex() });
    } catch (error) {
      postMessage({ problem: error.message });
    }
  });
}
