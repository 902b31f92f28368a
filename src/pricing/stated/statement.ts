import { type NanoUsd, sumUsd } from "../../kernel/money.ts";
import { type Fields, isFields } from "../usage/fields.ts";

/** The parts of an answer that may state its cost, as the provider has sent them. */
export interface Statement {
  /** The usage object. */
  usage?: Fields | undefined;
  /** The addition of Vercel's AI Gateway to an answer: `provider_metadata.gateway`. */
  gateway?: Fields | undefined;
  headers?: Pick<Headers, "get"> | undefined;
  /** True for a stream, whose headers were sent before its cost was known. */
  isStreamed?: boolean;
}

/**
 * Returns what Vercel's AI Gateway has added to an answer or to a chunk of one: in chat beside the text, elsewhere at the top; in
 * some APIs its name is in camel case.
 */
export function gatewayOf(chunk: Fields): Fields | undefined {
  const [choice] = Array.isArray(chunk.choices) ? chunk.choices : [];
  const isChoice = isFields(choice);
  const { message, delta } = isChoice ? choice : chunk;
  for (const holder of [chunk, isChoice ? undefined : chunk.response, message, delta]) {
    if (!isFields(holder)) continue;
    const metadata = holder.provider_metadata ?? holder.providerMetadata;
    if (isFields(metadata) && isFields(metadata.gateway)) return metadata.gateway;
  }
  return undefined;
}

/** Returns the value at a path. */
export function valueAt(fields: Fields | undefined, ...path: readonly string[]): unknown {
  let value: unknown = fields;
  for (const key of path) value = isFields(value) ? value[key] : undefined;
  return value;
}

/** The longest text that is read as an amount. */
const MAX_LENGTH = 64;

/**
 * Adds amounts in units of `10 ** exponent` USD, as numbers or as texts of numbers, and rounds the sum once. Undefined if one is
 * no number or negative, or the sum is over a billion USD.
 */
export function amountOf(values: readonly unknown[], exponent = 0): NanoUsd | undefined {
  const isReadable = (value: unknown): value is number | string =>
    (typeof value === "number" && value >= 0) ||
    (typeof value === "string" && value.length <= MAX_LENGTH && !value.trim().startsWith("-"));
  if (!values.every(isReadable)) return undefined;
  try {
    return sumUsd(values, { exponent });
  } catch {
    return undefined;
  }
}
