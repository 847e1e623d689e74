/** The policy of method accordion in a spec. */
import type { AccordionPolicy, Variant, VariantProfile } from "./application.ts";
import type { KeyPath } from "./document.ts";
import { conflict, invalid, type Mistake, show } from "./mistakes.ts";
import type { PolicyRulesOf, PolicySpecOf } from "./policy-rules.ts";

export const accordionRules: PolicyRulesOf<"accordion"> = {
  resolve: resolveAccordion,
  measurementMistakes: pipelineTimeMistakes,
};

function resolveAccordion(policy: PolicySpecOf<"accordion">): AccordionPolicy {
  const { reconfiguration, dropAfter, ...rest } = policy;
  return {
    ...rest,
    reconfigurationMs: reconfiguration,
    dropAfterSlos: dropAfter === "never" ? null : dropAfter,
  };
}

/** @param path of what names the profiles: one of them, or a list. */
function* pipelineTimeMistakes({ profiles, host }: Variant, path: KeyPath): Generator<Mistake> {
  if (host !== undefined) {
    const found = `kind: ${host.kind}, which has no layers to cut between`;
    yield invalid([...path.slice(0, -1), "kind"], "an ONNX model, as accordion cuts models", found);
    return;
  }
  for (const [index, profile] of profiles.entries()) {
    const lack = pipelineLack(profile);
    if (lack === null) continue;
    const needed = "method accordion needs layers, or speedups with latencyMs of batch 1";
    const message = `${needed}, and ${profile.file} has ${lack} for ${show(profile.variant)}`;
    yield conflict(profiles.length === 1 ? path : [...path, index], message);
  }
}

/** Names what is there instead of the times of a pipeline; null where they are there. */
function pipelineLack({ layers, speedups, rows }: VariantProfile): string | null {
  if (layers !== null) return null;
  if (speedups === null) return "neither";
  return rows.some(({ batch }) => batch === 1) ? null : "speedups alone";
}
