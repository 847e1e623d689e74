/** Two bundles of which one looks on while the other serves: what they have to have in common. */
import { isOfSameMethod } from "../../bundle/same-method.ts";
import type { Bundle } from "../../bundle/schema.ts";
import { decisionSloMs } from "../../core/decision-slo.ts";
import { ANY_VARIANT } from "../../core/wanted-variant.ts";
import type { CountedVariant } from "./policy-counts.ts";

/** A bundle and the file that it was. */
export interface ComparedBundle {
  readonly path: string;
  readonly sha256: string;
  readonly bundle: Bundle;
}

/** Why one cannot look on while another serves; null where it can. */
export function onlookerRefusal(served: Bundle, shadow: Bundle): string | null {
  const { method } = shadow;
  if (!isOfSameMethod(served, shadow)) {
    const found = `got one of ${method}, whose arrivals are others`;
    return `expected a bundle of method ${served.method}, as the one that serves; ${found}`;
  }
  const [expected] = partsOf(served).flatMap(([what, text], part) => {
    const own = partsOf(shadow)[part]?.[1] ?? "";
    return own === text
      ? []
      : `expected the ${what} of the bundle that serves, ${text}; got ${own}`;
  });
  return expected ?? null;
}

/** What requests say that both have to understand alike. */
function partsOf(bundle: Bundle): readonly (readonly [what: string, text: string])[] {
  const { slo, tasks } = bundle;
  const buckets = "buckets" in bundle ? bundle.buckets : undefined;
  return [
    ["tasks", listed(tasks.map((task) => `${task.name}${parentsText(task)}`))],
    ["classes", listed(slo.classes?.map(({ name }) => name))],
    ["buckets", listed(buckets?.map(({ name }) => name))],
  ];
}

/** From which tasks rows come to one. */
function parentsText(task: Bundle["tasks"][number]): string {
  const edges = "edges" in task ? task.edges.map(({ parent }) => parent) : [];
  const parents = "parent" in task ? [task.parent] : edges;
  return parents.length === 0 ? "" : ` after ${parents.map((one) => one ?? "requests").join("+")}`;
}

function listed(names: readonly string[] | undefined): string {
  return names === undefined ? "none" : names.join(", ");
}

/** In the order of the indices that commands have. */
export function countedVariants({ tasks }: Bundle): CountedVariant[] {
  return tasks.flatMap(({ name, variants }) =>
    variants.map(({ name: variant, accuracy }) => ({
      task: tasks.length > 1 ? name : undefined,
      variant,
      accuracy,
    })),
  );
}

/** How much longer than with one bundle decisions may take with another, ms, by class. */
export function deadlineShiftMs(served: Bundle, shadow: Bundle): (sloClass: number) => number {
  return (sloClass) => decisionMs(shadow, sloClass) - decisionMs(served, sloClass);
}

function decisionMs({ cluster, slo }: Bundle, sloClass: number): number {
  return decisionSloMs(cluster, slo.classes?.[sloClass]?.latencyMs ?? slo.latencyMs);
}

/** Where a variant of one bundle is in another, by its name; ANY_VARIANT where it is not. */
export function variantIn(served: Bundle, shadow: Bundle): (variant: number) => number {
  const here = countedVariants(shadow);
  const places = countedVariants(served).map(({ task, variant }) => {
    const place = here.findIndex((one) => one.task === task && one.variant === variant);
    return place < 0 ? ANY_VARIANT : place;
  });
  return (variant) => places[variant] ?? ANY_VARIANT;
}

/** Whether worker i of one is in the place of worker i of the other. */
export function haveSameWorkers(served: Bundle, shadow: Bundle): boolean {
  const [own, other] = [served, shadow].map(({ cluster }) =>
    cluster.pools.map(({ workers }) => workers),
  );
  return own?.join() === other?.join();
}
