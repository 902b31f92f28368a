import { render } from "preact";
import { App } from "./app.tsx";
import { applyTheme } from "./theme.tsx";

applyTheme();
render(<App />, document.getElementById("app")!);
