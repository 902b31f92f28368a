import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { escapeText } from "../../../../kernel/text.ts";
import { count, plural } from "../../../format/number.ts";
import { after } from "../../../hooks/clock.ts";
import { hrefWith, navigate, useRoute } from "../../../hooks/route.ts";
import { Banner } from "../../../parts/card.tsx";
import { Segments } from "../../../parts/filters.tsx";
import type { SessionLog } from "./session_log.ts";
import { StepDetail } from "./step_detail.tsx";
import { type Mode, StepList } from "./step_list.tsx";
import { isMain, targetOf } from "./steps.ts";

const MODES = [
  { value: "compact", label: "Compact" },
  { value: "timeline", label: "Timeline" },
  { value: "json", label: "JSON" },
];
/** The rows that a page of the list is, for the keys. */
const PAGE_ROWS = 9;
/** Browsers refuse an address that changes too often. */
const URL_DELAY_MS = 200;

/** The steps of a session beside the details of one; the URL's `step`, `call` or `run` chooses it. */
export function Replay({ log }: { log: SessionLog }) {
  const { query } = useRoute();
  const mode = (query.get("view") ?? "compact") as Mode;
  const { steps, isAtEnd } = log;
  const [chosen, setSelected] = useState<number>();
  const [isSeeking, setSeeking] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const cancelUrl = useRef<(() => void) | undefined>(undefined);

  // Depends on the length, since the log grows in place.
  const shown = useMemo(
    () => steps.flatMap((step, index) => mode !== "compact" || isMain(step) ? [index] : []),
    [mode, steps.length],
  );
  const selected = chosen ?? shown[0] ?? 0;
  const listed = shown.includes(selected) ? shown : insert(shown, selected, steps.length);

  const seek = async (find: () => Promise<number>) => {
    setSeeking(true);
    const found = await find();
    setSeeking(false);
    return found;
  };
  const [step, call, run] = ["step", "call", "run"].map((name) => query.get(name) ?? undefined);
  useEffect(() => {
    const isTarget = targetOf({ step, call, run });
    if (!isTarget || (step && String(steps[selected]?.event.seq) === step)) return;
    seek(() => log.find(isTarget)).then((index) => {
      if (index === -1) return;
      setSelected(index);
      box.current?.querySelector<HTMLElement>(".steps")?.focus({ preventScroll: true });
    });
  }, [step, call, run]);

  const select = (index: number) => {
    setSelected(index);
    const { event } = steps[index]!;
    cancelUrl.current?.();
    cancelUrl.current = after(URL_DELAY_MS, () => {
      const seq = event.imported_from === undefined && event.seq !== null ? String(event.seq) : undefined;
      navigate(hrefWith({ step: seq, call: undefined, run: undefined }), { replace: true });
    });
  };
  const move = (to: Move) => {
    const at = listed.indexOf(selected);
    const next = {
      next: at + 1,
      back: at - 1,
      first: 0,
      last: listed.length - 1,
      page_down: at + PAGE_ROWS,
      page_up: at - PAGE_ROWS,
    }[to];
    const index = listed[Math.max(0, Math.min(listed.length - 1, next))];
    if (index !== undefined) select(index);
    if (to === "last" && !isAtEnd) {
      seek(() => log.find(() => false)).then(() => select(log.steps.length - 1));
    } else if (next >= listed.length && !isAtEnd) {
      log.more();
    }
  };
  const current = steps[Math.min(selected, steps.length - 1)];
  return (
    <div
      ref={box}
      class="replay"
      onKeyDown={(event) => {
        const to = moveOf(event);
        if (!to || steps.length === 0) return;
        event.preventDefault();
        move(to);
      }}
    >
      <div class="replay-bar">
        <Segments name="view" label="View of the steps" fallback="compact" choices={MODES} />
        <span class="muted">
          {isAtEnd ? plural(steps.length, "step") : `${count(steps.length)} steps read`}
          {mode === "compact" && `, ${count(listed.length)} shown`}
        </span>
        <span class="replay-buttons">
          <button type="button" class="small" aria-label="Previous step" onClick={() => move("back")}>
            ←
          </button>
          <button type="button" class="small" aria-label="Next step" onClick={() => move("next")}>→</button>
        </span>
      </div>
      {log.error && (
        <Banner
          tone="bad"
          action={<button type="button" class="small" onClick={() => log.more()}>Try again</button>}
        >
          {escapeText(log.error.message)}
        </Banner>
      )}
      {isSeeking && !isAtEnd && (
        <p class="seeking" role="status">
          Reading events, {count(steps.length)} steps so far{" "}
          <button type="button" class="small" onClick={() => log.stop()}>Stop</button>
        </p>
      )}
      {log.isCut && (
        <Banner>
          The log is longer than a page holds; purser state replay --from {steps.at(-1)?.event.seq}{" "}
          shows the rest.
        </Banner>
      )}
      <div class="replay-panes">
        <StepList
          steps={steps}
          shown={listed}
          selected={selected}
          isAtEnd={isAtEnd}
          mode={mode}
          onSelect={select}
          onNearEnd={() => log.more()}
        />
        {current && <StepDetail step={current} asJson={mode === "json"} />}
      </div>
      <p class="muted replay-keys">
        In the list: <kbd>←</kbd> <kbd>→</kbd> step, <kbd>g</kbd> first, <kbd>G</kbd> last
      </p>
    </div>
  );
}

/** Adds the selected step to the compact list, so that a link to a hidden one shows it. */
function insert(shown: readonly number[], selected: number, steps: number): readonly number[] {
  if (selected >= steps) return shown;
  const at = shown.findIndex((index) => index > selected);
  return at === -1 ? [...shown, selected] : shown.toSpliced(at, 0, selected);
}

/** The moves of a replay by keys, as in the terminal. */
type Move = "next" | "back" | "first" | "last" | "page_down" | "page_up";

const MOVES: Readonly<Record<string, Move | undefined>> = {
  ArrowRight: "next",
  ArrowDown: "next",
  l: "next",
  n: "next",
  j: "next",
  ArrowLeft: "back",
  ArrowUp: "back",
  h: "back",
  p: "back",
  k: "back",
  Home: "first",
  g: "first",
  End: "last",
  G: "last",
  PageDown: "page_down",
  PageUp: "page_up",
};

/** Returns the move of a key; undefined for any other, and for those of a control that uses them itself. */
function moveOf(event: KeyboardEvent): Move | undefined {
  if (event.metaKey || event.ctrlKey || event.altKey) return undefined;
  const target = event.target as Element;
  if (target.closest("input, select, textarea, svg, summary, dialog")) return undefined;
  const scrolls = /^(ArrowUp|ArrowDown|Page|Home|End)/.test(event.key);
  if (scrolls && target.closest(".block, .table-scroll")) return undefined;
  return MOVES[event.key];
}
