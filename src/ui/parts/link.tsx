import type { ComponentChildren } from "preact";
import { navigate } from "../hooks/route.ts";

/** A link to another page of the dashboard; modified clicks open a tab, as with any link. Without an address it is only its content. */
export function Link({ href, children, class: name, current, label, tabIndex }: {
  href: string | undefined;
  children: ComponentChildren;
  class?: string;
  /** True for the page that is open. */
  current?: boolean;
  label?: string;
  tabIndex?: number;
}) {
  if (href === undefined) return <>{children}</>;
  return (
    <a
      href={href}
      class={name}
      aria-current={current ? "page" : undefined}
      aria-label={label}
      tabindex={tabIndex}
      onClick={(event) => {
        if (event.defaultPrevented || event.button !== 0) return;
        if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
        event.preventDefault();
        navigate(href);
      }}
    >
      {children}
    </a>
  );
}
