import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { formatDuration, formatGap, type ReplayStep } from "../../../../contract/replay/mod.ts";
import { formatUsd } from "../../../../kernel/money.ts";
import { escapeText } from "../../../../kernel/text.ts";
import { NO_PRICE } from "../../../format/money.ts";
import { costOf, durationOf, isBad, summaryOf, timeOf } from "./steps.ts";

/** The height of a row in pixels, as in the style sheet. */
const ROW = 48;
/** Rows before the end of the list at which the next page is read. */
const AHEAD = 30;

/** The modes of the list: `compact` and `json` differ in the rows and in the details. */
export type Mode = "compact" | "timeline" | "json";

/**
 * The list of steps: one tab stop, of which only the rows in sight are in the page, so that a log may have any length.
 * `shown` are the indexes of the steps to list.
 */
export function StepList({ steps, shown, selected, isAtEnd, mode, onSelect, onNearEnd }: {
  steps: readonly ReplayStep[];
  shown: readonly number[];
  /** An index of `steps`. */
  selected: number;
  isAtEnd: boolean;
  mode: Mode;
  onSelect(index: number): void;
  onNearEnd(): void;
}) {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ scrollTop: 0, height: 480 });
  const measure = () => {
    const { scrollTop, clientHeight } = box.current!;
    setView({ scrollTop, height: clientHeight });
  };
  useLayoutEffect(measure, []);
  const position = shown.indexOf(selected);
  useLayoutEffect(() => {
    const list = box.current!;
    if (position === -1) return;
    list.scrollTop = scrollTo(position, { scrollTop: list.scrollTop, height: list.clientHeight, row: ROW });
    measure();
  }, [position, shown]);
  const { from, until } = windowOf(shown.length, { ...view, row: ROW });
  useEffect(() => {
    if (!isAtEnd && until > shown.length - AHEAD) onNearEnd();
  }, [isAtEnd, until, shown.length]);
  const last = steps.at(-1);
  const total = mode === "timeline" && last ? timeOf(last)?.until ?? 0 : 0;
  return (
    <div
      ref={box}
      class="steps"
      role="listbox"
      aria-label="Steps"
      tabIndex={0}
      aria-activedescendant={position >= from && position < until ? `step-${selected}` : undefined}
      onScroll={measure}
    >
      <Space rows={from} />
      {shown.slice(from, until).map((index, offset) => (
        <div
          key={index}
          id={`step-${index}`}
          role="option"
          class={isBad(steps[index]!) ? "step bad" : "step"}
          aria-selected={index === selected}
          aria-posinset={from + offset + 1}
          aria-setsize={isAtEnd ? shown.length : -1}
          onClick={() => onSelect(index)}
        >
          <StepRow step={steps[index]!} total={total} />
        </div>
      ))}
      <Space rows={shown.length - until} />
    </div>
  );
}

/** The height of rows that aren't drawn. A picture, since the policy of the page allows no styles in the markup. */
function Space({ rows }: { rows: number }) {
  return <svg class="space" width="1" height={Math.max(0, rows) * ROW} aria-hidden="true" />;
}

function StepRow({ step, total }: { step: ReplayStep; total: number }) {
  const { event, sincePreviousMs } = step;
  const cost = costOf(step);
  const duration = durationOf(step);
  const time = timeOf(step);
  return (
    <>
      <span class="step-seq">{event.imported_from === undefined ? `#${event.seq ?? "-"}` : "imported"}</span>
      <span class="step-main">
        <span class="step-type">{escapeText(event.type)}</span>
        {total > 0 && time
          ? <Bar {...time} total={total} />
          : <span class="step-facts">{escapeText(summaryOf(step))}</span>}
      </span>
      <span class="step-side">
        <span class="step-cost">
          {cost === undefined ? "" : cost === null ? NO_PRICE : `$${formatUsd(cost)}`}
        </span>
        <span class="step-gap">
          {duration > 0 ? formatDuration(duration) : formatGap(sincePreviousMs)}
        </span>
      </span>
    </>
  );
}

/** The time of a step on the axis of the whole log. */
function Bar({ from, until, total }: { from: number; until: number; total: number }) {
  const width = Math.min(100, Math.max(0.6, (until - from) / total * 100));
  const x = from / total * 100;
  return (
    <svg class="step-bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
      <rect class="bar-back" width="100" height="6" />
      <rect class="bar" x={Math.min(x, 100 - width)} width={width} height="6" />
    </svg>
  );
}

/** The rows of a list that are drawn: those in sight, and some around them. */
interface Window {
  from: number;
  /** Exclusive. */
  until: number;
}

const AROUND = 8;

/** Returns the rows to draw of a list that is scrolled. */
function windowOf(count: number, { scrollTop, height, row }: {
  scrollTop: number;
  height: number;
  row: number;
}): Window {
  const from = Math.max(0, Math.min(count - 1, Math.floor(scrollTop / row)) - AROUND);
  return { from, until: Math.min(count, Math.ceil((scrollTop + height) / row) + AROUND) };
}

/** Returns the scroll position that has a row in sight, as near as possible to the present one. */
function scrollTo(index: number, { scrollTop, height, row }: {
  scrollTop: number;
  height: number;
  row: number;
}): number {
  const top = index * row;
  if (top < scrollTop) return top;
  return top + row > scrollTop + height ? top + row - height : scrollTop;
}
