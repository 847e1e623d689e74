/** Mutants of bundles of plans of servers and of stages. */
import { describeHostile } from "./hostile.ts";
import { SUBJECTS } from "./subjects.ts";

describeHostile(SUBJECTS.filter(({ method }) => method === "loki" || method === "inferline"));
