/** What the policy of a method asks of the rest of its spec, and what the compiler makes of it. */
import type { MethodName, Policy, PolicyOf, Slo, Task, Variant } from "./application.ts";
import type { KeyPath } from "./document/document.ts";
import { conflict, type Mistake, show } from "./document/mistakes.ts";
import type { ApplicationSpec, TaskSpec } from "./schema/application-schema.ts";
import type { MeasuredStarts } from "./start-times.ts";

type PolicySpec = ApplicationSpec["policy"];
export type PolicySpecOf<M extends MethodName> = Extract<PolicySpec, { readonly method: M }>;
export type PolicyRulesOf<M extends MethodName> = PolicyRules<PolicySpecOf<M>, PolicyOf<M>>;

/** @typeParam S the policy as it is written. @typeParam P what the compiler makes of it. */
export interface PolicyRules<S extends PolicySpec = PolicySpec, P extends Policy = Policy> {
  /** What does not fit the tasks of the spec, whose pipeline is sound. */
  taskMistakes?(policy: S, tasks: readonly TaskSpec[]): Iterable<Mistake>;
  /** The policy of a spec without mistakes. @param sloMs the longest of all classes. */
  resolve(policy: S, tasks: readonly TaskSpec[], starts: MeasuredStarts, sloMs: number): P;
  /**
   * What was not measured of a variant and is needed.
   * @param variant with the profile in question. @param path of what names it.
   */
  measurementMistakes(variant: Variant, path: KeyPath): Iterable<Mistake>;
  /** What the measurements of a task say against the SLO, where that can be said of one task. */
  sloMistakes?(task: Task, slo: Slo): Iterable<Mistake>;
  /** Whether requests may be padded up to one of several sizes; false if left out. */
  readonly buckets?: boolean;
  /** Whether targets of latency percentiles are kept; false if left out. */
  readonly latencyTargets?: boolean;
  /** Left out by methods that have one SLO for all requests. */
  readonly classes?: ClassRules<S>;
}

/** How classes of requests with SLOs of their own are asked for. */
interface ClassRules<S extends PolicySpec> {
  /** What the policy says of classes; undefined for nothing. */
  asked(policy: S): string | undefined;
  /** What in the policy keeps classes from being served. */
  mistakes(policy: S): Iterable<Mistake>;
}

/** The measurements of methods that take one latency for each batch. */
export function* rowMistakes(
  method: MethodName,
  { profile }: Variant,
  path: KeyPath,
): Generator<Mistake> {
  if (profile.rows.length > 0) return;
  const found = `${profile.file} has none for ${show(profile.variant)}`;
  yield conflict(path, `method ${method} needs latencyMs, and ${found}`);
}
