import type { LanguageModelV4Usage } from "@ai-sdk/provider";
import { type Asked, readAsked, trackAnswerUsage, usageFromAiSdk } from "../../pricing/usage/mod.ts";
import { contentOf, textsOf, type UsageReport } from "../../calls/mod.ts";
import { idsIn } from "../../ledger/mod.ts";
import { linksOf } from "../../kernel/error_links.ts";
import { fieldsOf } from "../../kernel/header_fields.ts";
import { isRecord } from "../../kernel/records.ts";

/** The part of an answer that an error holds. */
export type FailedAnswer = Pick<
  UsageReport,
  "counted" | "partial" | "raw" | "served" | "statement" | "responseId" | "unreadText" | "ids"
>;

/**
 * Reads the usage and the text of an answer from the error with which a call has failed: the AI SDK keeps a body that it could
 * not read, and that of an error status. `provider` is the model's own `.provider`.
 */
export function readFailedAnswer(
  provider: string,
  error: unknown,
  readRequest: ReadRequest = () => readAsked([]),
): FailedAnswer {
  let text: string | undefined;
  let ids: FailedAnswer["ids"];
  for (const link of linksOf(error)) {
    if (isRecord(link.responseHeaders)) {
      ids ??= idsIn(fieldsOf(link.responseHeaders as Record<string, string>));
    }
    for (const body of [link.responseBody, link.text, link.value, link.data, link.error]) {
      if (body === undefined || body === null) continue;
      const answer = readBody(provider, body, readRequest);
      if (answer.raw !== undefined || answer.partial) return { ...answer, ...(ids && { ids }) };
      text ??= answer.unreadText;
    }
  }
  return { counted: undefined, ...(text !== undefined && { unreadText: text }), ...(ids && { ids }) };
}

/** Returns what the request of the call asked for; see `trackAnswerUsage()`. */
type ReadRequest = () => Asked;

function readBody(provider: string, body: unknown, readRequest: ReadRequest): FailedAnswer {
  if (typeof body !== "string") return readJson(provider, body, readRequest);
  try {
    return readJson(provider, JSON.parse(body), readRequest);
  } catch {
    return /^data:/m.test(body)
      ? readEvents(provider, body, readRequest)
      : { counted: undefined, unreadText: body };
  }
}

/** Totals that the AI SDK knows nothing of. */
const NO_TOTALS: LanguageModelV4Usage = {
  inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined },
};

/** Gemini answers with a list of chunks, of which the last has the counts; an event has its answer inside. */
function readJson(provider: string, body: unknown, readRequest: ReadRequest): FailedAnswer {
  const parts = Array.isArray(body) ? body.toReversed() : [body];
  for (const part of parts.filter(isRecord)) {
    for (const holder of [part, part.response, part.message, part.error].filter(isRecord)) {
      const raw = holder.usage ?? holder.usageMetadata;
      if (!isRecord(raw)) continue;
      const seen = trackAnswerUsage(provider, readRequest);
      seen.take(part);
      const counted = usageFromAiSdk(
        provider,
        { ...NO_TOTALS, raw: raw as LanguageModelV4Usage["raw"] },
        readRequest,
      );
      const tier = textAt(holder, "service_tier") ?? textAt(raw, "service_tier");
      return {
        counted: counted && seen.withTools(counted),
        raw,
        served: { ...(tier !== undefined && { serviceTier: tier }), ...seen.served() },
        statement: { ...seen.statement(), usage: raw },
        responseId: textAt(holder, "id") ?? textAt(holder, "responseId"),
        unreadText: contentOf(body),
      };
    }
  }
  return { counted: undefined, unreadText: contentOf(body) };
}

/** Reads a stream of events that came where none was expected. */
function readEvents(provider: string, text: string, readRequest: ReadRequest): FailedAnswer {
  const seen = trackAnswerUsage(provider, readRequest);
  let unreadText = "";
  for (const [, line] of text.matchAll(/^data:\s*(\{.*\})\s*$/gm)) {
    try {
      const event: unknown = JSON.parse(line!);
      seen.take(event);
      unreadText += textsOf(event);
    } catch {
      unreadText += line;
    }
  }
  const usage = seen.usage();
  return {
    counted: seen.isFinal() ? usage : undefined,
    partial: usage,
    served: seen.served(),
    statement: seen.isFinal() ? seen.statement() : undefined,
    unreadText: unreadText || text,
  };
}

function textAt(fields: Record<string, unknown>, key: string): string | undefined {
  const value = fields[key];
  return typeof value === "string" ? value : undefined;
}
