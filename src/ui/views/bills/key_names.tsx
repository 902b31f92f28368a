import type { ComponentChildren } from "preact";
import type { ListedUpstream } from "../../../contract/costs/upstreams.ts";
import { useData } from "../../hooks/data.ts";
import { Id, Text } from "../../parts/text.tsx";

/** Returns a function that shows a key of a bill: its name in the ledger, and the provider's id. */
export function useKeyNames(): (id: string | null) => ComponentChildren {
  const upstreams = useData<ListedUpstream[]>("/upstreams");
  return (id) => {
    if (id === null) return <span class="muted">not stated</span>;
    const name = upstreams.value?.find(({ key_id }) => key_id === id)?.credential;
    if (!name) return <Id>{id}</Id>;
    return (
      <>
        <Text>{name}</Text>
        <div class="sub">
          <Id>{id}</Id>
        </div>
      </>
    );
  };
}
