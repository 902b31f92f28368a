import type { ComponentChildren } from "preact";
import { useContext } from "preact/hooks";
import { HOME, navigate, OWN_PAGE } from "../hooks/route.ts";
import { AccessContext } from "../hooks/session.ts";

const OWN_PAGES = [HOME, OWN_PAGE];

/**
 * A link to another page of the dashboard; modified clicks open a tab, as with any link. Without an address it is only its content, as
 * are links of a key that may not read the page.
 */
export function Link({ href, children, class: name, current, label, tabIndex }: {
  href: string | undefined;
  children: ComponentChildren;
  class?: string;
  /** True for the page that is open. */
  current?: boolean;
  label?: string;
  tabIndex?: number;
}) {
  const access = useContext(AccessContext);
  if (href === undefined || access?.may("read") === false && !OWN_PAGES.includes(href.split("?")[0]!)) {
    return <>{children}</>;
  }
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
