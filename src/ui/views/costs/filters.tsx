import { escapeText } from "../../../kernel/text.ts";
import { hrefWith, setQuery, useRoute } from "../../hooks/route.ts";
import { Link } from "../../parts/link.tsx";
import { type Filter, FILTERS, filtersOf } from "./scope.ts";
import { describeSpan } from "./utc_days.ts";

const NAMES: Readonly<Record<Filter, string>> = {
  agent_id: "Agent",
  provider: "Provider",
  model: "Model",
  key_id: "Key",
  tag: "Tag",
};

const HINTS: Readonly<Record<Filter, string>> = {
  agent_id: "researcher",
  provider: "openai",
  model: "openai:gpt-6-luna",
  key_id: "key_…",
  tag: "customer:acme",
};

/** The filters that are set, each with a link that removes it, and a form for another one. */
export function CostFilters() {
  const { query } = useRoute();
  const set = filtersOf(query);
  const span = describeSpan(query.get("from") ?? undefined, query.get("to") ?? undefined);
  return (
    <div class="cost-filters">
      {span && <Chip name="Span" value={span} href={hrefWith({ from: undefined, to: undefined })} />}
      {FILTERS.map((name) =>
        set[name] !== undefined && (
          <Chip key={name} name={NAMES[name]} value={set[name]} href={hrefWith({ [name]: undefined })} />
        )
      )}
      <AddFilter />
    </div>
  );
}

function Chip({ name, value, href }: { name: string; value: string; href: string }) {
  return (
    <span class="chip">
      <span class="muted">{name}</span> {escapeText(value)}
      <Link href={href} label={`Remove the filter ${name} ${escapeText(value)}`}>×</Link>
    </span>
  );
}

function AddFilter() {
  const add = (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.target as HTMLFormElement;
    const fields = new FormData(form);
    const value = String(fields.get("value")).trim();
    if (value === "") return;
    setQuery({ [String(fields.get("name"))]: value });
    form.reset();
    form.closest("details")?.removeAttribute("open");
  };
  return (
    <details class="add-filter">
      <summary>Add a filter</summary>
      <form onSubmit={add}>
        <select name="name" aria-label="Filter by">
          {FILTERS.map((name) => <option key={name} value={name}>{NAMES[name]}, such as {HINTS[name]}
          </option>)}
        </select>
        <input name="value" aria-label="Value of the filter" autocomplete="off" spellcheck={false} required />
        <button type="submit" class="small">Apply</button>
      </form>
    </details>
  );
}
