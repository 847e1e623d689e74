/** Mutants of bundles of tables, scales and places: of all methods that are not of plans. */
import { describeHostile } from "./hostile.ts";
import { SUBJECTS } from "./subjects.ts";

describeHostile(SUBJECTS.filter(({ method }) => method !== "loki" && method !== "inferline"));
