import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { UsageApi } from "../../src/pricing/usage/mod.ts";
import { type Reply, sendReply } from "./provider_replies.ts";

export type { Reply };

/** A request as received by the fake provider. */
export interface ProviderRequest {
  /** Derived from the path; an OpenAI-compatible server's is `openai-chat`. */
  api: Exclude<UsageApi, "openai-compatible">;
  path: string;
  /** The query, with its `?`; empty without one. */
  search: string;
  headers: Record<string, string>;
  // deno-lint-ignore no-explicit-any -- the body of any of four APIs, for a test to look into
  body: any;
  model: string;
  isStreamed: boolean;
  /** Aborts when the client disconnects before the response is complete. */
  signal: AbortSignal;
}

/** A model API on loopback. `await using` closes it. */
export interface FakeProvider extends AsyncDisposable {
  /** `http://127.0.0.1:<port>` */
  url: string;
  /** The `baseURL` for each provider of the AI SDK. */
  baseUrls: { openai: string; anthropic: string; google: string; compatible: string };
  /** Every request, oldest first. */
  requests: readonly ProviderRequest[];
  /** The number of requests. */
  readonly calls: number;
  /** Is called with every request as it has come. */
  onRequest?: ((request: ProviderRequest) => void) | undefined;
  /** Appends replies; each serves one request. Once they are used up, the script answers. */
  enqueue(...replies: Reply[]): void;
  close(): Promise<void>;
}

/**
 * Starts a server that speaks the wire formats of OpenAI (chat, responses), Anthropic and Gemini. It replies
 * from the queue, then by `script`; without either it refuses with a 400, which no client retries.
 *
 * On `node:http` rather than `Deno.serve`: it can close a socket after the last frame has surely been sent,
 * and reports when a client has disconnected.
 */
export async function startFakeProvider(
  script?: (request: ProviderRequest) => Reply | Promise<Reply>,
): Promise<FakeProvider> {
  const queue: Reply[] = [];
  const requests: ProviderRequest[] = [];
  const server = createServer(async (incoming, response) => {
    const request = await readRequest(incoming, response);
    if (request === undefined) return response.writeHead(404).end("Not found");
    const count = requests.push(request);
    fake.onRequest?.(request);
    const reply = queue.shift() ?? await script?.(request) ??
      { status: 400, message: `The fake provider has no reply for request ${count}` };
    await sendReply(request, reply, response);
  });
  server.keepAliveTimeout = 60_000;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  let closed: Promise<unknown> | undefined;
  const close = async () => {
    closed ??= new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    });
    await closed;
  };
  const fake: FakeProvider = {
    url,
    baseUrls: {
      openai: `${url}/v1`,
      anthropic: `${url}/v1`,
      google: `${url}/v1beta`,
      compatible: `${url}/v1`,
    },
    requests,
    get calls() {
      return requests.length;
    },
    enqueue: (...replies) => void queue.push(...replies),
    close,
    [Symbol.asyncDispose]: close,
  };
  return fake;
}

const API_BY_PATH: Record<string, ProviderRequest["api"]> = {
  "/v1/chat/completions": "openai-chat",
  "/v1/responses": "openai-responses",
  "/v1/messages": "anthropic",
};

/** Vertex' address of its OpenAI-compatible API, which names a location. */
const VERTEX_PATH = /^\/v1\/projects\/[^/]+\/locations\/[^/]+\/endpoints\/openapi(?=\/)/;

const GEMINI_PATH = /^\/v1(?:beta|alpha)?\/models\/(.+):(generateContent|streamGenerateContent)$/;

async function readRequest(
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<ProviderRequest | undefined> {
  const leaving = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished) leaving.abort();
  });
  const chunks: Uint8Array[] = [];
  try {
    for await (const chunk of incoming) chunks.push(chunk);
  } catch {
    return undefined; // its client was killed while it sent
  }
  const { pathname: path, search } = new URL(incoming.url!, "http://fake.example");
  const gemini = GEMINI_PATH.exec(path);
  const api = gemini ? "google" : API_BY_PATH[path.replace(VERTEX_PATH, "/v1")];
  if (api === undefined || incoming.method !== "POST") return undefined;
  const body = JSON.parse(await new Blob(chunks as BlobPart[]).text());
  return {
    api,
    path,
    search,
    headers: incoming.headers as Record<string, string>,
    body,
    model: gemini?.[1] ?? body.model,
    isStreamed: gemini ? gemini[2] === "streamGenerateContent" : body.stream === true,
    signal: leaving.signal,
  };
}
