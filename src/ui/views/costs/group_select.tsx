import type { TagKey } from "../../../contract/tags/tag_schemas.ts";
import { escapeText } from "../../../kernel/text.ts";
import { useData } from "../../hooks/data.ts";
import { request, type RequestError } from "../../hooks/request.ts";
import { setQuery, useRoute } from "../../hooks/route.ts";
import type { Choice } from "../../parts/filters.tsx";
import { useToast } from "../../parts/toast.tsx";
import type { Span } from "../spans/span.ts";
import { costPath } from "./scope.ts";

/** The choice that stands for all tags, of which a second list has the keys. */
const TAG = "tag";

/**
 * A choice of groups, or of a tag by its key. The URL's parameter `name` has the group, such as `tag:customer`. The keys of tags are
 * requested once a tag is chosen.
 */
export function GroupSelect({ name, label, choices, all, span: { from, to, time_zone } }: {
  name: string;
  label: string;
  choices: readonly Choice[];
  /** The text of the group without the parameter. */
  all: string;
  span: Pick<Span, "from" | "to" | "time_zone">;
}) {
  const { query } = useRoute();
  const toast = useToast();
  const group = query.get(name) ?? "";
  const isTag = group.startsWith(`${TAG}:`);
  const path = costPath("/costs/tag-keys", query, { from, to, time_zone, limit: 100 });
  const keys = useData<TagKey[]>(isTag ? path : undefined);
  const known = keys.value?.map(({ tag_key }) => tag_key) ?? [];
  const current = group.slice(TAG.length + 1);
  const choose = (value: string) => setQuery({ [name]: value });
  const chooseTag = async () => {
    const [first] = (await request<TagKey[]>(path)).value;
    if (first) choose(`${TAG}:${first.tag_key}`);
    else toast("No call of this span has a tag", "warning");
  };
  const onChange = (event: { currentTarget: HTMLSelectElement }) => {
    const { value } = event.currentTarget;
    if (value !== TAG) return choose(value);
    event.currentTarget.value = isTag ? TAG : group;
    chooseTag().catch((error: RequestError) => toast(escapeText(error.message), "bad"));
  };
  return (
    <>
      <select aria-label={label} value={isTag ? TAG : group} onChange={onChange}>
        <option value="">{all}</option>
        {choices.map(({ value, label }) => <option key={value} value={value}>{label}</option>)}
        <option value={TAG}>By tag</option>
      </select>
      {isTag && (
        <select
          aria-label={`${label}: tag`}
          value={current}
          onChange={(event) => choose(`${TAG}:${event.currentTarget.value}`)}
        >
          {[...known.includes(current) ? [] : [current], ...known].map((key) => (
            <option key={key} value={key}>{escapeText(key)}</option>
          ))}
        </select>
      )}
    </>
  );
}
