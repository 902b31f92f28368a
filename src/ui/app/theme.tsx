import { useEffect, useState } from "preact/hooks";

const NAME = "purser-theme";
const THEMES = ["auto", "light", "dark"] as const;
type Theme = typeof THEMES[number];

const LABELS: Record<Theme, string> = { auto: "Auto", light: "Light", dark: "Dark" };

/** Storage may be refused by the browser's settings: the choice then lasts as long as the page. */
function readTheme(): Theme {
  try {
    return THEMES.find((theme) => theme === localStorage.getItem(NAME)) ?? "auto";
  } catch {
    return "auto";
  }
}

/** Applies the stored choice before anything is drawn. */
export function applyTheme(theme = readTheme()): void {
  document.documentElement.dataset.theme = theme;
}

/** The choice of light or dark; `auto` is that of the system. */
export function ThemeSwitch() {
  const [theme, setTheme] = useState(readTheme);
  useEffect(() => {
    applyTheme(theme);
    try {
      localStorage.setItem(NAME, theme);
    } catch {
      // see readTheme()
    }
  }, [theme]);
  return (
    <fieldset class="theme">
      <legend class="hidden">Colors</legend>
      {THEMES.map((one) => (
        <label key={one}>
          <input type="radio" name="theme" checked={one === theme} onChange={() => setTheme(one)} />
          <span>{LABELS[one]}</span>
        </label>
      ))}
    </fieldset>
  );
}
