import type { Span, SpanStatus, Tracer } from "@opentelemetry/api";

type AnyFunction = (...values: unknown[]) => unknown;

/** Prototypes that have been changed already: several cores of one process share them. */
const changed = new WeakSet<object>();

/** Keys to Purser's API, wherever they stand. */
const API_KEYS = /psr_[0-9a-z]{26}_[0-9a-z]{39}/gi;

/**
 * Keeps addresses of requests out of spans that Deno makes by itself while `isInside`. It would tell them whole, and
 * they are secret (a Slack webhook is nothing but its address) or made of a tool's arguments. What is told is the
 * origin: `https://hooks.slack.com`. Elsewhere only API keys are taken out, which a client may put into an address by
 * mistake. Where another implementation makes the spans, nothing changes.
 */
export function hideUrls(tracer: Tracer, isInside: () => boolean): void {
  if (!("Deno" in globalThis)) return;
  const prototype = Object.getPrototypeOf(tracer.startSpan("never ended, so never told"));
  if (changed.has(prototype)) return;
  changed.add(prototype);
  const { setAttribute, setStatus } = prototype as Record<string, AnyFunction>;
  Object.assign(prototype, {
    setAttribute(this: Span, key: string, value: unknown) {
      const isUrl = key === "url.path" || key === "url.query";
      if (!isInside()) return setAttribute!.call(this, key, hideKeysIn(value));
      return isUrl ? this : setAttribute!.call(this, key, hideUrlsIn(value));
    },
    setStatus(this: Span, status: SpanStatus) {
      const told = isInside() ? { ...status, message: hideUrlsIn(status.message) } : status;
      return setStatus!.call(this, told);
    },
  });
}

function hideKeysIn<T>(value: T): T | string {
  return typeof value === "string" ? value.replace(API_KEYS, "psr_…") : value;
}

/** A text with every address in it cut down to its origin. */
export function hideUrlsIn<T>(value: T): T | string {
  if (typeof value !== "string") return value;
  return value.replace(
    /\b[a-z][a-z0-9+.-]*:\/\/\S+/gi,
    (url) => URL.canParse(url) ? new URL(url).origin : "…",
  );
}
