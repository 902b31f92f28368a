import { type Asked, type Fields, readAsked } from "../pricing/usage/mod.ts";
import type { GatewayRequest } from "./context.ts";

/** The content of a request: the bytes that are sent, those that came, and what they were parsed to. */
export interface Content {
  sent: Uint8Array<ArrayBuffer>;
  bytes: Uint8Array<ArrayBuffer>;
  body: Fields;
  /** Returns the parts of the request that its price depends on; they are read once, since the body is not kept. */
  asked(): Asked;
}

/** Returns the content of a request. */
export function contentOf(sent: Content["sent"], bytes: Content["bytes"], body: Fields): Content {
  let asked: Asked | undefined;
  return { sent, bytes, body, asked: () => asked ??= readAsked([body]) };
}

/** A smaller body is kept until its answer. */
const KEPT_BYTES = 16 * 1024;

/** Frees the memory of a request that has been sent: many may wait for their answers, and prompts are large. */
export function letGo(content: Content, onBodySent: GatewayRequest["onBodySent"]): void {
  const { sent, bytes, body } = content;
  if (bytes.length > KEPT_BYTES) {
    content.asked();
    for (const { buffer } of new Set([sent, bytes])) buffer.transfer(0);
    for (const name of Object.keys(body)) delete body[name];
  }
  onBodySent?.();
}
