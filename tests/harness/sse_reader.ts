/** One server-sent event, or a comment. */
export interface SseFrame {
  id?: string;
  event?: string;
  // deno-lint-ignore no-explicit-any -- the payload of any event, for a test to look into
  data?: any;
  comment?: string;
}

/** Reads server-sent events one by one. */
export interface SseReader {
  /** Returns the next one; undefined at the end of the stream. */
  next(): Promise<SseFrame | undefined>;
  /** Returns the rest. */
  rest(): Promise<SseFrame[]>;
  /** Disconnects, as a client that closes its connection. */
  leave(): Promise<void>;
}

export function readSse(response: Response): SseReader {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = "";
  const next = async (): Promise<SseFrame | undefined> => {
    for (;;) {
      const end = buffer.indexOf("\n\n");
      if (end !== -1) {
        const text = buffer.slice(0, end);
        buffer = buffer.slice(end + 2);
        return parseFrame(text);
      }
      const { done, value } = await reader.read();
      if (done) return undefined;
      buffer += value;
    }
  };
  return {
    next,
    async rest() {
      const frames: SseFrame[] = [];
      for (let frame = await next(); frame; frame = await next()) frames.push(frame);
      return frames;
    },
    leave: () => reader.cancel(),
  };
}

/** One frame of a stream, without the empty line that ends it. */
export function parseFrame(text: string): SseFrame {
  const frame: SseFrame = {};
  for (const line of text.split("\n")) {
    const [, field, value] = /^(\w*): ?(.*)$/.exec(line) ?? [];
    if (field === "") frame.comment = value;
    else if (field === "data") frame.data = JSON.parse(value!);
    else if (field === "id" || field === "event") frame[field] = value!;
  }
  return frame;
}
