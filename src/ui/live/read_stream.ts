import { send } from "../hooks/request.ts";

/** One server-sent event, or a comment, which only shows that the connection lives. */
export interface StreamMessage {
  event: string;
  data: string;
}

/** Reads a stream of server-sent events until it ends. `EventSource` could not send the header of the dashboard. */
export async function readStream(
  path: string,
  signal: AbortSignal,
  onMessage: (message: StreamMessage | "comment") => void,
): Promise<void> {
  const response = await send(path, { signal, headers: { accept: "text/event-stream" } });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split(/\r?\n\r?\n/);
    rest = parts.pop()!;
    for (const part of parts) onMessage(parseMessage(part));
  }
}

function parseMessage(text: string): StreamMessage | "comment" {
  let event = "message";
  const data: string[] = [];
  for (const line of text.split(/\r?\n/)) {
    const [, field, value] = /^(event|data): ?(.*)$/.exec(line) ?? [];
    if (field === "event") event = value!;
    else if (field === "data") data.push(value!);
  }
  return data.length === 0 ? "comment" : { event, data: data.join("\n") };
}
