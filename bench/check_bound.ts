/** Reports a figure that is over its bound, after which the process ends with an error. */
export function checkBound(what: string, figure: number, most: number): void {
  if (figure <= most) return;
  console.error(`Over its bound: ${what} is ${shown(figure)}, at most ${shown(most)}`);
  Deno.exitCode = 1;
}

const shown = (figure: number) => Number(figure.toFixed(2));
