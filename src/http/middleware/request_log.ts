import type { Context } from "hono";
import { matchedRoutes } from "hono/route";
import type { Clock } from "../../kernel/clock.ts";
import type { ErrorCode } from "../../kernel/errors.ts";
import type { Ids } from "../../kernel/ids.ts";
import type { Log, LogFields } from "../../kernel/log.ts";

/** The response header with the id under which the log has a request. */
const REQUEST_ID = "x-request-id";

/** The route under which the log has the requests of clients that only ask whether the gateway answers. */
export const CONNECTION_PROBE = "/{provider}";

/** Routes that a platform asks every few seconds, or a client at its start: their successes are logged for debugging only. */
const PROBES: ReadonlySet<string | null> = new Set(["/healthz", "/readyz", CONNECTION_PROBE]);

/** A request from outside of this process, as the log has it. */
export class LoggedRequest {
  readonly id: string;
  /** The pattern of its route, such as `/agents/{agent_id}`; null where none has matched. */
  route: string | null = null;
  readonly #ctx: { clock: Clock; log: Log };
  readonly #method: string;
  readonly #startedAt: number;
  #status: number | undefined;
  #isOpen = false;
  readonly #facts: LogFields = {};

  constructor(ctx: { clock: Clock; ids: Ids; log: Log }, { method }: Request) {
    this.id = ctx.ids.next("req");
    this.#ctx = ctx;
    this.#method = method;
    this.#startedAt = ctx.clock.monotonic();
  }

  /** Logs the response as it begins, and adds the request's id to it. */
  answer({ status, headers }: Response): void {
    // Through the gateway, it is the provider's id.
    if (!headers.has(REQUEST_ID)) headers.set(REQUEST_ID, this.id);
    this.#status = status;
    if (!this.#isOpen) this.#write(status);
  }

  /** Adds facts to the line, such as the key of a call through the gateway. Of each the first one counts. */
  note(facts: LogFields): void {
    for (const name in facts) {
      if (!(name in this.#facts)) this.#facts[name] = facts[name];
    }
  }

  /** Defers the line of a stream. Returns a function that logs it, with the code of the error that ended the stream. */
  open(): (errorCode: ErrorCode | undefined) => void {
    this.#isOpen = true;
    return (errorCode) => {
      this.#isOpen = false;
      if (errorCode !== undefined) this.note({ error_code: errorCode });
      // A stream may end before its response is returned.
      if (this.#status !== undefined) this.#write(this.#status);
    };
  }

  /** Logs the request. Never its path, its query, a header or its body: they may hold secrets. */
  #write(status: number): void {
    const { clock, log } = this.#ctx;
    const isQuiet = status < 400 && PROBES.has(this.route);
    log[isQuiet ? "debug" : "info"]("Answered a request", {
      method: this.#method,
      route: this.route,
      status,
      ...this.#facts,
      duration_ms: Math.round((clock.monotonic() - this.#startedAt) * 1_000) / 1_000,
      request_id: this.id,
    });
  }
}

const patterns = new Map<string, string>();

/** Returns the pattern of the route that a request has matched, such as `/agents/{agent_id}`, as in the API's document. */
export function routeOf(c: Context): string | undefined {
  const path = matchedRoutes(c).findLast(({ method }) => method !== "ALL")?.path;
  if (path === undefined) return undefined;
  let pattern = patterns.get(path);
  if (pattern === undefined) {
    patterns.set(path, pattern = path.replace(/:(\w+)(\{[^}]*\})?\??/g, "{$1}"));
  }
  return pattern;
}
