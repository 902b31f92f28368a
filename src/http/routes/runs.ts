import type { Context } from "hono";
import { streamSSE } from "hono/streaming";
import { getAgentDefinition } from "../../agents/mod.ts";
import type { Core } from "../../service/mod.ts";
import { runAgent, type RunInput, type RunPart } from "../../runner/mod.ts";
import { cancelRun, findSessionOwner, getRun } from "../../sessions/mod.ts";
import { PurserError } from "../../kernel/errors.ts";
import { onlyAgentOf } from "../middleware/principal.ts";
import { instanceOf, toProblem } from "../middleware/problem.ts";
import { BODY_CODES, createRoute, eventStream, json, jsonBody, problems, z } from "../create_route.ts";
import { createRouter } from "../router.ts";
import { AgentId, RunId } from "../../contract/parts.ts";
import { Cancelling, Run, RunBody, RunResult, RunStreamEvent } from "../../contract/runs.ts";

const run = createRoute({
  method: "post",
  path: "/agents/{agent_id}/runs",
  scopes: ["run"],
  agentCheck: "agent_id",
  operationId: "runAgent",
  summary: "Run an agent",
  description:
    "Responds when the run has ended. With `Accept: text/event-stream` the response is a stream of the " +
    "run's events and text, which ends with `result` or `error`. A client that disconnects does not cancel the run.",
  tags: ["runs"],
  request: {
    params: z.object({ agent_id: AgentId }),
    body: jsonBody(RunBody, { input: "What is 17 * 23?", session_id: "ses_demo" }),
  },
  responses: {
    200: {
      description: "The run's result, also of a cancelled run",
      content: { "application/json": { schema: RunResult }, ...eventStream(RunStreamEvent) },
    },
    ...problems(
      "invalid",
      "budget_exceeded",
      "not_found",
      "conflict",
      ...BODY_CODES,
      "provider_error",
    ),
  },
});

const runParams = z.object({ run_id: RunId });

const get = createRoute({
  method: "get",
  path: "/runs/{run_id}",
  scopes: ["read", "run"],
  agentCheck: "run_id",
  operationId: "getRun",
  summary: "Get a run",
  tags: ["runs"],
  request: { params: runParams },
  responses: { 200: json(Run, "The run"), ...problems("not_found") },
});

const cancel = createRoute({
  method: "post",
  path: "/runs/{run_id}/cancel",
  scopes: ["run"],
  agentCheck: "run_id",
  operationId: "cancelRun",
  summary: "Cancel a run",
  tags: ["runs"],
  request: { params: runParams },
  responses: {
    202: json(Cancelling, "The run will end as `cancelled`"),
    ...problems("not_found", "conflict", ...BODY_CODES),
  },
});

export function createRoutes(core: Core) {
  return createRouter()
    .openapi(run, async (c) => {
      const { agent_id } = c.req.valid("param");
      const { input, session_id } = c.req.valid("json");
      if (onlyAgentOf(c) !== undefined && session_id !== undefined) {
        await checkSession(core, session_id, agent_id);
      }
      const agent = await getAgentDefinition(core, agent_id);
      const runInput: RunInput = { agent, input, sessionId: session_id };
      if (c.req.header("accept")?.includes("text/event-stream")) return streamRun(c, core, runInput) as never;
      return c.json(await runAgent(core, runInput), 200);
    })
    .openapi(get, async (c) => c.json(await getRun(core, c.req.valid("param").run_id), 200))
    .openapi(cancel, async (c) => {
      const { run_id } = c.req.valid("param");
      await cancelRun(core, run_id);
      return c.json({ run_id }, 202);
    });
}

/** Refuses another agent's session without naming that agent, since a key of one agent may not learn of others. */
async function checkSession(core: Core, sessionId: string, agentId: string): Promise<void> {
  const owner = await findSessionOwner(core, sessionId);
  if (owner === undefined || owner === agentId) return;
  throw new PurserError(
    "conflict",
    `Cannot run ${agentId} on session ${sessionId}: the id is taken; choose another`,
  );
}

/** Maximum length of a run's stream that waits for a slow client, in characters. */
const MAX_UNREAD = 16 * 1024 * 1024;

/** Streams a run as server-sent events. Once the client has disconnected, events are dropped and the run continues. */
function streamRun(c: Context, core: Core, input: RunInput): Response {
  const requestId = core.ids.next("req");
  const instance = instanceOf(c);
  return streamSSE(c, async (stream) => {
    let unread = 0;
    let written: Promise<unknown> = Promise.resolve();
    const send = (event: string, body: unknown) => {
      if (stream.aborted || stream.closed) return;
      const data = JSON.stringify(body);
      unread += data.length;
      if (unread > MAX_UNREAD) return stream.abort(); // a client that does not read must not fill the memory
      written = Promise.all([written, stream.writeSSE({ event, data }).catch(() => {})])
        .then(() => void (unread -= data.length));
    };
    const onPart = (part: RunPart) =>
      part.type === "text" ? send("text", { text: part.text }) : send(part.event.type, part.event);
    try {
      send("result", await runAgent(core, { ...input, onPart }));
    } catch (error) {
      send("error", toProblem(error, instance, core, requestId));
    }
    if (!stream.aborted) await written;
  });
}
