import type { Connection } from "../client/mod.ts";
import { PurserError } from "../kernel/errors.ts";
import { fetchStream, readEvents } from "./fetch_stream.ts";
import { idInPath } from "./parse/command_id.ts";

export interface RunRequest {
  agentId: string;
  input: string;
  sessionId: string;
}

/** The result of a run: the fields that commands use, and the API's JSON as `text`. */
export interface FollowedResult {
  status: string;
  output: string | null;
  steps: number;
  session_id: string;
  token_usage: {
    input_tokens: number;
    output_tokens: number;
    cost_usd: number | null;
    unpriced_calls: number;
    partly_priced_calls: number;
  };
  text: string;
}

/** Receives an event of a run: its type, and its data as the API sent them. */
export type RunListener = (type: string, data: Record<string, unknown>) => void;

/** Starts a run, passes each of its events to `listener`, and returns its result. Throws the problem that ended it. */
export async function followRun(
  connection: Connection,
  run: RunRequest,
  listener: RunListener,
): Promise<FollowedResult> {
  const response = await fetchStream(
    connection,
    new Request(`http://purser.invalid/agents/${idInPath(run.agentId)}/runs`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "text/event-stream" },
      body: JSON.stringify({ input: run.input, session_id: run.sessionId }),
    }),
  );
  if (!response.body) throw lost(run);
  for await (const { event, data } of readEvents(response.body)) {
    const body = JSON.parse(data);
    if (event === "result") return { ...body, text: data };
    if (event === "error") {
      const { problemError } = await import("../client/mod.ts");
      throw problemError(body) ?? lost(run);
    }
    listener(event, body);
  }
  throw lost(run);
}

function lost({ sessionId }: RunRequest): PurserError {
  return new PurserError(
    "unavailable",
    "Cannot follow the run: the response broke off; the run may still be in progress",
  ).with({ session_id: sessionId });
}
