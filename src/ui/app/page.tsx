import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { LiveSign, useLive } from "../live/live.tsx";
import { type Coverage, CoverageNote } from "../views/coverage.tsx";

/**
 * The page of a view: its heading, filters at the right of it, the calls without a known cost, and the content. The heading gets the focus when another page
 * opens, so that screen readers begin there.
 */
export function Page({ title, filters, coverage, children }: {
  title: string;
  filters?: ComponentChildren;
  /** The counts of its calls without a known cost: null if the content has them, by default those of all calls. */
  coverage?: { of: Coverage | undefined; href: string } | null;
  children: ComponentChildren;
}) {
  const { state } = useLive();
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
        {coverage !== null && <CoverageNote {...coverage ?? { of: state?.coverage }} />}
      </header>
      {children}
    </>
  );
}
