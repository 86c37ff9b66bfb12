// A program as the fragment of an address, which no server sees: compressed, in letters that an
// address may hold.

const KEY = "#program=";

async function through(bytes, stream) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

/** The address of this page with a program. */
export async function addressOf(program) {
  const packed = await through(new TextEncoder().encode(program), new CompressionStream("deflate-raw"));
  const letters = btoa(Array.from(packed, (byte) => String.fromCharCode(byte)).join(""));
  const url = new URL(location.href);
  url.hash = KEY + letters.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return url.href;
}

/** The program in this page's address, or null. Throws for one that cannot be read. */
export async function programOf(address) {
  const { hash } = new URL(address);
  if (!hash.startsWith(KEY)) return null;
  const letters = atob(hash.slice(KEY.length).replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  const text = await through(bytes, new DecompressionStream("deflate-raw"));
  return new TextDecoder("utf-8", { fatal: true }).decode(text);
}
