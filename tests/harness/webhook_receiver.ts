/** A received webhook. */
export interface ReceivedWebhook {
  webhookId: string;
  headers: Headers;
  body: string;
}

/** Handles a webhook: returns the status of the response, or a promise of it. */
export type Answer = (webhook: ReceivedWebhook) => number | Promise<number>;

/** A real HTTP server on 127.0.0.1 that records every webhook it receives. */
export interface WebhookReceiver extends AsyncDisposable {
  readonly url: string;
  readonly received: readonly ReceivedWebhook[];
  /** Handles the next requests; accepts them by default. */
  answer: Answer;
  /** Resolves once that many were received in all; rejects after `timeoutMs`. */
  untilReceived(count: number, options?: { timeoutMs?: number }): Promise<void>;
  /** Stops listening at the address: connections are refused. */
  refuse(): Promise<void>;
  /** Listens again, at the same address. */
  listen(): void;
}

/** Holds all requests until it is released; then all are accepted. */
export function holdingAnswer(): { answer: Answer; letGo: () => void } {
  const { promise, resolve } = Promise.withResolvers<number>();
  return { answer: () => promise, letGo: () => resolve(204) };
}

/** Starts a receiver on a free port. */
export function startWebhookReceiver(answer: Answer = () => 204): WebhookReceiver {
  const received: ReceivedWebhook[] = [];
  const waiting = new Set<{ count: number; resolve: () => void }>();
  const ending = Promise.withResolvers<number>();

  async function handle(request: Request): Promise<Response> {
    const { headers } = request;
    const body = await request.text().catch(() => undefined);
    if (body === undefined) return new Response(null, { status: 400 }); // the sender was killed while it sent
    const webhook = { webhookId: headers.get("webhook-id") ?? "", headers, body };
    received.push(webhook);
    for (const { count, resolve } of waiting) if (received.length >= count) resolve();
    // On disposal the receiver waits for no request.
    return new Response(null, { status: await Promise.race([receiver.answer(webhook), ending.promise]) });
  }
  const open = (port: number) => Deno.serve({ hostname: "127.0.0.1", port, onListen() {} }, handle);

  let server = open(0);
  const { port } = server.addr;
  const receiver: WebhookReceiver = {
    url: `http://127.0.0.1:${port}/hook`,
    received,
    answer,
    async untilReceived(count, { timeoutMs = 30_000 } = {}) {
      if (received.length >= count) return;
      const arrival = Promise.withResolvers<void>();
      const entry = { count, resolve: arrival.resolve };
      const timer = setTimeout(
        () => arrival.reject(new Error(`${received.length} of ${count} webhooks within ${timeoutMs} ms`)),
        timeoutMs,
      );
      waiting.add(entry);
      try {
        await arrival.promise;
      } finally {
        waiting.delete(entry);
        clearTimeout(timer);
      }
    },
    refuse: () => server.shutdown(),
    listen: () => void (server = open(port)),
    async [Symbol.asyncDispose]() {
      ending.resolve(503);
      await server.shutdown();
    },
  };
  return receiver;
}
