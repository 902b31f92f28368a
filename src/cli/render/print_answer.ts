import type { CommandContext } from "../command.ts";

/** An answer of the typed client. */
interface Answer<Body> {
  json(): Promise<Body>;
  text(): Promise<string>;
}

/** Prints an answer of the API: as it came with `--json`, else as a person reads it. */
export async function printAnswer<Body>(
  ctx: CommandContext,
  answer: Answer<Body>,
  render: (body: Body) => string,
): Promise<void> {
  ctx.print(ctx.isJson ? await answer.text() : render(await answer.json()));
}

/** Whether the API has more than it sent: it names the next page in the `Link` header. */
export function hasMore(answer: { headers: Headers }): boolean {
  return /rel="?next/.test(answer.headers.get("link") ?? "");
}
