/** All experiments, by the method whose page they print, and those of all methods together. */
import { accordion } from "./accordion/accordion.ts";
import { cluster } from "./cluster/cluster.ts";
import { edge } from "./edge/edge.ts";
import type { Experiment } from "./harness/experiment.ts";
import { inferline } from "./inferline/inferline.ts";
import { loki } from "./loki/loki.ts";
import { pace } from "./pace/pace.ts";
import { ramsis } from "./ramsis/ramsis.ts";
import { scale } from "./scale/scale.ts";
import { shares } from "./shares/shares.ts";
import { themis } from "./themis/themis.ts";
import { truth } from "./truth/truth.ts";

export const METHODS: Readonly<Record<string, readonly Experiment[]>> = {
  ramsis,
  loki,
  inferline,
  themis,
  accordion,
  pace: [pace],
  truth,
  edge,
  shares,
  cluster,
  scale,
};
