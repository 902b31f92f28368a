import { hc } from "hono/client";
import type { App } from "../http/mod.ts";
import { type ErrorCode, PurserError, STATUS } from "../kernel/errors.ts";

/** The API, typed from its routes: `api.agents[":agent_id"].runs.$post({…})`. */
export type ApiClient = ReturnType<typeof createApiClient>;

/** Sends a request unchanged and resolves as `fetch` does. */
export type Send = (request: Request) => Promise<Response> | Response;

/**
 * Creates a typed client over any way to send a request: the network, or the app in this process. Calls reject with
 * the problem as a `PurserError`, so every response that they resolve to is a success.
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

/** A problem document of the API, unchanged; commands print it with `--json`. */
export class ProblemError extends PurserError {
  readonly problem: Record<string, unknown>;

  constructor(code: ErrorCode, problem: Record<string, unknown> & { detail: string }) {
    super(code, problem.detail, { details: problem.details as Record<string, unknown> | undefined });
    this.name = "ProblemError";
    this.problem = problem;
  }
}

/** The codes of refusals without a problem document, such as a reverse proxy's. */
const CODES: Readonly<Record<number, ErrorCode>> = { 401: "unauthorized", 403: "forbidden" };

/** Returns the error of a response whose status isn't a success. */
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

/** Returns a problem document as an error; undefined if the value isn't a problem document. */
export function problemError(problem: unknown): ProblemError | undefined {
  const { code, detail } = (problem ?? {}) as { code?: unknown; detail?: unknown };
  if (typeof code !== "string" || !(code in STATUS) || typeof detail !== "string") return undefined;
  return new ProblemError(code as ErrorCode, problem as Record<string, unknown> & { detail: string });
}
