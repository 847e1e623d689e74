/** Accordion: models run as pipelines of layers, cut for any number of execution places. */
import type { AccordionBundle } from "../../bundle/schema.ts";
import type { RuntimeMethod } from "../method.ts";
import { readAccordionBundle } from "./bundle/fields.ts";
import { AccordionCommands } from "./core/commands.ts";
import { classOfPlaces } from "./core/pipeline-table.ts";
import { AccordionScheduler, type AccordionSchedulerOptions } from "./core/scheduler.ts";
import { placeDecision } from "./describe/decision.ts";
import { accordionDiffer, placesByName } from "./describe/diff.ts";
import { accordionSummary, levelTable, describeLevel } from "./describe/inspect.ts";
import { describeState } from "./describe/inspect-state.ts";
import {
  accordionLevels,
  accordionSections,
  accordionTasks,
  servingPlaces,
} from "./describe/reports.ts";
import { accordionModels } from "./serve/models.ts";
import { AccordionReplayer } from "./serve/replayer.ts";

export const accordion = {
  name: "accordion",
  read: readAccordionBundle,
  sections: accordionSections,
  taskReports: accordionTasks,
  levelReports: accordionLevels,
  levelTable,
  summary: accordionSummary,
  describeLevel: describeLevel,
  describeState: async (bundle, { text }) => describeState(bundle, text),
  decisions: () => ({
    stateCount: null,
    text: "each pipeline with times that match its stages",
  }),
  decide: placeDecision,
  core: (bundle: AccordionBundle, options: AccordionSchedulerOptions) => ({
    core: new AccordionScheduler(bundle, options),
    commands: new AccordionCommands(),
  }),
  replayer: (bundle, { maxPending: queryCapacity }) =>
    new AccordionReplayer(new AccordionScheduler(bundle, { queryCapacity })),
  diffFrame: ({ levels: _, ...frame }) => placesByName(frame),
  levelDiffer: accordionDiffer,
  models: accordionModels,
  workerCount: (bundle) => classOfPlaces(bundle).length,
  describeServing: servingPlaces,
  host: async (bundle, { workers, ...options }) => {
    const { accordionApplication } = await import("./serve/accordion-application.ts");
    const executorFactory = workers.start.bind(workers);
    return accordionApplication({ ...options, bundle, executorFactory });
  },
} satisfies RuntimeMethod<AccordionBundle>;
