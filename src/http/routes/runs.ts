import type { Context } from "hono";
import { streamSSE } from "hono/streaming";
import { getAgentDefinition } from "../../agents/mod.ts";
import type { Core } from "../../service/mod.ts";
import { runAgent, type RunInput, type RunPart } from "../../runner/mod.ts";
import {
  cancelRun,
  findRunOwner,
  findSessionOwner,
  getRun,
  listRuns,
  recoverRuns,
} from "../../sessions/mod.ts";
import { type ErrorCode, type ErrorDetails, PurserError } from "../../kernel/errors.ts";
import { awaitTurns, SMALL_PART_BYTES } from "../../kernel/turns.ts";
import {
  claimRequest,
  fingerprintOf,
  hasKey,
  IDEMPOTENCY_KEY,
  inProgress,
  markReplayed,
  workUnder,
} from "../middleware/idempotency.ts";
import {
  isNamedAfter,
  keyTagsOf,
  narrowToAgent,
  notOwn,
  onlyAgentOf,
  viewerOfRequest,
} from "../middleware/agent_reach.ts";
import { type ApiEnv, leaseOf } from "../middleware/principal.ts";
import { instanceOf, toProblem } from "../problems/mod.ts";
import { createRoute, z } from "../create_route.ts";
import { headers } from "../../contract/headers.ts";
import { BODY_CODES, problems } from "../problem_responses.ts";
import { eventStream, json, jsonBody, optionalHeaders } from "../route_parts.ts";
import { pageByTime, positionIn } from "../cursors.ts";
import { page, pageQuery } from "../pagination.ts";
import { createRouter } from "../router.ts";
import { PAGE_SIZES } from "../../contract/limits.ts";
import { RUN_STATUSES } from "../../contract/values.ts";
import { AgentId, RunId } from "../../contract/parts.ts";
import { tagsText } from "../../contract/tags/tags.ts";
import { Cancelling, ListedRun, Run, RunBody, RunResult, RunStreamEvent } from "../../contract/runs.ts";

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
    ...optionalHeaders(IDEMPOTENCY_KEY),
    body: jsonBody(RunBody, { input: "What is 17 * 23?", session_id: "ses_demo" }),
  },
  responses: {
    200: {
      description: "The run's result, also of a cancelled run",
      headers: headers("Idempotency-Replayed"),
      content: { "application/json": { schema: RunResult }, ...eventStream(RunStreamEvent) },
    },
    ...problems(
      "invalid",
      "budget_exceeded",
      "not_found",
      "conflict",
      "idempotency_mismatch",
      ...BODY_CODES,
      "provider_error",
    ),
  },
});

const list = createRoute({
  method: "get",
  path: "/runs",
  scopes: ["read"],
  agentCheck: "handler",
  operationId: "listRuns",
  summary: "List runs with their cost so far",
  description: "Without their outputs and errors, which `GET /runs/{run_id}` has.",
  tags: ["runs"],
  request: {
    query: z.strictObject({
      status: z.enum(RUN_STATUSES).optional(),
      agent_id: AgentId.optional(),
      ...pageQuery(PAGE_SIZES.runs),
    }),
  },
  responses: { 200: page(z.array(ListedRun), "Runs, those that began last first"), ...problems("invalid") },
});

const runParams = z.object({ run_id: RunId });

const get = createRoute({
  method: "get",
  path: "/runs/{run_id}",
  scopes: ["read", "run"],
  agentCheck: "run_id",
  isLarge: true,
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
      const { input, session_id, parent_run_id, tags } = c.req.valid("json");
      const isStream = c.req.header("accept")?.includes("text/event-stream");
      leaseOf(c)?.answer?.check();
      // Before the claim of a key, which a refusal would leave behind.
      leaseOf(c)?.begin("runs");
      if (isStream) leaseOf(c)?.begin("streams");
      if (input.length > SMALL_PART_BYTES) await awaitTurns(core.turns, WORK_PER_CHARACTER * input.length);
      const claimed = hasKey(c)
        ? await claimRequest(
          c,
          core,
          fingerprintOf([
            input,
            session_id,
            ...parent_run_id === undefined ? [] : [parent_run_id],
            ...tags ? [tagsText(tags)] : [],
          ]),
          core.ids.next("run"),
        )
        : undefined;
      if (claimed && "startedRunId" in claimed) {
        const run = await readEndedRun(core, claimed.startedRunId);
        markReplayed(c);
        const answer = () => Promise.resolve(resultOf(run));
        return isStream ? streamRun(c, core, answer) as never : c.json(await answer(), 200);
      }
      const claim = claimed && "claim" in claimed ? claimed.claim : undefined;
      const runInput = await workUnder(core, claim, async (): Promise<RunInput> => {
        if (onlyAgentOf(c) !== undefined && session_id !== undefined) {
          await checkSession(core, session_id, agent_id);
        }
        if (onlyAgentOf(c) !== undefined && parent_run_id !== undefined) {
          await checkParent(core, parent_run_id, agent_id);
        }
        const agent = await getAgentDefinition(core, agent_id);
        return {
          agent,
          input,
          sessionId: session_id,
          parentRunId: parent_run_id,
          tags,
          keyTags: keyTagsOf(c),
          onContext: (bytes) => leaseOf(c)?.holdContext(bytes),
          viewer: viewerOfRequest(c),
          ...(claim && { runId: claim.runId! }),
        };
      });
      const work = (onPart?: RunInput["onPart"]) =>
        workUnder(core, claim, async () => await runAgent(await core.whole(), { ...runInput, onPart }));
      return isStream ? streamRun(c, core, work) as never : c.json(await work(), 200);
    })
    .openapi(list, async (c) => {
      const { status, agent_id, ...page } = c.req.valid("query");
      const agentId = narrowToAgent(c, agent_id);
      const entries = await pageByTime(
        c,
        page,
        positionIn("started_at", "run_id"),
        (before, limit) => listRuns(core, { status, agentId, before, limit }),
      );
      return c.json(entries, 200);
    })
    .openapi(get, async (c) => c.json(await getRun(core, c.req.valid("param").run_id), 200))
    .openapi(cancel, async (c) => {
      const { run_id } = c.req.valid("param");
      await cancelRun(core, run_id);
      return c.json({ run_id }, 202);
    });
}

/** The units of work for each character of a run's input, which is encoded, searched for secrets, stored and sent. */
const WORK_PER_CHARACTER = 8;

/** Refuses a run above that is another agent's, whose budgets a key of one agent may not use. */
async function checkParent(core: Core, runId: string, agentId: string): Promise<void> {
  const owner = await findRunOwner(core, runId);
  if (owner !== undefined && owner !== agentId) throw notOwn("run", runId, agentId);
}

/** Refuses a session that a key of one agent may not use: another agent's, and a new one of an id that others may use. */
async function checkSession(core: Core, sessionId: string, agentId: string): Promise<void> {
  const owner = await findSessionOwner(core, sessionId);
  if (owner === agentId || (owner === undefined && isNamedAfter(sessionId, agentId))) return;
  throw notOwn("session", sessionId, agentId);
}

/**
 * Returns the run that an earlier request with the same key has started, once it has ended.
 *
 * @throws {PurserError} `conflict` while it is in progress
 */
async function readEndedRun(core: Core, runId: string): Promise<Run> {
  let run = await getRun(core, runId);
  if (run.status === "running" && (await recoverRuns(core, runId)).length > 0) {
    run = await getRun(core, runId);
  }
  if (run.status !== "running") return run;
  throw inProgress().with({ run_id: runId, session_id: run.session_id });
}

/** Returns the answer of a run that has ended, as its first request has or would have got it. Throws its problem. */
function resultOf(
  {
    model: _model,
    error,
    cost_budget_usd: _budget,
    budget_mode: _mode,
    tags: _tags,
    waiting_for: _ticket,
    ...result
  }: Run,
): RunResult {
  const ids = { run_id: result.run_id, session_id: result.session_id };
  if (result.status === "interrupted") {
    throw new PurserError(
      "conflict",
      `Cannot repeat the request: its run ${result.run_id} was interrupted, since the process that ran it ended; ` +
        "use a new Idempotency-Key to run the agent again",
    ).with(ids);
  }
  if (error) {
    const { code, message, details } = error as { code: ErrorCode; message: string; details?: ErrorDetails };
    throw new PurserError(code, message, { details }).with(ids);
  }
  return { ...result, ended_at: result.ended_at! };
}

/** Maximum length of a run's stream that waits for a slow client, in characters; less where others hold too much. */
const MAX_UNREAD = 16 * 1024 * 1024;

/** Streams a run as server-sent events. Once the client has disconnected, events are dropped and the run continues. */
function streamRun(
  c: Context<ApiEnv>,
  core: Core,
  work: (onPart: NonNullable<RunInput["onPart"]>) => Promise<RunResult>,
): Response {
  const logged = c.env?.logged;
  const requestId = logged?.id ?? core.ids.next("req");
  const log = logged?.open();
  const instance = instanceOf(c);
  const end = leaseOf(c)?.keep();
  const share = leaseOf(c)?.answer;
  return streamSSE(c, async (stream) => {
    let unread = 0;
    let written: Promise<unknown> = Promise.resolve();
    const count = (characters: number) => {
      unread += characters;
      share?.hold(unread);
    };
    const send = (event: string, body: unknown) => {
      if (stream.aborted || stream.closed) return;
      const data = JSON.stringify(body);
      count(data.length);
      const most = share?.isFull ? SMALL_PART_BYTES : MAX_UNREAD;
      if (unread > most) return stream.abort(); // a client that does not read must not fill the memory
      written = Promise.all([written, stream.writeSSE({ event, data }).catch(() => {})])
        .then(() => count(-data.length));
    };
    const onPart = (part: RunPart) =>
      part.type === "text" ? send("text", { text: part.text }) : send(part.event.type, part.event);
    let errorCode: ErrorCode | undefined;
    try {
      send("result", await work(onPart));
    } catch (error) {
      const problem = toProblem(error, instance, core, requestId);
      errorCode = problem.code;
      send("error", problem);
    } finally {
      log?.(errorCode);
      end?.();
    }
    if (!stream.aborted) await written;
  });
}
