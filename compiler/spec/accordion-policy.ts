/** Policy of method accordion in a spec. */
import type { AccordionPolicy, Variant, VariantProfile } from "./application.ts";
import type { KeyPath } from "./document/document.ts";
import { conflict, invalid, type Mistake, show } from "./document/mistakes.ts";
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

/** @param path of the key that names the profile. */
function* pipelineTimeMistakes(
  { profile, host, binding }: Variant,
  path: KeyPath,
): Generator<Mistake> {
  const at = path.slice(0, path.lastIndexOf("profile"));
  if (host !== undefined) {
    const found = `kind: ${host.kind}, which has no layers`;
    yield invalid([...at, "kind"], "an ONNX model, since accordion cuts models", found);
    return;
  }
  if (binding !== undefined) {
    const message =
      "accordion cuts models as they are in their files; expected no axes, padding, inputs, " +
      "outputs, constants or resize";
    yield conflict(at, message);
    return;
  }
  const lack = pipelineLack(profile);
  if (lack === null) return;
  const needed = "method accordion needs layers, or speedups with latencyMs of batch 1";
  const message = `${needed}, but ${profile.file} has ${lack} for ${show(profile.variant)}`;
  yield conflict(path, message);
}

/** Describes which pipeline times are missing; null if they are complete. */
function pipelineLack({ layers, speedups, rows }: VariantProfile): string | null {
  if (layers !== null) return null;
  if (speedups === null) return "neither";
  return rows.some(({ batch }) => batch === 1) ? null : "speedups alone";
}
