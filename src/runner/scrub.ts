import type { LanguageModelV4, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { ToolSet } from "ai";
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
    Object.entries(tools).map(([name, tool]) => {
      const scrub = (value: unknown) => {
        const result = secrets.scrubValue(value);
        room.check(result, name);
        return result;
      };
      return [name, scrubTool(tool, { secrets, scrub, room })];
    }),
  );
}

/** The room that is left for the messages of a run, in characters of JSON. */
export class MessageRoom {
  constructor(private left: number) {}

  /** Throws if a result has no room. */
  check(result: unknown, tool: string): void {
    const length = lengthInJson(result);
    if (length <= this.left) return;
    throw new Error(
      `the result of ${tool} has ${length} characters of JSON, and the messages of this run have room for ${this.left}: ` +
        "max_context_bytes in the config allows more",
    );
  }

  /** Takes the room of a result. */
  keep<Result>(result: Result): Result {
    this.left -= lengthInJson(result);
    return result;
  }
}

/** Returns the length of a value as JSON; 0 for one without a JSON form, which is kept as its text. */
function lengthInJson(value: unknown): number {
  try {
    return toJsonText(value).length;
  } catch {
    return 0;
  }
}

interface ResultScrub {
  secrets: Secrets;
  scrub: (value: unknown) => unknown;
  room: MessageRoom;
}

function scrubTool(tool: ToolSet[string], { secrets, scrub, room }: ResultScrub): ToolSet[string] {
  const execute = tool.execute as ((...values: unknown[]) => unknown) | undefined;
  if (!execute) return tool;
  const fail = (error: unknown): never => {
    throw secrets.scrubError(error);
  };
  return {
    ...tool,
    execute(...values: unknown[]) {
      try {
        const output = execute.apply(tool, values);
        if (output instanceof Promise) return output.then((value) => room.keep(scrub(value)), fail);
        return isAsyncIterable(output)
          ? scrubOutputs(output, { secrets, scrub, room })
          : room.keep(scrub(output));
      } catch (error) {
        return fail(error);
      }
    },
  } as ToolSet[string];
}

/** Scrubs the outputs of a streaming tool, each of which is whole; the last one is its result. */
async function* scrubOutputs(
  outputs: AsyncIterable<unknown>,
  { secrets, scrub, room }: ResultScrub,
): AsyncGenerator<unknown> {
  let last: unknown;
  try {
    for await (const output of outputs) yield last = scrub(output);
    room.keep(last);
  } catch (error) {
    throw secrets.scrubError(error);
  }
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}
