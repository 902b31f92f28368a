import type { Served } from "../../pricing/mod.ts";
import type { Fields } from "../../pricing/usage/mod.ts";
import type { Shape } from "./known_fields.ts";

/** The facts of a request that decide on it and bound its cost. */
export interface ModelRequest {
  model: string;
  isStreamed: boolean;
  /** The most output tokens over all choices; undefined: as many as the model writes. */
  maxOutputTokens?: number | undefined;
  /** The field that sets it, for the error that asks for a smaller one. */
  outputField: string;
  /** The service that it asks for, where that is not the standard one. */
  asks?: Served | undefined;
  /** Returns the reason that its cost has no bound, as the end of a sentence. It looks at all of the request. */
  unboundedBecause(): string | undefined;
}

/**
 * The place of an event in a stream: the last event that counts; one that is the last unless another follows; an error, after
 * which only the usage or the end may come; or any other.
 */
export type EventPlace = "last" | "maybe_last" | "error" | "other";

/** One way of calling a model: the form of its requests and of its answers. */
export interface Wire {
  /** The AI SDK's name of the API, by which `trackAnswerUsage()` reads usage; `provider` is Purser's. */
  api(provider: string): string;
  /** The fields of a request that can't raise its cost or name another model. */
  known: Shape;
  /** Reads a request; throws `invalid` or `unsupported` for one that can't be booked. `model` comes from the path, where it names one. */
  read(body: Fields, model?: string): ModelRequest;
  /** Returns the request that makes the provider send its usage, and true for `isAdded` if the client did not ask for it. */
  askForUsage?(bytes: Uint8Array, body: Fields): { bytes: Uint8Array; isAdded: boolean };
  /** Returns whether an event is there only because the gateway asked for the usage. */
  isUsageOnly?(event: Fields): boolean;
  /** Returns the place of an event; `data` is its text if that isn't JSON, such as `[DONE]`. */
  placeOf(event: Fields | undefined, data: string): EventPlace;
  /** Returns the text that a model has written in an event of a stream. */
  textOf(event: Fields): string;
}
