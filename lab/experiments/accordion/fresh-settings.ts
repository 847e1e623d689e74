/** Settings of experiments that take seeds of their own: so many, from the first of them on. */
import type { Run } from "../harness/experiment.ts";
import { seedsTo } from "../harness/seeds.ts";
import { SETTINGS, type Settings, settingsOf } from "./place-methods.ts";

/** Seeds that chose nothing, where nobody asks for others. */
export interface FreshSeeds {
  readonly seeds: number;
  readonly first: number;
}

export function freshOptions({ seeds, first }: FreshSeeds) {
  return { ...SETTINGS, seeds: `how many; ${seeds}`, "first-seed": `the first of them; ${first}` };
}

export function freshSettings(flags: Run["flags"], { seeds, first }: FreshSeeds): Settings {
  const own = seedsTo(flags.number("seeds") ?? seeds, flags.number("first-seed") ?? first);
  return { ...settingsOf(flags), seeds: own };
}
