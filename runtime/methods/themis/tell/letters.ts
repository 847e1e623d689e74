/** The letters of the tasks. */
import type { ThemisBundle } from "../../../bundle/schema.ts";
import { type Lettered, lettersByTask } from "../../../tell/letters.ts";

/** In the order of the tasks, each of which has one variant. */
export function taskLetters({ tasks }: Pick<ThemisBundle, "tasks">): Lettered[] {
  return lettersByTask(
    tasks.map(({ name, variants }) => ({
      name,
      choices: [{ index: 0, name: variants[0]?.name ?? "" }],
    })),
  );
}
