/** `inspect BUNDLE --level QPS` for tables: the variant of each state. */
import type { ExpectedLatency, RamsisBundle, RamsisLevel } from "../../../bundle/schema.ts";
import { levelAt } from "../../../core/level-choice.ts";
import { letterAt, positionsOf } from "../../../describe/letters.ts";
import { missedTexts } from "../../../describe/missed-limits.ts";
import { promiseByPace } from "../../../describe/paces.ts";
import { explainedTable, percent, promisedViolations, short } from "../../../describe/text.ts";
import type { Description } from "../../method.ts";
import { classViews, decidingTable } from "./class-level-view.ts";
import { ramsisMissed } from "./missed.ts";
import { mapPolicy, type PolicyMap } from "./policy-map.ts";

/** A map of this many rows and columns fits a terminal. */
const MAP_SIZE = [40, 20] as const;
const WAIT = -1;

/** Returns the map of a level, or of each class or bucket with a table of its own. */
export function tableMap(bundle: RamsisBundle, index: number): Description {
  const level = levelAt(bundle.levels, index);
  const { loadQps } = level;
  const promise = promiseText(bundle, level);
  const isPadded = bundle.buckets !== undefined;
  const kinds = isPadded || level.classTables !== undefined ? classViews(bundle, level) : [];
  const own = kinds.map(({ name, workers }) => {
    const asked = isPadded ? { bucket: name } : { sloClass: name };
    const table = decidingTable(bundle, index, asked);
    const map = mapPolicy(table.bundle, table.level, MAP_SIZE);
    return { name, ...(isPadded ? {} : { workers }), map };
  });
  const texts = own.map(({ name, workers, map }) => {
    const whose = isPadded ? `bucket ${name}` : `class ${name} on ${workers} of the workers`;
    return mapText(bundle, { loadQps, map }, `, ${whose}`);
  });
  if (isPadded) {
    return { text: [promise, ...texts].join("\n\n"), json: { index, loadQps, buckets: own } };
  }
  const map = mapPolicy(bundle, index, MAP_SIZE);
  const all = mapText(bundle, { loadQps, map });
  if (own.length === 0) return { text: `${promise}\n\n${all}`, json: { index, loadQps, map } };
  const note = "while a class exceeds its share, one queue is used:";
  return {
    text: [promise, ...texts, `${note}\n${all}`].join("\n\n"),
    json: { index, loadQps, map, classes: own },
  };
}

/** Describes the promises of the level, and the limits that it misses. */
function promiseText(bundle: RamsisBundle, level: RamsisLevel): string {
  const { accuracyPerQuery, latencyMs, ...expected } = level.expected;
  const missed = ramsisMissed(bundle, level);
  const promised = `accuracy per query ${percent(accuracyPerQuery)}`;
  const lines = [
    `level ${short(level.loadQps)} qps promises: ${promised}, ` +
      `violations ${promisedViolations(expected)}${latencyMs ? `, ${latencyText(latencyMs)}` : ""}`,
    ...(level.feasible ? [] : [`not feasible: ${missedTexts(missed)}`]),
    ...promiseByPace(level.expected),
  ];
  return lines.join("\n");
}

function latencyText({ p50, p99, max }: ExpectedLatency): string {
  const [median, most99, most] = [p50, p99, max].map((ms) => ms.toFixed(1));
  return `p50 ${median} ms, p99 ${most99} ms, at most ${most} ms`;
}

function mapText(
  bundle: RamsisBundle,
  { loadQps, map }: { loadQps: number; map: PolicyMap },
  whose = "",
): string {
  const variants = bundle.tasks.flatMap((task) => task.variants);
  const positions = positionsOf(variants);
  const signOf = (variant: number): string => {
    if (variant < 0) return variant === WAIT ? "." : "!";
    return letterAt(positions[variant] ?? 0);
  };
  const used = [...new Set(map.variantByState.flat())];
  const legend = used
    .sort((a, b) => (positions[a] ?? a) - (positions[b] ?? b))
    .map((variant) => `${signOf(variant)} ${variants[variant]?.name ?? otherwise(variant)}`);
  const width = Math.max(...used.map((variant) => signOf(variant).length));
  const first = short(map.slackMs[0] ?? 0);
  const last = short(map.slackMs[map.slackMs.length - 1] ?? 0);
  return [
    `level ${short(loadQps)} qps${whose}: variant by queries queued (rows) ` +
      `and slack, ${first} to ${last} ms (columns)`,
    ...legend,
    "",
    explainedTable([
      ["queued", "slack →"],
      ...map.variantByState.map((row, index) => [
        String(map.queued[index]),
        row.map((variant) => signOf(variant).padEnd(width)).join(" "),
      ]),
    ]),
  ].join("\n");
}

function otherwise(variant: number): string {
  return variant === WAIT ? "wait" : "give the earliest query up";
}
