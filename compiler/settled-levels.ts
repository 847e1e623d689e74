/** Plans of neighbouring levels brought together: a change of level costs as few model loads as the optima allow. */
import type { LokiLevel, PipelinePlan } from "../runtime/bundle/schema.ts";
import type { SolvedLevel } from "./adaptive-levels.ts";

/** As the level that it is given, but with the plan among those as good that is the closest to the neighbour's. */
export type SettleLevel = (level: LokiLevel, neighbour: LokiLevel) => Promise<LokiLevel>;

/** From the lowest level up, each is settled against the one below; then every one says what changing to it costs. */
export async function settleLevels(
  solved: readonly SolvedLevel[],
  settle: SettleLevel,
): Promise<SolvedLevel[]> {
  const levels: LokiLevel[] = [];
  for (const { level } of solved) {
    const below = levels.at(-1);
    const own = level as LokiLevel;
    levels.push(below === undefined ? own : await settle(own, below));
  }
  return levels.map((level, index) => ({
    ms: solved[index]?.ms ?? 0,
    level: {
      ...level,
      transition: {
        modelLoadsFromBelow: loadsBetween(levels[index - 1], level),
        modelLoadsFromAbove: loadsBetween(levels[index + 1], level),
      },
    },
  }));
}

/** Servers of the second plan that hold another variant in the first, or none, when as many as can keep theirs. */
function loadsBetween(from: LokiLevel | undefined, to: LokiLevel): number | null {
  if (from === undefined) return null;
  const held = serversByVariant(from.plan);
  let loads = 0;
  for (const [variant, servers] of serversByVariant(to.plan)) {
    loads += Math.max(0, servers - (held.get(variant) ?? 0));
  }
  return loads;
}

function serversByVariant({ instances }: PipelinePlan): Map<string, number> {
  const servers = new Map<string, number>();
  for (const { task, variant, pool, replicas } of instances) {
    const key = `${pool} ${task} ${variant}`;
    servers.set(key, (servers.get(key) ?? 0) + replicas);
  }
  return servers;
}
