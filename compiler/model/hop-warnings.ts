/** Warnings of `compile` about workers on other machines whose hops plans do not fully count. */
import type { Application } from "../spec/application.ts";

const ADVICE = "measure the models through the workers (profile --workers)";

/**
 * @param countsStated whether the method's plans keep a worker busy for the stated time of the hop,
 * and not only until its answer.
 */
export function hopWarnings(
  { cluster, tasks }: Pick<Application, "cluster" | "tasks">,
  countsStated: boolean,
): string[] {
  const elsewhere = cluster.pools.filter(({ urls }) => urls !== undefined);
  const isMeasured = tasks.every(({ variants }) =>
    variants.every(({ profiles }) => profiles.some(({ includesWay }) => includesWay === true)),
  );
  if (elsewhere.length === 0 || isMeasured) return [];
  const names = elsewhere.map(({ name }) => name).join(", ");
  const where =
    `${elsewhere.length === 1 ? "pool" : "pools"} ${names}: workers are on other ` + `machines`;
  const hopMs = cluster.communicationLatencyMs;
  if (hopMs === 0) return [`${where}, and plans do not count the hop to them; ${ADVICE}`];
  if (countsStated) return [];
  return [
    `${where} and busy during the hop of each batch, ${hopMs} ms, which plans do not count; ` +
      ADVICE,
  ];
}
