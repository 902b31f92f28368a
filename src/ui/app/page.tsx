import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { LiveSign } from "../live/live.tsx";

/**
 * The page of a view: its heading, filters at the right of it, and the content. The heading gets the focus when another page
 * opens, so that screen readers begin there.
 */
export function Page({ title, filters, children }: {
  title: string;
  filters?: ComponentChildren;
  children: ComponentChildren;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Purser`;
    if (document.activeElement === document.body || document.activeElement?.closest("nav")) return;
    heading.current?.focus();
  }, [title]);
  return (
    <>
      <header class="page-head">
        <h1 ref={heading} tabIndex={-1}>{title}</h1>
        <div class="filters">{filters}</div>
        <LiveSign />
      </header>
      {children}
    </>
  );
}
