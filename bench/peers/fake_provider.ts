/** A model provider that answers at once: `deno run -N bench/peers/fake_provider.ts`. Prints its port. */
const usage = { prompt_tokens: 1_000, completion_tokens: 50, total_tokens: 1_050 };
const head = { id: "chatcmpl-bench", created: 1_741_569_952, model: "gpt-4o-mini", service_tier: "default" };
const message = { role: "assistant", content: "Four. ".repeat(40) };
const whole = JSON.stringify({
  ...head,
  object: "chat.completion",
  choices: [{ index: 0, message, finish_reason: "stop" }],
  usage,
});
const chunk = (delta: unknown, finish_reason: string | null = null) =>
  `data: ${
    JSON.stringify({
      ...head,
      object: "chat.completion.chunk",
      choices: [{ index: 0, delta, finish_reason }],
    })
  }\n\n`;
const last = `data: ${JSON.stringify({ ...head, object: "chat.completion.chunk", choices: [], usage })}\n\n`;
const DELTAS = 40;
const encode = (text: string) => new TextEncoder().encode(text);

Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: ({ port }) => console.log(port) }, async (request) => {
  const body = await request.json();
  if (body.stream !== true) return new Response(whole, { headers: { "content-type": "application/json" } });
  // Of a client that asks for it: the pause between events in milliseconds, and their number.
  const pauseMs = Number(body.metadata?.pause_ms ?? 0);
  const deltas = Number(body.metadata?.deltas ?? DELTAS);
  let sent = 0;
  const stream = new ReadableStream({
    async pull(controller) {
      if (sent > 0 && pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
      if (sent++ < deltas) {
        return controller.enqueue(
          encode(chunk({ content: `sent at ${performance.timeOrigin + performance.now()} ` })),
        );
      }
      controller.enqueue(encode(chunk({}, "stop") + last + "data: [DONE]\n\n"));
      controller.close();
    },
  });
  return new Response(stream, { headers: { "content-type": "text/event-stream" } });
});
