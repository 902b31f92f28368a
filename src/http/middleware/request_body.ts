import type { Context, HonoRequest, MiddlewareHandler } from "hono";
import { matchedRoutes } from "hono/route";
import type { Core } from "../../service/mod.ts";
import { MAX_BODY_WORK } from "../../contract/limits.ts";
import { PurserError } from "../../kernel/errors.ts";
import { measureBody } from "../../kernel/json/json_work.ts";
import { type ApiEnv, leaseOf, principalOf } from "./principal.ts";
import { arrivedBody, BODY_TIMES, bodyChunks, hasBody, lengthOf } from "./body_chunks.ts";
import { isJsonBody, notJson } from "./json_type.ts";

/** Methods that no route has, and that `new Request` refuses. */
const FORBIDDEN_METHOD = /^(CONNECT|TRACE|TRACK)$/i;

/** The bytes of a body that a client without a key may send: the key or the code that it signs in with. */
const MAX_ANONYMOUS_BYTES = 4096;

/** The parts of a core that limit bodies. */
type BodyContext = Pick<Core, "maxBodyBytes" | "stopping" | "turns">;

/**
 * Accepts only JSON of a bounded size, and reads it. A request without a body needs no type; its stream has to be read to
 * know, since `Deno.serve` gives every POST and DELETE a stream, if an empty one. Bodies for unknown routes are not read.
 */
export function checkBody(core: BodyContext): MiddlewareHandler<ApiEnv> {
  return async (c, next) => {
    const { raw } = c.req;
    // What is held in memory is limited for all clients together: without a key, no client may take a share of it.
    const maxBodyBytes = principalOf(c)?.keyId === null ? MAX_ANONYMOUS_BYTES : core.maxBodyBytes;
    if (!hasBody(c) || FORBIDDEN_METHOD.test(raw.method)) return await next();
    if (!matchedRoutes(c).some(({ method }) => method !== "ALL")) return await next();
    if (Number(raw.headers.get("content-length")) > maxBodyBytes) throw tooLarge(maxBodyBytes);
    const lease = leaseOf(c);
    const chunks = bodyChunks(c, core);
    if (!isJsonBody(raw) && !await isEmpty(chunks)) throw notJson();
    lease?.beginBody(lengthOf(c), maxBodyBytes);
    setBody(c.req, await readText(core, chunks, maxBodyBytes));
    lease?.countBody(BODY_TIMES);
    await next();
  };
}

/** A text that is let go of once it is read: what is read from it may be in use for as long as a run lasts. */
interface ReadOnce {
  text: string | undefined;
}

async function readText(
  core: BodyContext,
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<ReadOnce> {
  const bytes = await readUpTo(chunks, maxBytes);
  await measureBody(bytes, MAX_BODY_WORK, core.turns); // it is parsed and checked in one piece
  // Replacing what isn't UTF-8 would make one id of two; a decoder that refuses it takes ten times as long in Deno (2.9.6).
  const { isUtf8 } = await (buffer ??= import("node:buffer"));
  if (!isUtf8(bytes)) throw new PurserError("invalid", "Cannot read the body: it isn't UTF-8");
  return { text: decoder.decode(bytes) };
}

const decoder = new TextDecoder();

/** Loaded by the first body: a command that only reads has none. */
let buffer: Promise<typeof import("node:buffer")> | undefined;

/** Sets the body of a request that has been read, which its schema reads once. */
function setBody({ bodyCache }: HonoRequest, body: ReadOnce): void {
  Object.defineProperty(bodyCache, "text", {
    configurable: true,
    enumerable: true,
    get() {
      const { text } = body;
      body.text = undefined;
      return text === undefined
        ? Promise.reject(new Error("The body has been read before"))
        : Promise.resolve(text);
    },
  });
}

/** Reads a body of any type, as a whole. Throws `too_large` for one of more than `maxBytes`. */
export async function readBody(
  c: Context<ApiEnv>,
  core: Pick<Core, "stopping">,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const length = lengthOf(c);
  if (length > maxBytes) throw tooLarge(maxBytes);
  leaseOf(c)?.beginBody(length, maxBytes);
  const arrived = arrivedBody(c);
  if (arrived === undefined) return await readUpTo(bodyChunks(c, core), maxBytes);
  if (arrived.length > maxBytes) throw tooLarge(maxBytes);
  return new Uint8Array(arrived);
}

async function isEmpty(chunks: AsyncIterable<Uint8Array>): Promise<boolean> {
  for await (const chunk of chunks) if (chunk.length > 0) return false;
  return true;
}

/** The largest block for small chunks of a body. */
const BLOCK_BYTES = 64 * 1024;

/**
 * Reads a body, copying it into blocks, however many chunks it has: a chunk may be a small part of a large buffer, which would be
 * kept with it. Until it is whole, it takes no more memory than what has arrived.
 */
export async function readUpTo(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const blocks: Uint8Array<ArrayBuffer>[] = [];
  let block = new Uint8Array(0);
  let used = 0;
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > maxBytes) throw tooLarge(maxBytes);
    for (let from = 0; from < chunk.length;) {
      if (used === block.length) {
        blocks.push(block = new Uint8Array(Math.max(chunk.length - from, Math.min(size, BLOCK_BYTES))));
        used = 0;
      }
      const part = chunk.subarray(from, from + block.length - used);
      block.set(part, used);
      used += part.length;
      from += part.length;
    }
  }
  if (blocks.length <= 1) return block.subarray(0, used);
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const each of blocks) {
    const part = each === block ? each.subarray(0, used) : each;
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

function tooLarge(maxBytes: number): PurserError {
  return new PurserError("too_large", `Cannot read the body: it is over ${maxBytes} bytes`);
}
