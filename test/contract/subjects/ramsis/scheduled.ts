/** The scheduler of tables: of one queue per worker, one for all, classes, and buckets. */
import fc from "fast-check";
import { expect, vi } from "vitest";
import { ramsis } from "../../../../runtime/methods/ramsis/ramsis.ts";
import {
  record,
  servedTables,
  type TableKind,
  tableActions,
} from "../../../support/recorded-tables.ts";
import type { ScheduledSubject } from "../scheduled.ts";

export const ramsisScheduled: ScheduledSubject = {
  runs: 250,
  failures: ["cancelled", "no-worker", "queue-full", "worker-lost"],
  stories: fc
    .record({
      kind: fc.constantFrom<TableKind>("bound", "pooled", "classes", "buckets"),
      workers: fc.integer({ min: 1, max: 3 }),
      actions: tableActions,
    })
    .map(({ kind, workers, actions }) => ({
      async play(gone) {
        const bundle = servedTables(workers, kind);
        vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
        try {
          const { log, requests, scheduler } = await record(bundle, actions, gone);
          return {
            requests: requests.map(({ submission: { outcome }, bytes }) => ({
              outcome,
              checkOwn({ outputs }) {
                const parts = outputs[0]?.parts ?? [];
                expect(Buffer.concat([...parts]).equals(bytes)).toBe(true);
              },
            })),
            pendingCount: () => scheduler.pendingCount,
            log,
            replayer: () => ramsis.replayer(bundle),
            abort() {
              const rows = { rows: 1, inputs: [new Uint8Array(4)] };
              const { outcome } = scheduler.submit(rows, 1e9);
              scheduler.abort();
              return outcome;
            },
          };
        } finally {
          vi.useRealTimers();
        }
      },
    })),
};
