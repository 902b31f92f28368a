import type { CommandContext } from "../command.ts";

/** A response of the typed client. */
export interface Answer<Body> {
  json(): Promise<Body>;
  text(): Promise<string>;
}

/** Prints a response of the API: the body itself with `--json`, else `render` of it. */
export async function printAnswer<Body>(
  ctx: CommandContext,
  answer: Answer<Body>,
  render: (body: Body) => string | Promise<string>,
): Promise<void> {
  ctx.print(ctx.isJson ? await answer.text() : await render(await answer.json()));
}

/** Returns whether the list has a next page, which the `Link` header names. */
export function hasMore(answer: { headers: Headers }): boolean {
  return /rel="?next/.test(answer.headers.get("link") ?? "");
}

/** Returns the cursor of the next page, which the `Link` header names. */
export function nextCursor(answer: { headers: Headers }): string | undefined {
  const next = /<[^>]*\?([^>]*)>; rel="next"/.exec(answer.headers.get("link") ?? "")?.[1];
  return new URLSearchParams(next).get("cursor") ?? undefined;
}
