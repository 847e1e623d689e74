/** Buckets of a task: sizes that requests are padded to, for axes with a list of sizes. */
import { bucketNames } from "stratagem-runtime/internal/bundle/schema";
import type { Application, BucketProfile, Task, Variant } from "../spec/application.ts";
import type { KeyPath } from "../spec/document/document.ts";
import { conflict, invalid, type Mistake } from "../spec/document/mistakes.ts";
import { type ModelFiles, modelOf } from "./model-files.ts";

interface TaskBucket {
  /** Sizes joined by `x`. */
  readonly name: string;
  readonly sizes: readonly number[];
  /** Share of the load; shares sum to 1. */
  readonly share: number;
}

type BucketTask = Pick<Task, "variants" | "bucketShares">;

/**
 * Returns the buckets of a task, in the order of the product of the axes, if all variants were
 * measured in the same buckets, at least two, and the models accept them; otherwise null. Shares
 * are equal unless stated.
 */
export function bucketsOf({ variants, bucketShares }: BucketTask): readonly TaskBucket[] | null {
  const known = variants.map((variant) => measuredOf(variant));
  const [first = []] = known;
  if (first.length < 2 || known.some((other) => !areSame(first, other))) return null;
  return first.map(({ name, sizes }, index) => {
    return { name, sizes, share: bucketShares?.[index] ?? 1 / first.length };
  });
}

/** Yields mistakes that keep a task from using the buckets of its variants or its shares. */
export function* bucketMistakes(
  { variants, bucketShares }: BucketTask,
  path: KeyPath,
): Generator<Mistake> {
  const stateful = variants.findIndex(
    (variant) => variant.state !== undefined && hasSizes(variant),
  );
  if (stateful >= 0) {
    const message = "expected one size of each axis, since the model keeps state between requests";
    yield conflict([...path, "variants", stateful, "axes"], message);
    return;
  }
  const unmeasured = variants.findIndex((variant) => {
    const isUnmeasured = variant.profiles.some(({ buckets = [] }) => buckets.length === 0);
    return hasSizes(variant) && variant.model !== null && isUnmeasured;
  });
  if (unmeasured >= 0) {
    const name = variants[unmeasured]?.name;
    const message =
      `expected byBucket of "${name}", since its axes have lists of sizes, got none; ` +
      "measure it with stratagem profile";
    yield conflict([...path, "variants", unmeasured, "profile"], message);
    return;
  }
  const known = variants.map((variant) => measuredOf(variant));
  const most = known.reduce((all, one) => (one.length > all.length ? one : all), []);
  if (most.length < 2) {
    if (bucketShares === undefined) return;
    const message = "expected nothing, since no variant was measured in buckets, got shares";
    yield conflict([...path, "bucketShares"], message);
    return;
  }
  for (const [index, own] of known.entries()) {
    if (areSame(own, most)) continue;
    const found = own.length === 0 ? "none" : namesOf(own);
    const message =
      `expected times of the buckets ${namesOf(most)}, like other variants, got ${found}; ` +
      "measure it with stratagem profile";
    yield conflict([...path, "variants", index, "profile"], message);
    return;
  }
  if (bucketShares !== undefined && bucketShares.length !== most.length) {
    const expected = `${most.length} shares, one for each of ${namesOf(most)}`;
    yield invalid([...path, "bucketShares"], expected, String(bucketShares.length));
  }
}

/** Yields buckets that were measured but that the models of a task do not accept. */
export function* bucketModelMistakes(
  { tasks }: Pick<Application, "tasks">,
  models: ModelFiles,
): Generator<Mistake> {
  for (const [taskIndex, task] of tasks.entries()) {
    const buckets = bucketsOf(task);
    if (buckets === null) continue;
    for (const [index, variant] of task.variants.entries()) {
      const model = modelOf(models, variant);
      if (model === null) continue;
      const names = bucketNames(model.buckets);
      const measured = buckets.map(({ name }) => name);
      if (names.join() === measured.join()) continue;
      const path = ["tasks", taskIndex, "variants", index, "profile"];
      const message =
        `expected times of the buckets ${names.join(", ")}, got ${measured.join(", ")}; ` +
        "measure it again with stratagem profile";
      yield conflict(path, message);
    }
  }
}

/** Returns whether an axis has a list of sizes. */
export function hasSizes({ binding }: Pick<Variant, "binding">): boolean {
  return Object.values(binding?.axes ?? {}).some((use) => typeof use === "object");
}

/**
 * Returns the measured buckets; none for a model whose axes have one size each, which checks of all
 * inputs cover.
 */
function measuredOf(variant: Variant): readonly BucketProfile[] {
  const isAsked = variant.model === null || hasSizes(variant);
  return isAsked ? (variant.profile.buckets ?? []) : [];
}

function areSame(some: readonly BucketProfile[], others: readonly BucketProfile[]): boolean {
  return some.length === others.length && some.every(({ name }, at) => name === others[at]?.name);
}

function namesOf(buckets: readonly BucketProfile[]): string {
  return buckets.map(({ name }) => name).join(", ");
}
