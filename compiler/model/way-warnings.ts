/** Warnings of `compile` about workers on other machines whose hops plans do not fully count. */
import type { Application } from "../spec/application.ts";

const ADVICE = "measure the models through the workers (profile --workers)";

/**
 * @param countsStated whether the method's plans keep a worker busy for the stated time of the hop,
 * and not only until its answer.
 */
export function wayWarnings(
  { cluster, tasks }: Pick<Application, "cluster" | "tasks">,
  countsStated: boolean,
): string[] {
  const elsewhere = cluster.pools.filter(({ urls }) => urls !== undefined);
  const isMeasured = tasks.every(({ variants }) =>
    variants.every(({ profiles }) => profiles.some(({ includesWay }) => includesWay === true)),
  );
  if (elsewhere.length === 0 || isMeasured) return [];
  const names = elsewhere.map(({ name }) => name).join(", ");
  const where = `${elsewhere.length === 1 ? "pool" : "pools"} ${names}: workers are elsewhere`;
  const hopMs = cluster.communicationLatencyMs;
  if (hopMs === 0) return [`${where}, and plans have nothing for the way to them; ${ADVICE}`];
  if (countsStated) return [];
  return [
    `${where} and taken for the ${hopMs} ms of each batch's way too, which plans do not count; ` +
      ADVICE,
  ];
}
