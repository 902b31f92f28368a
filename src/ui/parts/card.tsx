import type { ComponentChildren } from "preact";

/** A part of a view with a heading. `aside` stands at the right of it: a link or filters. */
export function Card({ title, aside, children }: {
  title: string;
  aside?: ComponentChildren;
  children: ComponentChildren;
}) {
  return (
    <section class="card" aria-label={title}>
      <header class="card-head">
        <h2>{title}</h2>
        {aside && <div class="card-aside">{aside}</div>}
      </header>
      {children}
    </section>
  );
}

/** Two cards side by side where there is room. */
export function Grid({ children }: { children: ComponentChildren }) {
  return <div class="grid">{children}</div>;
}

/** A figure with its name; `children` is the figure, `note` a line below it. Give it a link to what it is made of. */
export function Stat({ label, children, note }: {
  label: string;
  children: ComponentChildren;
  note?: ComponentChildren;
}) {
  return (
    <div class="stat">
      <dt>{label}</dt>
      <dd class="stat-value">{children}</dd>
      {note && <dd class="stat-note">{note}</dd>}
    </div>
  );
}

/** A row of `Stat`. */
export function Stats({ children }: { children: ComponentChildren }) {
  return <dl class="stats">{children}</dl>;
}

/** The meanings of badges. The text says it too: never the colour alone. */
export type Tone = "neutral" | "good" | "warning" | "bad" | "accent";

export function Badge({ tone = "neutral", children }: { tone?: Tone; children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

/** A message above a view: data that is stale, calls without a price. */
export function Banner({ tone = "warning", children, action }: {
  tone?: Tone;
  children: ComponentChildren;
  action?: ComponentChildren;
}) {
  return (
    <div class={`banner ${tone}`} role="status">
      <p>{children}</p>
      {action}
    </div>
  );
}
