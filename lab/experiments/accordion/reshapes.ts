/** Changes of the places of running queries, as a recorded server tells them. */
import type { AccordionBundle } from "stratagem-runtime/internal/bundle/schema";
import { ascending, ms, present, quantile } from "../harness/numbers.ts";
import type { Page } from "../harness/page.ts";

/** With the time of the event, or of that which a command answers. */
export type PlaceEntry = { readonly nowMs: number; readonly query: number } & (
  | {
      readonly kind: "query";
      readonly model: number;
      readonly batch: number;
      readonly isHigh: boolean;
    }
  | {
      readonly kind: "start" | "reshape";
      readonly shape: number;
      readonly resumeAt: number;
      readonly places: readonly number[];
    }
  | { readonly kind: "instance-done" }
);

interface OpenQuery {
  readonly model: number;
  readonly text: string;
  places: number;
  shape: number;
  /** Since when it has other places, NaN once an instance is done on them. */
  sinceMs: number;
}

/** @param shiftMs of our zero on the server's clock. */
export function reportReshapes(
  page: Page,
  bundle: AccordionBundle,
  log: readonly PlaceEntry[],
  shiftMs: number,
): void {
  const { variants } = present(bundle.tasks[0]);
  const open = new Map<number, OpenQuery>();
  const counts = { start: 0, shrink: 0, grow: 0, move: 0 };
  const tookMs: number[] = [];
  let number = 0;
  page.say("changes of the places of running queries:");
  for (const entry of log) {
    if (entry.kind === "query") {
      const { model, batch, isHigh } = entry;
      const text =
        `query ${number++} (${variants[model]?.name}, ${batch} instances, ` +
        `${isHigh ? "high" : "low"})`;
      open.set(entry.query, { model, text, places: 0, shape: 0, sinceMs: Number.NaN });
      continue;
    }
    const query = present(open.get(entry.query), "a query");
    if (entry.kind === "start") {
      counts.start++;
      query.places = entry.places.length;
    } else if (entry.kind === "reshape") {
      counts[changeOf(query.places, entry.places.length)]++;
      const change =
        `${query.places} -> ${entry.places.length} places, ` +
        `goes on at instance ${entry.resumeAt}`;
      page.say(`  ${secondsText(entry.nowMs - shiftMs)}: ${query.text} ${change}`);
      query.places = entry.places.length;
      query.sinceMs = entry.nowMs;
      query.shape = entry.shape;
    } else if (!Number.isNaN(query.sinceMs)) {
      const aloneMs = instanceMs(bundle, query);
      tookMs.push(entry.nowMs - query.sinceMs - aloneMs);
      query.sinceMs = Number.NaN;
    }
  }
  const { start, shrink, grow, move } = counts;
  page.say(`${start} starts, ${shrink} shrinks, ${grow} growths, ${move} others`);
  if (tookMs.length === 0) return;
  const took = ascending(tookMs);
  page.say(
    "after a change the next instance took longer than on those places from a start by " +
      `${ms(quantile(took, 0.5))} median, ${ms(quantile(took, 0.99))} p99; ` +
      `the policy counts with ${ms(bundle.policy.reconfigurationMs)}`,
  );
}

function changeOf(before: number, after: number): "move" | "shrink" | "grow" {
  if (after === before) return "move";
  return after < before ? "shrink" : "grow";
}

function instanceMs({ tasks, policy }: AccordionBundle, { model, shape }: OpenQuery): number {
  const { latencyMs } = present(tasks[0]?.variants[model]);
  return latencyMs.data[shape * policy.maxBatch] ?? Number.NaN;
}

function secondsText(atMs: number): string {
  return `${(atMs / 1000).toFixed(2).padStart(7)} s`;
}
