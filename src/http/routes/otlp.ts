import type { Context } from "hono";
import { PurserError } from "../../kernel/errors.ts";
import { measureBody } from "../../kernel/json/json_work.ts";
import { parseInTurns } from "../../kernel/json/parse_in_turns.ts";
import type { Turns } from "../../kernel/turns.ts";
import type { Receiver } from "../../ingest/otlp/mod.ts";
import type { Core } from "../../service/mod.ts";
import { gunzip } from "../../snapshots/files/mod.ts";
import { senderOf } from "../middleware/agent_reach.ts";
import type { Permission } from "../middleware/permission.ts";
import type { ApiEnv } from "../middleware/principal.ts";
import { readBody, readUpTo } from "../middleware/request_body.ts";
import { withBody } from "../middleware/served_body.ts";
import { OTLP_PATHS } from "../resources.ts";
import { createRouter, type Router } from "../router.ts";

/*
 * The paths, bodies and answers are those of the OpenTelemetry protocol, which has its own description
 * (https://opentelemetry.io/docs/specs/otlp/), so they are no part of the OpenAPI document: docs/api.md says what they take.
 */

/** A key of one agent is restricted to it by the handler, as for `POST /sightings`. */
export const permissions: ReadonlyMap<string, Permission> = new Map(
  OTLP_PATHS.map((path) => [`ALL ${path}`, { scopes: ["report", "run"], agentCheck: "handler" }]),
);

export function createRoutes(): Router {
  return createRouter();
}

/** The largest body, uncompressed: of a server, and at the edge, whose memory is small. */
const MAX_BYTES = 32 * 1024 * 1024;
const MAX_EDGE_BYTES = 8 * 1024 * 1024;

/** The largest body, as it was sent, of a small request. */
const SMALL_BYTES = 64 * 1024;

/** The requests that are decoded and booked at the same time: while they wait, only their bodies are held, as they were sent. */
const MOST_AT_ONCE = { small: 4, large: 1 } as const;

const METRICS_HINT = "metrics are not booked: send traces or logs";

/** Its bodies have a limit of their own, and may be compressed. */
export function createStreamedRoutes(core: Core): Router {
  const router = createRouter();
  const lanes = { small: createLane(MOST_AT_ONCE.small), large: createLane(MOST_AT_ONCE.large) };
  let receiver: Receiver | undefined;
  const maxBytes = core.keepAlive ? MAX_EDGE_BYTES : MAX_BYTES;
  for (const path of OTLP_PATHS) {
    const signal = path.slice("/v1/".length) as "traces" | "logs" | "metrics";
    router.post(path, async (c) => {
      const otlp = await import("../../ingest/otlp/mod.ts");
      const { CONTENT_TYPE, decodeJson, decodeProtobuf, encodingOf, partialSuccess } = otlp;
      const taker = receiver ??= otlp.createReceiver(core);
      const { raw } = c.req;
      const { signal: left } = raw;
      const encoding = encodingOf(raw.headers);
      if (!encoding) throw unsupported("type", raw.headers.get("content-type"), Object.values(CONTENT_TYPE));
      const compression = raw.headers.get("content-encoding")?.trim().toLowerCase() || "identity";
      if (compression !== "identity" && compression !== "gzip") {
        throw unsupported("encoding", compression, ["gzip"]);
      }
      const sender = senderOf(c);
      const sent = await readBody(c, core, maxBytes);
      const answer = (rejected: number, message: string) =>
        respond(c, CONTENT_TYPE[encoding], partialSuccess(encoding, signal, rejected, message));
      if (signal === "metrics") return answer(0, taker.hintOnce(core, METRICS_HINT, sender));
      const ctx = await core.whole();
      const lane = sent.length <= SMALL_BYTES ? lanes.small : lanes.large;
      return await lane(async () => {
        // An exporter that has waited too long sends its request again.
        if (left.aborted) throw new PurserError("unavailable", "Cannot answer: the client has left");
        const body = compression === "gzip" ? await inflate(sent, maxBytes, core.turns) : sent;
        const decoding = encoding === "json"
          ? decodeJson(await parse(body, core.turns), signal)
          : decodeProtobuf(body, signal);
        const { rejected, message } = await taker.receive(ctx, decoding, sender);
        return answer(rejected, message);
      });
    });
  }
  return router;
}

/** Returns a function that does work, so much of it at a time, in the order in which it came. */
function createLane(most: number) {
  const waiting: (() => void)[] = [];
  let atWork = 0;
  return async <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (atWork >= most) await new Promise<void>((resolve) => waiting.push(resolve));
    else atWork++;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else atWork--;
    }
  };
}

function unsupported(what: string, given: string | null, known: readonly string[]): PurserError {
  return new PurserError(
    "unsupported_media_type",
    `Cannot read the body: its ${what} is ${given ?? "not given"}; send ${known.join(" or ")}`,
  );
}

/** The compressed bytes that are inflated at once: at most a thousand times as many. */
const INFLATE_BYTES = 4 * 1024;
const INFLATE_UNITS = 16 * 1024;

async function inflate(bytes: Uint8Array, maxBytes: number, turns: Turns): Promise<Uint8Array> {
  async function* parts() {
    for (let at = 0; at < bytes.length; at += INFLATE_BYTES) {
      await turns.spend(INFLATE_UNITS);
      yield bytes.subarray(at, at + INFLATE_BYTES);
    }
  }
  return await readUpTo(gunzip(parts(), "the body"), maxBytes);
}

/** The most work of a body of JSON, in the units of `measureJson()`: its values take ten times its size in memory. */
const MAX_WORK = 4_000_000;

async function parse(bytes: Uint8Array, turns: Turns): Promise<unknown> {
  await measureBody(bytes, MAX_WORK, turns);
  try {
    return await parseInTurns(bytes, turns);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new PurserError("invalid", "Cannot read the body: it is not JSON");
  }
}

function respond(c: Context<ApiEnv>, type: string, body: string | Uint8Array<ArrayBuffer>): Response {
  return withBody(c.body(body, 200, { "content-type": type }), body);
}
