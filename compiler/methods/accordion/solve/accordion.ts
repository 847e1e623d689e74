/**
 * Accordion: how each model is cut into a pipeline for any number of execution places, and the
 * resulting latency of queries. Source: Accordion §3.
 */
import { capacityQps } from "./capacity.ts";
import { accordionFrame } from "./frame.ts";
import { accordionMistakes, layerCountMistakes } from "./mistakes.ts";

export const accordion = {
  mistakes: accordionMistakes,
  layerCountMistakes,
  frame: accordionFrame,
  capacityQps,
};
