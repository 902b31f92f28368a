/* The answers of the protocol (https://opentelemetry.io/docs/specs/otlp/#otlphttp-response), as protobuf or JSON. */

/** The parts of a request that the form of its answer follows. */
export type Encoding = "protobuf" | "json";

export const CONTENT_TYPE = {
  protobuf: "application/x-protobuf",
  json: "application/json",
} as const satisfies Record<Encoding, string>;

/** Returns the encoding that a request's content type names. */
export function encodingOf(headers: Pick<Headers, "get">): Encoding | undefined {
  const type = headers.get("content-type")?.replace(/;.*/, "").trim().toLowerCase();
  return type === CONTENT_TYPE.json
    ? "json"
    : type === CONTENT_TYPE.protobuf || type === "application/protobuf"
    ? "protobuf"
    : undefined;
}

const REJECTED = {
  traces: "rejectedSpans",
  logs: "rejectedLogRecords",
  metrics: "rejectedDataPoints",
} as const;

/** Returns the answer to a request that was taken: how many of its records were rejected, and a message; `''` for none. */
export function partialSuccess(
  encoding: Encoding,
  signal: keyof typeof REJECTED,
  rejected: number,
  message: string,
): string | Uint8Array<ArrayBuffer> {
  const isWhole = rejected === 0 && message === "";
  if (encoding === "json") {
    const partial = { [REJECTED[signal]]: String(rejected), errorMessage: message };
    return JSON.stringify(isWhole ? {} : { partialSuccess: partial });
  }
  if (isWhole) return new Uint8Array();
  const partial = numberAndText(rejected, message);
  return Uint8Array.from([0x0a, ...varint(partial.length), ...partial]);
}

/** Returns the `Status` of a request that has failed. The code is one of gRPC's. */
export function failure(encoding: Encoding, code: number, message: string): string | Uint8Array<ArrayBuffer> {
  return encoding === "json" ? JSON.stringify({ code, message }) : numberAndText(code, message);
}

/** Encodes a message whose fields are a number and a text, as those of a partial success and of a status are. */
function numberAndText(number: number, text: string): Uint8Array<ArrayBuffer> {
  const bytes = new TextEncoder().encode(text);
  return Uint8Array.from([
    ...number === 0 ? [] : [0x08, ...varint(number)],
    ...bytes.length === 0 ? [] : [0x12, ...varint(bytes.length), ...bytes],
  ]);
}

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)];
}
