import { useNow } from "../hooks/clock.ts";
import { local, relative, utc } from "../format/time.ts";

/** A time of the API: relative to now, in UTC with `utc`; the title has UTC and the reader's own zone. */
export function Time({ at, as = "relative" }: { at: string | null | undefined; as?: "relative" | "utc" }) {
  const now = useNow();
  if (at === null || at === undefined) return <span class="muted">never</span>;
  const time = Date.parse(at);
  const title = `${utc(time)} · ${local(time)}`;
  return <time dateTime={at} title={title}>{as === "utc" ? utc(time) : relative(time, now)}</time>;
}
