import { test } from "vitest";
import { servedBundle } from "../support/served-application.ts";
for (const m of ["loki","accordion","inferline","themis"] as const) for (const machine of [{}, {hops:"0 ms"}]) test(m+JSON.stringify(machine), async () => {
  const t=performance.now();
  const b = await servedBundle(m, machine);
  console.log(m, JSON.stringify(machine), JSON.stringify({margin: b.cluster.serving?.marginMs, stretch:b.cluster.serving?.stretch}), Math.round(performance.now()-t)+"ms",
   b.levels.map((l:any)=>`${l.loadQps} f=${l.feasible} cap=${l.capacityQps.toFixed(0)} v=${((l.expected??l.steady.expected).violationRate*100).toFixed(2)}% p50=${(l.expected??l.steady.expected).latencyMsP50.toFixed(1)} p99=${(l.expected??l.steady.expected).latencyMsP99.toFixed(1)} acc=${(l.expected?.accuracyPerQuery??0).toFixed(3)} n=${l.plan?.servers ?? l.plan?.stages?.map((s:any)=>s.replicas+"x"+s.batch) ?? l.steady?.stages.map((s:any)=>s.cores+"c"+s.instances+"x"+s.batch)}`).join(" | "));
}, 200000);
