/** Texts about the schedulers of malleable pipelines. */
import type { SchedulerName } from "../../../bundle/schema.ts";

export const SCHEDULER_WORDS: Readonly<Record<SchedulerName, string>> = {
  accordion: "as many places as are free and help; running queries give up what they can spare",
  "slo-conforming": "the fewest places that meet the SLO, kept to the end",
  fastest: "the places that are fastest, kept to the end",
  bbs: "as slo-conforming, but behind a running query of the same model where that meets the SLO",
  "one-stage": "one place for every query",
};
