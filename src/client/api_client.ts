import { hc } from "hono/client";
import type { App } from "../http/mod.ts";
import { type ErrorCode, PurserError, STATUS } from "../kernel/errors.ts";

/** The API, typed from its routes: `api.agents[":agent_id"].runs.$post({…})`. */
export type ApiClient = ReturnType<typeof createApiClient>;

/** The request is made as it is; the answer is what `fetch` would give. */
export type Send = (request: Request) => Promise<Response> | Response;

/**
 * A typed client over any way to send a request: the network, or the app in this process. Calls reject with
 * the problem as a `PurserError`, so a response that is handed back is a good one.
 */
export function createApiClient(options: { baseUrl: string; send: Send; apiKey?: string }) {
  return hc<App>(options.baseUrl, {
    headers: options.apiKey ? { authorization: `Bearer ${options.apiKey}` } : {},
    fetch: async (input: RequestInfo | URL, init?: RequestInit) => {
      const response = await options.send(new Request(input, init));
      if (response.ok) return response;
      throw await errorOf(response);
    },
  });
}

/** A problem document of the API, as it came; commands print it with `--json`. */
export class ProblemError extends PurserError {
  readonly problem: Record<string, unknown>;

  constructor(code: ErrorCode, problem: Record<string, unknown> & { detail: string }) {
    super(code, problem.detail, { details: problem.details as Record<string, unknown> | undefined });
    this.name = "ProblemError";
    this.problem = problem;
  }
}

/** What stands in front of a server, such as a proxy, refuses with no problem document of ours. */
const CODES: Readonly<Record<number, ErrorCode>> = { 401: "unauthorized", 403: "forbidden" };

/** The error that an answer tells of. */
export async function errorOf(response: Response): Promise<PurserError> {
  const text = await response.text().catch(() => "");
  let problem: unknown;
  try {
    problem = JSON.parse(text);
  } catch {
    problem = undefined;
  }
  return problemError(problem) ?? new PurserError(
    CODES[response.status] ?? "unavailable",
    `Cannot use the server: it answered ${response.status} with something that is not Purser's`,
  );
}

/** A problem document as the error it tells of; undefined where it is none. */
export function problemError(problem: unknown): ProblemError | undefined {
  const { code, detail } = (problem ?? {}) as { code?: unknown; detail?: unknown };
  if (typeof code !== "string" || !(code in STATUS) || typeof detail !== "string") return undefined;
  return new ProblemError(code as ErrorCode, problem as Record<string, unknown> & { detail: string });
}
