import { isUtf8 } from "node:buffer";
import { MAX_GATEWAY_BODY_WORK } from "../contract/limits.ts";
import { measureBody } from "../kernel/json/json_work.ts";
import { parseInTurns } from "../kernel/json/parse_in_turns.ts";
import { awaitTurns, SLICE_UNITS } from "../kernel/turns.ts";
import { type Fields, isFields } from "../pricing/usage/mod.ts";
import type { GatewayContext } from "./context.ts";
import { cannotPass } from "./wires/requests.ts";
import { findAmbiguity } from "./wires/splice_json.ts";

/** The turns of the event loop in which a small request is answered. */
const TURNS_OF_A_REQUEST = 8;

/** Bodies below both are read in less than 0.1 s in all; a turn takes some milliseconds. */
const LARGE_BODY_BYTES = 4 * 1024 * 1024;
const LARGE_BODY_WORK = MAX_GATEWAY_BODY_WORK / 8;

/** Lets the requests of others be answered before what is done with a large body in one piece. */
export async function othersTurn({ turns }: Pick<GatewayContext, "turns">): Promise<void> {
  await awaitTurns(turns, TURNS_OF_A_REQUEST * SLICE_UNITS);
}

/** Parses a body in steps, each of which takes less than 0.1 s. Throws `too_large` for one with too many values. */
export async function parseBody(
  ctx: Pick<GatewayContext, "turns">,
  bytes: Uint8Array,
): Promise<{ body: Fields; isLarge: boolean }> {
  const work = await measureBody(bytes, MAX_GATEWAY_BODY_WORK, ctx.turns);
  const isLarge = bytes.length >= LARGE_BODY_BYTES || work >= LARGE_BODY_WORK;
  if (isLarge) await othersTurn(ctx);
  const text = decodeRequest(bytes);
  if (isLarge) await othersTurn(ctx);
  const body = tryParse(withPlainNames(text));
  if (!isFields(body)) throw cannotPass("its body has to be a JSON object");
  if (isLarge) await othersTurn(ctx);
  const ambiguity = findAmbiguity(bytes);
  if (ambiguity === undefined) return { body, isLarge };
  throw cannotPass(`its body has ${ambiguity}`);
}

const decoder = new TextDecoder();

function decodeRequest(bytes: Uint8Array): string {
  // A decoder that refuses what isn't UTF-8 takes ten times as long in Deno (2.9.6).
  if (!isUtf8(bytes)) throw cannotPass("its body isn't UTF-8");
  return decoder.decode(bytes);
}

/** A letter, a digit or an underscore that is written as an escape, which no encoder does; or an escaped backslash. */
const NEEDLESS_ESCAPE = /(\\\\)|\\u00(3[0-9]|[46][1-9a-f]|5[0-9af]|7[0-9a])/gi;

/**
 * Writes the letters of a JSON text as they are, so that every name that decides something is parsed as its provider parses it:
 * V8 14 takes a name with an escape for another one that has a backslash, where both begin with the same bytes, as `\u006dodel`
 * for `\\u006`.
 */
function withPlainNames(text: string): string {
  if (!text.includes("\\u00")) return text;
  return text.replaceAll(
    NEEDLESS_ESCAPE,
    (all, backslash, hex) => backslash ? all : String.fromCharCode(parseInt(hex, 16)),
  );
}

/** Larger answers are parsed in slices: vectors and probabilities of tokens make many megabytes. */
const LARGE_ANSWER_BYTES = 256 * 1024;

/** Returns the JSON of an answer; undefined if it isn't JSON. */
export async function parseAnswer(
  { turns }: Pick<GatewayContext, "turns">,
  bytes: Uint8Array,
): Promise<unknown> {
  if (bytes.length < LARGE_ANSWER_BYTES) return tryParse(decoder.decode(bytes));
  return await parseInTurns(bytes, turns).catch(() => undefined);
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
