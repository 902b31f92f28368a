import { useEffect, useRef, useState } from "preact/hooks";
import { escapeText } from "../../kernel/text.ts";
import { after } from "../hooks/clock.ts";
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

/** The time after the last key in which a search is not sent yet. */
const TYPING_MS = 300;

/** A field for a text to search for. The URL's parameter `name` has it, as soon as a pause is made in typing. */
export function Search({ name, label, hint }: { name: string; label: string; hint: string }) {
  const { query } = useRoute();
  const value = query.get(name) ?? "";
  const [typed, setTyped] = useState(value);
  const cancel = useRef(() => {});
  // A blank at the end is the start of another word.
  useEffect(() => setTyped((typed) => typed.trim() === value ? typed : value), [value]);
  useEffect(() => () => cancel.current(), []);
  const search = (text: string, milliseconds: number) => {
    cancel.current();
    cancel.current = after(milliseconds, () => setQuery({ [name]: text.trim() }));
  };
  return (
    <input
      class="search"
      type="search"
      aria-label={label}
      placeholder={hint}
      title={hint}
      autocomplete="off"
      spellcheck={false}
      maxLength={200}
      value={typed}
      onInput={({ currentTarget }) => {
        setTyped(currentTarget.value);
        search(currentTarget.value, TYPING_MS);
      }}
      onKeyDown={(event) => event.key === "Enter" && search(event.currentTarget.value, 0)}
    />
  );
}
