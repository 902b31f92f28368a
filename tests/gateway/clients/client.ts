import type { UsageApi } from "../../../src/pricing/usage/mod.ts";

/** The address and the key that a client is configured with: a provider's, or the gateway's. */
export interface Place {
  /** The address in front of `/v1`. */
  url: string;
  key: string;
  /** The client's own default unless given. */
  maxRetries?: number | undefined;
}

/** The ways of calling a model that every client has. A failed one throws as the client throws. */
export interface Calls {
  /** Asks the question, and returns the whole answer. */
  whole(signal?: AbortSignal): Promise<unknown>;
  /** Asks the question, and yields everything that the client shows of the stream. */
  stream(signal?: AbortSignal): AsyncIterable<unknown>;
  /** Asks with a tool, returns its result to the model, and returns both answers. */
  tools(): Promise<unknown>;
  /** Asks with a tool, and yields the streamed call of it. */
  toolStream(): AsyncIterable<unknown>;
}

/** A published client of a model API, as its users write it. */
export interface RealClient {
  /** The package, and the API that it calls. */
  name: string;
  api: UsageApi;
  open(place: Place, model: string): Calls;
}

export const QUESTION = "What is 2+2?";

/** The tool that the fixtures' models call, and the schema of its input. */
export const CALCULATOR = {
  name: "calculator",
  description: "Calculates",
  schema: {
    type: "object",
    properties: { expression: { type: "string" } },
    required: ["expression"],
    additionalProperties: false,
  },
} as const;

/** The result that the tool returns. */
export const RESULT = "4";

/** The settings of a client that is to keep its default for retries, or not. */
export function retries({ maxRetries }: Place): { maxRetries?: number } {
  return maxRetries === undefined ? {} : { maxRetries };
}
