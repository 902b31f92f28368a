import { useId, useState } from "preact/hooks";
import type { CostRow } from "../../../contract/costs.ts";
import { type Dimension, DIMENSIONS, nameIn } from "../../../contract/costs/dimensions.ts";
import type { TagKey } from "../../../contract/tags/tag_schemas.ts";
import { escapeText } from "../../../kernel/text.ts";
import { useData } from "../../hooks/data.ts";
import { apiPath, hrefWith, setQuery, useRoute } from "../../hooks/route.ts";
import { Link } from "../../parts/link.tsx";
import { describeSpan } from "../spans/days.ts";
import { useAccess } from "../../hooks/session.ts";
import { keyOf, nameOf } from "./group.tsx";
import {
  dimensionOf,
  exampleOf,
  type Filter,
  FILTERS,
  filtersOf,
  isNamed,
  labelOf,
  tagsWith,
} from "./scope.ts";

/** The filters that are set, each with a link that removes it, and a form for another one. */
export function CostFilters({ hasSpan }: { hasSpan: boolean }) {
  const { query } = useRoute();
  const { calendar } = useAccess().session;
  const span = hasSpan &&
    describeSpan(query.get("from") || undefined, query.get("to") || undefined, calendar.timeZone);
  return (
    <div class="cost-filters">
      {span && <Chip name="Span" value={span} href={hrefWith({ from: undefined, to: undefined })} />}
      {filtersOf(query).map(([filter, value]) => {
        const href = hrefWith({ [filter]: query.getAll(filter).filter((other) => other !== value) });
        const name = dimensionOf(filter);
        const of = { name: labelOf(filter), href };
        return name !== undefined && isNamed(name)
          ? <NamedChip key={filter} {...of} dimension={name} id={value} />
          : <Chip key={filter + value} {...of} value={value} />;
      })}
      <AddFilter />
    </div>
  );
}

/** The chip of a value that has a name beside its id: the name, if there is a call of it, or the text itself. */
function NamedChip({ name, dimension, id, href }: {
  name: string;
  dimension: Dimension;
  id: string;
  href: string;
}) {
  const query = { group_by: dimension, [DIMENSIONS[dimension].field]: id, limit: 1 };
  const [row] = useData<CostRow[]>(apiPath("/costs", query)).value ?? [];
  return <Chip name={name} value={row && nameIn(row, dimension) || id} href={href} />;
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
  const [isOpen, setOpen] = useState(false);
  const [name, setName] = useState<Filter>(FILTERS[0]!);
  const [value, setValue] = useState("");
  const list = useId();
  const add = (event: SubmitEvent) => {
    event.preventDefault();
    const text = value.trim();
    if (text === "") return;
    setQuery({ [name]: name === "tag" ? tagsWith(text) : text });
    setValue("");
    setOpen(false);
  };
  return (
    <details class="add-filter" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Add a filter</summary>
      <form onSubmit={add}>
        <select
          aria-label="Filter by"
          value={name}
          onChange={(event) => setName(event.currentTarget.value as Filter)}
        >
          {FILTERS.map((name) => (
            <option key={name} value={name}>{labelOf(name)}, such as {exampleOf(name)}</option>
          ))}
        </select>
        <input
          aria-label="Value of the filter"
          list={list}
          value={value}
          onInput={(event) => setValue(event.currentTarget.value)}
          autocomplete="off"
          spellcheck={false}
          required
        />
        <datalist id={list}>{isOpen && <Values name={name} typed={value} />}</datalist>
        <button type="submit" class="small">Apply</button>
      </form>
    </details>
  );
}

/** The values that a filter may have: of a tag first the keys, and those of a key after it. */
function Values({ name, typed }: { name: Filter; typed: string }) {
  const split = typed.indexOf(":");
  const isTag = name === "tag";
  const keys = useData<TagKey[]>(isTag ? apiPath("/costs/tag-keys", { limit: 100 }) : undefined);
  const tagKey = keys.value?.find(({ tag_key }) => tag_key === typed.slice(0, split))?.tag_key;
  const group = isTag ? tagKey && `tag:${tagKey}` : dimensionOf(name);
  const rows = useData<CostRow[]>(group && apiPath("/costs", { group_by: group, limit: 100 }));
  const values = tagKey === undefined && isTag
    ? keys.value?.map(({ tag_key }) => ({ value: `${tag_key}:`, label: undefined }))
    : rows.value?.map((row) =>
      isTag
        ? { value: row.tag_value == null ? "" : `${tagKey}:${row.tag_value}`, label: undefined }
        : { value: keyOf(row, group!), label: isNamed(group as Dimension) ? nameOf(row, group!) : undefined }
    );
  return (
    <>
      {values?.filter(({ value }) => value !== "" && value === escapeText(value)).map(({ value, label }) => (
        <option key={value} value={value}>{label === undefined ? undefined : escapeText(label)}</option>
      ))}
    </>
  );
}
