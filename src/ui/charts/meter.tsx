import { escapeText } from "../../kernel/text.ts";

/** The tones of a meter by its state; the text beside it says the state too. */
export type MeterState = "ok" | "near" | "reached";

/**
 * The used part of a limit: `spent`, then `reserved` hatched, of `limit`; `marks` are lines at warnings. `label` says it
 * in words: "$41.20 spent and $0.30 reserved of $50".
 */
export function Meter({ spent, reserved = 0, limit, marks = [], state, label }: {
  spent: number;
  reserved?: number;
  limit: number;
  /** Shares of the limit, such as 0.8. */
  marks?: readonly number[];
  state: MeterState;
  label: string;
}) {
  const share = (value: number) => Math.max(0, Math.min(100, limit > 0 ? value / limit * 100 : 100));
  const used = share(spent);
  const held = Math.min(100 - used, share(reserved));
  return (
    <svg
      class={`meter ${state}`}
      role="img"
      aria-label={escapeText(label)}
      viewBox="0 0 100 8"
      preserveAspectRatio="none"
    >
      <rect class="meter-back" width="100" height="8" />
      <rect class="meter-used" width={used} height="8" />
      <rect class="meter-held" x={used} width={held} height="8" />
      {marks.map((mark) => (
        <line key={mark} class="meter-mark" x1={mark * 100} x2={mark * 100} y1="0" y2="8" />
      ))}
    </svg>
  );
}
