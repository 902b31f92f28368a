import { escapeText } from "../../kernel/text.ts";
import { hrefWith, setQuery, useRoute } from "../hooks/route.ts";
import { Link } from "./link.tsx";

/** A value of a filter with its name on the screen. */
export interface Choice {
  value: string;
  label: string;
}

/** A filter of few values, side by side; the URL's parameter `name` has the value, unless it is `fallback`. */
export function Segments({ name, label, choices, fallback }: {
  name: string;
  label: string;
  choices: readonly Choice[];
  fallback: string;
}) {
  const { query } = useRoute();
  const current = query.get(name) ?? fallback;
  return (
    <nav class="segments" aria-label={label}>
      {choices.map(({ value, label }) => (
        <Link
          key={value}
          href={hrefWith({ [name]: value === fallback ? undefined : value })}
          current={value === current}
        >
          {label}
        </Link>
      ))}
    </nav>
  );
}

/** A filter of many values; '' is all. The URL's parameter `name` has the value. */
export function Select({ name, label, choices, all }: {
  name: string;
  label: string;
  choices: readonly Choice[];
  /** The text of no filter: "All agents". */
  all: string;
}) {
  const { query } = useRoute();
  const current = query.get(name) ?? "";
  const known = current === "" || choices.some(({ value }) => value === current);
  const listed = known ? choices : [{ value: current, label: current }, ...choices];
  return (
    <label class="select">
      <span class="hidden">{label}</span>
      <select value={current} onChange={(event) => setQuery({ [name]: event.currentTarget.value })}>
        <option value="">{all}</option>
        {listed.map(({ value, label }) => <option key={value} value={value}>{escapeText(label)}</option>)}
      </select>
    </label>
  );
}
