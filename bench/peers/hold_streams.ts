/**
 * Holds streams open and prints one JSON line of the delays of their events: `deno run -N bench/peers/hold_streams.ts URL KEY
 * STREAMS EVENTS PAUSE_MS`. The provider writes the time into each event, by the clock of the machine.
 */
const [url, key, streams, events, pause] = Deno.args as [string, string, string, string, string];
const delays: number[] = [];
let failed = 0;

async function hold(): Promise<void> {
  // Not all at the same moment.
  await new Promise((resolve) => setTimeout(resolve, Math.random() * Number(pause)));
  const response = await fetch(url, {
    method: "POST",
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({
      model: "gpt-4o-mini",
      stream: true,
      max_completion_tokens: 200,
      metadata: { pause_ms: pause, deltas: events },
      messages: [{ role: "user", content: "What is 2+2?" }],
    }),
  });
  let text = "";
  for await (const part of response.body!.pipeThrough(new TextDecoderStream())) {
    const now = performance.timeOrigin + performance.now();
    text = (text + part).slice(-200);
    for (const [, at] of part.matchAll(/sent at ([\d.]+)/g)) delays.push(now - Number(at));
  }
  if (!response.ok || !text.endsWith("data: [DONE]\n\n")) failed++;
}

await Promise.all(Array.from({ length: Number(streams) }, hold));
delays.sort((a, b) => a - b);
const at = (part: number) => delays[Math.floor(delays.length * part)];
console.log(
  JSON.stringify({ p50: at(0.5), p99: at(0.99), max: delays.at(-1), events: delays.length, failed }),
);
