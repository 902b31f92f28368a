import type { Connection } from "../client/mod.ts";

/** Sends a request whose body or response is a stream. Throws the problem of a response that is not 2xx. */
export async function fetchStream({ send }: Connection, request: Request): Promise<Response> {
  const response = await send(request);
  if (response.ok) return response;
  const { errorOf } = await import("../client/mod.ts");
  throw await errorOf(response);
}

/** A server-sent event. */
export interface ServerSentEvent {
  event: string;
  data: string;
}

/** Reads a stream of server-sent events as the HTML standard defines it; skips ids and comments. */
export async function* readEvents(stream: ReadableStream<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  let event = "message";
  let data: string[] = [];
  for await (const line of readLines(stream)) {
    if (line === "") {
      if (data.length > 0) yield { event, data: data.join("\n") };
      event = "message";
      data = [];
      continue;
    }
    const [, field, value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line)!;
    if (field === "event") event = value;
    else if (field === "data") data.push(value);
  }
}

/** Yields lines that end with CR, LF or both. An unfinished last line is dropped. */
async function* readLines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of stream) {
    rest += decoder.decode(bytes, { stream: true });
    // A CR at the very end may be half of a CRLF.
    const lines = rest.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop()!;
    yield* lines;
  }
  if (rest.endsWith("\r")) yield rest.slice(0, -1);
}
