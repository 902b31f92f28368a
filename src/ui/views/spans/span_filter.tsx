import { useNow } from "../../hooks/clock.ts";
import { setQuery } from "../../hooks/route.ts";
import { dateIn } from "../../../contract/calendars/zones.ts";
import { type SpanName, SPANS, useSpan } from "./span.ts";
import { daysOf, nextDay } from "./days.ts";

/** The span of a page: one by its name, or its first and last day. The URL has `span`, or `from` and the exclusive `to`. */
export function SpanFilter({ fallback = "7d" }: { fallback?: SpanName }) {
  const span = useSpan(fallback);
  const now = useNow(60_000);
  const { time_zone } = span;
  const today = dateIn(time_zone, now);
  const [first, last] = daysOf(span, now);
  const chooseName = (value: string) =>
    setQuery({ span: value === fallback ? undefined : value, from: undefined, to: undefined });
  const chooseDays = (from: string, last: string) => {
    // A span until today stays open.
    const to = last === "" || (last === today && span.to === undefined) ? undefined : nextDay(last);
    if (from === "" && to === undefined) chooseName("all");
    else setQuery({ span: undefined, from, to });
  };
  // A year that is being typed is a date of long ago at first.
  const onDay = (choose: (day: string) => void) => (event: { currentTarget: HTMLInputElement }) =>
    event.currentTarget.validity.valid && choose(event.currentTarget.value);
  const bounds = { type: "date" as const, min: "2000-01-01", max: today };
  return (
    <fieldset class="span-filter">
      <legend class={time_zone === "UTC" ? "hidden" : "sub"}>Days of {time_zone}</legend>
      <select
        aria-label="Span"
        value={span.name ?? ""}
        onChange={(event) => event.currentTarget.value && chooseName(event.currentTarget.value)}
      >
        {span.name === undefined && <option value="">Dates</option>}
        {SPANS.map(({ value, label }) => <option key={value} value={value}>{label}</option>)}
      </select>
      <span class="one-line">
        <input
          {...bounds}
          aria-label={`First day (${time_zone})`}
          value={first}
          onChange={onDay((day) => chooseDays(day, last !== "" && last < day ? day : last))}
        />
        <span aria-hidden="true" class="to">–</span>
        <input
          {...bounds}
          aria-label={`Last day (${time_zone})`}
          value={last}
          onChange={onDay((day) => chooseDays(day !== "" && day < first ? day : first, day))}
        />
      </span>
    </fieldset>
  );
}
