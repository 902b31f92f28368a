import { Buffer } from "node:buffer";
import type { LanguageModelV4, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { ToolSet } from "ai";
import { messageOf } from "../kernel/errors.ts";
import { toJsonText } from "../kernel/json/portable_json.ts";
import type { Secrets, TextScrub } from "../redaction/values/mod.ts";

/**
 * Removes configured secrets from what models and tools return to a run, where it enters: from answers, streamed or whole,
 * from results and from errors. Whatever is made of them (events, messages, output, spans, problem documents) has none.
 */

/** Wraps a model so that no answer and no error of it has a configured secret. */
export function scrubModel(model: LanguageModelV4, secrets: Secrets): LanguageModelV4 {
  return {
    specificationVersion: "v4",
    provider: model.provider,
    modelId: model.modelId,
    get supportedUrls() {
      return model.supportedUrls;
    },
    async doGenerate(options) {
      try {
        // Without the request, which is the whole session.
        const { request, ...answer } = await model.doGenerate(options);
        return { ...secrets.scrubValue(answer), ...(request && { request }) };
      } catch (error) {
        throw secrets.scrubError(error);
      }
    },
    async doStream(options) {
      try {
        const result = await model.doStream(options);
        return { ...result, stream: scrubStream(result.stream, secrets) };
      } catch (error) {
        throw secrets.scrubError(error);
      }
    },
  };
}

type Part = LanguageModelV4StreamPart;
type Delta = Extract<Part, { delta: string }>;

/** Scrubs the parts of a stream. The deltas of a text keep back an end that may be the beginning of a secret. */
function scrubStream(source: ReadableStream<Part>, secrets: Secrets): ReadableStream<Part> {
  const reader = source.getReader();
  const texts = new Map<string, { text: TextScrub; last: Delta }>();
  const waiting: Part[] = [];
  let failure: { error: unknown } | undefined;

  /** Adds what is kept back of a text, before the part that ends it. */
  function flush(key: string): void {
    const open = texts.get(key);
    texts.delete(key);
    const rest = open?.text.end() ?? "";
    if (open && rest !== "") waiting.push({ ...open.last, delta: rest });
  }

  const flushAll = () => {
    for (const key of [...texts.keys()]) flush(key);
  };

  function take(part: Part): void {
    if ("delta" in part && typeof part.delta === "string") {
      const key = keyOf(part);
      const { text } = texts.get(key) ?? { text: secrets.startText() };
      texts.set(key, { text, last: part });
      waiting.push({ ...part, delta: text.push(part.delta) });
      return;
    }
    if (part.type.endsWith("-end")) flush(keyOf(part));
    if (part.type === "finish" || part.type === "error") flushAll();
    // Raw chunks are read for their counts, and go no further.
    if (part.type === "raw") waiting.push(part);
    else if (part.type === "error") {
      const error = secrets.scrubError(part.error);
      waiting.push({ ...part, error: error instanceof Error ? error : secrets.scrubValue(error) });
    } else waiting.push(secrets.scrubValue(part));
  }

  return new ReadableStream<Part>({
    async pull(controller) {
      while (waiting.length === 0) {
        if (failure) throw failure.error;
        try {
          const { done, value } = await reader.read();
          if (!done) take(value);
          else if (texts.size === 0) return controller.close();
          else flushAll();
        } catch (error) {
          failure = { error: secrets.scrubError(error) };
          flushAll();
        }
      }
      for (const part of waiting.splice(0)) controller.enqueue(part);
    },
    cancel: (reason) => reader.cancel(reason),
  }, { highWaterMark: 0 });
}

/** Returns the key of the text that a part belongs to: `text`, `reasoning` or `tool-input`, and its id. */
function keyOf(part: Part): string {
  return `${part.type.replace(/-(?:delta|end)$/, "")} ${"id" in part ? part.id : ""}`;
}

/**
 * Wraps tools so that no result and no error of theirs has a configured secret. A result that has no room among the messages
 * of the run is an error instead, which the model sees.
 */
export function scrubTools(tools: ToolSet, secrets: Secrets, room: MessageRoom): ToolSet {
  return Object.fromEntries(
    Object.entries(tools).map(([name, tool]) => [name, scrubTool(tool, { name, secrets, room })]),
  );
}

/** The room that is left for the messages of a run, in bytes of JSON. */
export class MessageRoom {
  constructor(private left: number) {}

  /** Takes the room of a message of these bytes, whether there is room or not. */
  use(bytes: number): void {
    this.left -= bytes;
  }

  /** Takes the room of a result, in the place of one that took `before`; returns its bytes. Throws if there is none. */
  take(result: unknown, tool: string, before = 0): number {
    const bytes = bytesInJson(result);
    const left = Math.max(0, this.left + before);
    this.left += before;
    if (bytes > left) {
      throw new Error(
        `the result of ${tool} has ${bytes} bytes of JSON, and the messages of this run have room for ${left}: ` +
          "max_context_bytes in the config allows more",
      );
    }
    this.left -= bytes;
    return bytes;
  }
}

/** Returns the size of a value as JSON; 0 for one without a JSON form, which is kept as its text. */
function bytesInJson(value: unknown): number {
  try {
    return Buffer.byteLength(toJsonText(value));
  } catch {
    return 0;
  }
}

/** The longest message of a tool's error, in characters. */
const MAX_ERROR_LENGTH = 10_000;

interface ToolScrub {
  name: string;
  secrets: Secrets;
  room: MessageRoom;
}

function scrubTool(tool: ToolSet[string], { name, secrets, room }: ToolScrub): ToolSet[string] {
  const execute = tool.execute as ((...values: unknown[]) => unknown) | undefined;
  if (!execute) return tool;
  const fail = (error: unknown): never => {
    throw shortError(secrets.scrubError(error));
  };
  const scrub = (value: unknown) => {
    const result = secrets.scrubValue(value);
    room.take(result, name);
    return result;
  };
  return {
    ...tool,
    execute(...values: unknown[]) {
      try {
        const output = execute.apply(tool, values);
        if (isThenable(output)) return Promise.resolve(output).then(scrub).catch(fail);
        return isAsyncIterable(output) ? scrubOutputs(output, { name, secrets, room }) : scrub(output);
      } catch (error) {
        return fail(error);
      }
    },
  } as ToolSet[string];
}

/** Scrubs the outputs of a streaming tool, each of which is whole, and takes the place of the one before. */
async function* scrubOutputs(
  outputs: AsyncIterable<unknown>,
  { name, secrets, room }: ToolScrub,
): AsyncGenerator<unknown> {
  let taken = 0;
  try {
    for await (const output of outputs) {
      const result = secrets.scrubValue(output);
      taken = room.take(result, name, taken);
      yield result;
    }
  } catch (error) {
    throw shortError(secrets.scrubError(error));
  }
}

/** Returns an error whose message has room in an answer. */
function shortError(error: unknown): unknown {
  const message = messageOf(error);
  if (message.length <= MAX_ERROR_LENGTH) return error;
  return new Error(`${message.slice(0, MAX_ERROR_LENGTH).toWellFormed()}…`);
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | undefined | null)?.then === "function";
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}
