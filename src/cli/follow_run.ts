import { type Connection, errorOf, problemError } from "../client/mod.ts";
import { PurserError } from "../kernel/errors.ts";
import { idInPath } from "./parse/command_id.ts";
import { readEvents } from "./read_events.ts";

/** What is to be run. */
export interface RunRequest {
  agentId: string;
  input: string;
  sessionId: string;
}

/** What a run gave: the fields that commands look at, and the API's text of all of it. */
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
  };
  text: string;
}

/** Hears an event of a run: its type, and its data as the API sent them. */
export type Hear = (type: string, data: Record<string, unknown>) => void;

/** Starts a run, tells of each of its events, and gives its result. Throws the problem that ended it. */
export async function followRun(
  connection: Connection,
  run: RunRequest,
  hear: Hear,
): Promise<FollowedResult> {
  const response = await connection.send(
    new Request(`http://purser.invalid/agents/${idInPath(run.agentId)}/runs`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "text/event-stream" },
      body: JSON.stringify({ input: run.input, session_id: run.sessionId }),
    }),
  );
  if (!response.ok || !response.body) throw await errorOf(response);
  for await (const { event, data } of readEvents(response.body)) {
    const body = JSON.parse(data);
    if (event === "result") return { ...body, text: data };
    if (event === "error") throw problemError(body) ?? lost(run);
    hear(event, body);
  }
  throw lost(run);
}

function lost({ sessionId }: RunRequest): PurserError {
  return new PurserError(
    "unavailable",
    "Cannot follow the run: the answer broke off; the run may go on",
  ).with({ session_id: sessionId });
}
