/** The profile of letters' models by batch, as `stratagem profile` measures and writes it. */
import { batchesOf, profiled } from "../applications.ts";
import type { Section, Teller } from "../section.ts";
import type { Settings } from "../settings.ts";

export const profile: Section = {
  name: "profile",
  title: "Profile of letters by batch: p50 / p95 in ms, and p50 per query",
  limitSeconds: 90,
  isOfValues: false,
  run: tellProfile,
};

async function tellProfile(settings: Settings, tell: Teller): Promise<void> {
  const variants = await profiled("letters", settings);
  tell.columns("model", "batch", "p50 ms", "p95 ms", "ms a query", "times batch 1");
  for (const [name, { latencyMs }] of Object.entries(variants)) {
    const alone = latencyMs["1"]?.p50 ?? Number.NaN;
    for (const batch of batchesOf(settings)) {
      const times = latencyMs[batch];
      if (times === undefined) continue;
      tell.row([
        name,
        batch,
        times.p50.toFixed(2),
        times.p95.toFixed(2),
        (times.p50 / batch).toFixed(3),
        (times.p50 / alone).toFixed(2),
      ]);
    }
  }
}
