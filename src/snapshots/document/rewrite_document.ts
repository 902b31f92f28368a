import { createHash } from "node:crypto";
import { toCanonicalText } from "../../kernel/json/canonical_json.ts";
import { splitJson } from "../../kernel/json/split_json.ts";
import { decodeDocument } from "../files/snapshot_source.ts";

/** Rewrites a member of the document or of its state, a message or an event. */
export type Rewrite = (value: unknown, path: readonly string[]) => unknown;

const ARRAYS = [["state", "messages"], ["events"]];
/** More than any valid document has: it was validated when it was exported. */
const MAX_DEPTH = 1_000;
const FLUSH_CHARACTERS = 256 * 1024;

/**
 * Rewrites each part of a document, in its order, and recomputes its integrity. Memory use is constant. The document
 * is one of an export: canonical JSON.
 */
export async function* rewriteDocument(
  bytes: AsyncIterable<Uint8Array>,
  rewrite: Rewrite,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder();
  const hash = createHash("sha256");
  const encode = (text: string) => {
    const piece = encoder.encode(text);
    hash.update(piece);
    return piece;
  };
  const open: { depth: number; close: string; isEmpty: boolean }[] = [{
    depth: 0,
    close: "}",
    isEmpty: true,
  }];
  let text = "{";
  const parts = splitJson(decodeDocument(bytes, Number.MAX_SAFE_INTEGER), {
    arrays: ARRAYS,
    maxDepth: MAX_DEPTH,
  });
  for await (const part of parts) {
    const isElement = part.kind === "element";
    if (part.path.length === 1 && part.path[0] === "integrity") continue;
    const depth = isElement ? part.path.length : part.path.length - 1;
    while (open.at(-1)!.depth > depth) text += open.pop()!.close;
    const holder = open.at(-1)!;
    text += holder.isEmpty ? "" : ",";
    holder.isEmpty = false;
    if (!isElement) text += JSON.stringify(part.path.at(-1)) + ":";
    if (part.kind === "open") {
      text += part.type === "array" ? "[" : "{";
      open.push({ depth: part.path.length, close: part.type === "array" ? "]" : "}", isEmpty: true });
    } else {
      text += toCanonicalText(rewrite(JSON.parse(part.text), part.path));
    }
    if (text.length > FLUSH_CHARACTERS) {
      yield encode(text);
      text = "";
    }
  }
  while (open.length > 1) text += open.pop()!.close;
  yield encode(text);
  hash.update("}");
  yield encoder.encode(`,"integrity":"sha256:${hash.digest("hex")}"}`);
}
