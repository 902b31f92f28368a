import type { ComponentChildren } from "preact";
import type { Data } from "../hooks/data.ts";
import { utc } from "../format/time.ts";
import { escapeText } from "../../kernel/text.ts";
import { Banner } from "./card.tsx";
import { Command } from "./command.tsx";

/** The content of a part of a view where there is nothing yet, with the command that changes that. */
export function Empty({ title, children, command }: {
  title: string;
  children?: ComponentChildren;
  command?: string;
}) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children && <p>{children}</p>}
      {command && <Command>{command}</Command>}
    </div>
  );
}

const isEmptyList = (value: unknown) => Array.isArray(value) && value.length === 0;

/**
 * Shows data in all of its states: a skeleton while there is none, the error with a button, `empty` for an empty list or where
 * `isEmpty` says so, and a banner above data that could not be refreshed.
 */
export function Loaded<Value>({ data, isEmpty = isEmptyList, empty, children }: {
  data: Pick<Data<Value>, "value" | "isStale" | "at" | "reload"> & { error: { message: string } | undefined };
  isEmpty?: (value: Value) => boolean;
  empty?: ComponentChildren;
  children: (value: Value) => ComponentChildren;
}) {
  const { value, error, isStale, at, reload } = data;
  const retry = <button type="button" class="small" onClick={reload}>Try again</button>;
  if (value === undefined) {
    if (error) return <Banner tone="bad" action={retry}>{escapeText(error.message)}</Banner>;
    return (
      <div class="skeleton" role="status" aria-label="Loading">
        <i />
        <i />
        <i />
      </div>
    );
  }
  return (
    <>
      {isStale && error && (
        <Banner action={retry}>
          These figures are of {utc(at ?? 0)}. {escapeText(error.message)}
        </Banner>
      )}
      {empty && isEmpty(value) ? empty : children(value)}
    </>
  );
}
