/** The sections of the truth table in their order; on hardware they take nine minutes at most. */
import type { Section } from "./section.ts";
import { agreement } from "./sections/agreement.ts";
import { kill } from "./sections/kill.ts";
import { memory } from "./sections/memory.ts";
import { profile } from "./sections/profile.ts";
import { promisesOf } from "./sections/promises.ts";
import { throughput } from "./sections/throughput.ts";

export const SECTIONS: readonly Section[] = [
  agreement,
  profile,
  promisesOf("letters"),
  promisesOf("scenes"),
  promisesOf("malleable"),
  memory,
  kill,
  throughput,
];
