/** Letters of the tasks. */
import type { ThemisBundle } from "../../../bundle/schema.ts";
import { type Lettered, lettersByTask } from "../../../describe/letters.ts";

/** Returns one letter for each task, in their order, regardless of variants. */
export function taskLetters({ tasks }: Pick<ThemisBundle, "tasks">): Lettered[] {
  return lettersByTask(
    tasks.map(({ name, variants }) => ({
      name,
      choices: [{ index: 0, name: [...new Set(variants.map((one) => one.name))].join(" | ") }],
    })),
  );
}
