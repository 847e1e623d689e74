/** The policy of method themis in a spec. */
import type { ThemisPolicy } from "./application.ts";
import { conflict, show } from "./mistakes.ts";
import type { PolicyRulesOf, PolicySpecOf } from "./policy-rules.ts";

export const themisRules: PolicyRulesOf<"themis"> = {
  resolve: resolveThemis,
  *measurementMistakes({ profile }, path) {
    if (profile.fit !== null || profile.byCores !== null) return;
    const found = `${profile.file} has neither for ${show(profile.variant)}`;
    yield conflict(path, `method themis needs fit or byCores, and ${found}`);
  },
};

function resolveThemis(policy: PolicySpecOf<"themis">): ThemisPolicy {
  const { tick, resize, coldStart, dropAfter, ...rest } = policy;
  return {
    ...rest,
    tickMs: tick,
    resizeMs: resize,
    coldStartMs: coldStart,
    dropAfterSlos: dropAfter === "never" ? null : dropAfter,
  };
}
