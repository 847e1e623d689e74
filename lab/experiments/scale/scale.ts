/** The experiments of docs/many-machines.md. */
import type { Experiment } from "../harness/experiment.ts";
import { broker } from "./broker.ts";
import { decisions } from "./decisions.ts";
import { frontEnd } from "./front-end.ts";
import { losses } from "./losses.ts";
import { zones } from "./zones.ts";

export const scale: readonly Experiment[] = [decisions, losses, frontEnd, broker, zones];
