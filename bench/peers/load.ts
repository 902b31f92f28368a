/**
 * Sends calls to an address and prints one JSON line of times:
 * `deno run -N bench/peers/load.ts URL KEY AT_ONCE CALLS whole|streamed [HEADERS_AS_JSON]`.
 * A process of its own, so that its work is not that of the measuring one.
 */
const [url, key, atOnceText, callsText, kind, more] = Deno.args as [
  string,
  string,
  string,
  string,
  string,
  string?,
];
const [atOnce, calls] = [Number(atOnceText), Number(callsText)];
const isStreamed = kind === "streamed";
const body = JSON.stringify({
  model: "gpt-4o-mini",
  max_completion_tokens: 200,
  ...(isStreamed && { stream: true, stream_options: { include_usage: true } }),
  messages: [{ role: "user", content: "What is 2+2? ".repeat(300) }],
});
const headers = {
  "content-type": "application/json",
  authorization: `Bearer ${key}`,
  ...JSON.parse(more ?? "{}") as Record<string, string>,
};
const times: number[] = [];
const firsts: number[] = [];
let failed = 0;

async function call(): Promise<void> {
  const startedAt = performance.now();
  const response = await fetch(url, { method: "POST", headers, body });
  const reader = response.body!.getReader();
  let isFirst = true;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    if (isFirst) firsts.push(performance.now() - startedAt);
    isFirst = false;
  }
  if (!response.ok) failed++;
  times.push(performance.now() - startedAt);
}

let left = calls;
const startedAt = performance.now();
await Promise.all(Array.from({ length: atOnce }, async () => {
  while (left-- > 0) await call();
}));
const seconds = (performance.now() - startedAt) / 1_000;
const at = (list: number[], part: number) => list.sort((a, b) => a - b)[Math.floor(list.length * part)];
console.log(JSON.stringify({
  p50: at(times, 0.5),
  p99: at(times, 0.99),
  first: at(firsts, 0.5),
  perSecond: calls / seconds,
  failed,
}));
