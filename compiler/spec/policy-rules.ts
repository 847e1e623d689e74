/** Interface of a method's rules for its policy in a spec. */
import type { MethodName, Policy, PolicyOf, Slo, Task, Variant } from "./application.ts";
import type { KeyPath } from "./document/document.ts";
import { conflict, type Mistake, show } from "./document/mistakes.ts";
import type { ApplicationSpec, TaskSpec } from "./schema/application-schema.ts";
import type { MeasuredStarts } from "./start-times.ts";

type PolicySpec = ApplicationSpec["policy"];
export type PolicySpecOf<M extends MethodName> = Extract<PolicySpec, { readonly method: M }>;
export type PolicyRulesOf<M extends MethodName> = PolicyRules<PolicySpecOf<M>, PolicyOf<M>>;

/** @typeParam S the policy as it is written. @typeParam P the compiler's form. */
export interface PolicyRules<S extends PolicySpec = PolicySpec, P extends Policy = Policy> {
  /** Finds conflicts with the tasks of the spec, whose pipeline is valid. */
  taskMistakes?(policy: S, tasks: readonly TaskSpec[]): Iterable<Mistake>;
  /** Resolves the policy of a valid spec. @param sloMs the longest of all classes. */
  resolve(policy: S, tasks: readonly TaskSpec[], starts: MeasuredStarts, sloMs: number): P;
  /**
   * Finds missing measurements of a variant.
   * @param variant with the profile to check. @param path of the key that names it.
   */
  measurementMistakes(variant: Variant, path: KeyPath): Iterable<Mistake>;
  /** Compares the measurements of a task with the SLO, if one task suffices for that. */
  sloMistakes?(task: Task, slo: Slo): Iterable<Mistake>;
  /**
   * Whether rows may be padded to one of several sizes: by tables for each size, or with plans for
   * the largest, whatever the share of each; default no.
   */
  readonly sizes?: "tables" | "largest";
  /** True if targets of latency percentiles are supported; default false. */
  readonly latencyTargets?: boolean;
  /** Left out by methods with one SLO for all requests. */
  readonly classes?: ClassRules<S>;
}

/** Rules for request classes with their own SLOs. */
interface ClassRules<S extends PolicySpec> {
  /** Returns the policy's class option; undefined if not set. */
  asked(policy: S): string | undefined;
  /** Finds options that are incompatible with classes. */
  mistakes(policy: S): Iterable<Mistake>;
}

/** Measurements of methods that need one latency for each batch. */
export function* rowMistakes(
  method: MethodName,
  { profile }: Variant,
  path: KeyPath,
): Generator<Mistake> {
  if (profile.rows.length > 0) return;
  const found = `${profile.file} has none for ${show(profile.variant)}`;
  yield conflict(path, `method ${method} needs latencyMs, but ${found}`);
}
