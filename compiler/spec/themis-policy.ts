/** Policy of method themis in a spec. */
import type { ThemisPolicy } from "./application.ts";
import { conflict, show } from "./document/mistakes.ts";
import type { PolicyRulesOf, PolicySpecOf } from "./policy-rules.ts";
import { scalerDelayOf } from "./scaler-delay.ts";
import type { TaskSpec } from "./schema/application-schema.ts";
import type { MeasuredStarts } from "./start-times.ts";

export const themisRules: PolicyRulesOf<"themis"> = {
  resolve: resolveThemis,
  sizes: "largest",
  *measurementMistakes({ profile }, path) {
    if (profile.fit !== null || profile.byCores !== null) return;
    const found = `${profile.file} has neither for ${show(profile.variant)}`;
    yield conflict(path, `method themis needs fit or byCores, but ${found}`);
  },
};

/** Default interval of traffic observations, in SLOs. */
const LOOK_SLOS = 0.25;
/** Default without a value in spec or profiles. */
const DEFAULT_MS = 5000;

function resolveThemis(
  policy: PolicySpecOf<"themis">,
  _tasks: readonly TaskSpec[],
  { workerMs: measured }: MeasuredStarts,
  sloMs: number,
): ThemisPolicy {
  const { tick, resize, coldStart, dropAfter, dropRule, ...others } = policy;
  const { scaler, scalerPolling, ...rest } = others;
  return {
    ...rest,
    ...(dropRule === "rest" ? { dropRule } : {}),
    tickMs: tick ?? LOOK_SLOS * sloMs,
    resizeMs: resize,
    ...scalerDelayOf(scaler, scalerPolling),
    coldStartMs: coldStart ?? measured ?? DEFAULT_MS,
    ...(coldStart === undefined && measured !== null ? { startFrom: "profiles" } : {}),
    dropAfterSlos: dropAfter === "never" ? null : dropAfter,
  };
}
