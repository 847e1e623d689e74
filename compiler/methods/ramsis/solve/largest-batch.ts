/** Largest batch of a variant. */
import { type ModelFiles, modelOf } from "../../../model/model-files.ts";
import type { Application, RamsisPolicy } from "../../../spec/application.ts";

type RamsisApplication = Application<RamsisPolicy>;
type SpecVariant = RamsisApplication["tasks"][number]["variants"][number];

/**
 * The largest batch of a variant: limited by `maxQueue`, by its profile in every bucket (unless it
 * may be extrapolated) and by its model. The paper's own objective takes one query more, those of a
 * full queue.
 */
export function largestBatch(
  { policy }: RamsisApplication,
  variant: SpecVariant,
  models: ModelFiles,
): number {
  const asked = policy.maxQueue + (isPapers(policy) ? 1 : 0);
  const { profile } = variant;
  const measured = [profile.rows, ...(profile.buckets ?? []).map(({ rows }) => rows)];
  const profiled = Math.min(...measured.map((rows) => rows.at(-1)?.batch ?? 1));
  const inputs = modelOf(models, variant)?.inputs ?? [];
  const taken = inputs.map(({ shape }) => (typeof shape[0] === "number" ? shape[0] : asked));
  return Math.min(
    asked,
    policy.extrapolate ? asked : profiled,
    ...taken.filter((rows) => rows > 0),
  );
}

function isPapers({ objective, balancer }: Pick<RamsisPolicy, "objective" | "balancer">): boolean {
  return objective === "per-decision" && balancer !== "pooled";
}
