/** States the structure of an application spec. */
import {
  MAX_BUCKETS,
  MAX_CORES,
  MAX_FANOUT,
  MAX_HOP_MS,
  MAX_LEVELS,
  MAX_MS,
  MAX_PARTS,
  MAX_POOLS,
  MAX_PRICE,
  MAX_TASKS,
  MAX_VARIANTS,
  MAX_VARIATION,
  MAX_WINDOW,
  MIN_VARIATION,
} from "stratagem-runtime/internal/bundle/limits";
import * as z from "zod";
import {
  amount,
  choice,
  className,
  count,
  delay,
  device,
  duration,
  flag,
  list,
  mapping,
  name,
  options,
  percentile,
  positiveNumber,
  positiveRatio,
  properShare,
  rate,
  ratio,
  record,
  tagged,
  text,
  url,
  workers,
} from "../document/fields.ts";
import { bindingFields } from "./binding-schema.ts";
import { policySchema } from "./policy-schema.ts";
import { REQUIREMENT_FORM } from "./requirement.ts";

/** Most load levels one application may ask for. */
export const MAX_LOADS = MAX_LEVELS;

const sloClass = mapping({
  name: className().describe("What requests name it by"),
  latency: duration(MAX_MS).describe(
    "Latency objective of the class with its unit, such as 150 ms",
  ),
  share: properShare().describe("Share of the load, such as 70%; all of them sum to 100%"),
});

const slo = mapping({
  latency: duration(MAX_MS)
    .optional()
    .describe("Latency objective with its unit, such as 150 ms; either this or classes"),
  classes: list(sloClass, "a list of classes", 100)
    .optional()
    .describe(
      "2 to 16 classes of queries with a latency objective each (ramsis); " +
        "a query that names none is of the first",
    ),
  maxViolationRate: ratio()
    .optional()
    .describe("Highest share of queries that may miss it, of each class"),
  percentile: percentile()
    .prefault(99)
    .describe("Percentile for planners that bound a latency quantile"),
  p50: duration(MAX_MS)
    .optional()
    .describe("Highest median latency, such as 20 ms (ramsis); left out for none"),
  p95: duration(MAX_MS)
    .optional()
    .describe("Highest 95th percentile of the latency, such as 50 ms (ramsis); left out for none"),
}).meta({ anyOf: [{ required: ["latency"] }, { required: ["classes"] }] });

const arrivals = tagged("process", [
  mapping({ process: z.literal("poisson") }),
  mapping({
    process: z.literal("gamma"),
    cv2: positiveNumber(MIN_VARIATION, MAX_VARIATION).describe(
      "Squared coefficient of variation of inter-arrival times",
    ),
  }),
  mapping({
    process: z.literal("trace"),
    file: text("a file name").describe("Arrivals or rates over time, relative to the spec"),
  }),
]).describe("Arrival process that loads are rates of");

const loads = z
  .union(
    [
      list(rate(), "a list of rates", MAX_LOADS),
      mapping({
        from: rate(),
        to: rate(),
        step: rate().optional().describe("Distance of the levels; the end is included"),
        maxAccuracyStep: positiveRatio()
          .optional()
          .describe("Largest difference of expected accuracy between neighbours, instead of step"),
      }),
    ],
    { error: () => "a list of rates, or a mapping with from, to and step or maxAccuracyStep" },
  )
  .describe("Load levels in queries/s, ascending");

const day = text("a file name")
  .optional()
  .describe("Arrivals or rates of a day that compile says the cost of, relative to the spec");

const pool = mapping({
  name: name(),
  hardware: name().optional(),
  device: device()
    .optional()
    .describe("What runs its models, such as webgpu or cuda:0,1; processors when left out"),
  workers: workers()
    .optional()
    .describe(
      "How many, or the URLs of v2 servers that are the workers; may be left out beside a " +
        "device: as many as it names, else 1",
    ),
  cores: count(MAX_CORES).optional().describe("Cores of one worker"),
  pricePerHour: amount(MAX_PRICE).optional().describe("Price of one worker"),
}).meta({ anyOf: [{ required: ["workers"] }, { required: ["device"] }] });

const cluster = mapping({
  workers: workers()
    .optional()
    .describe('Workers of a single pool named "default", or their URLs, instead of pools'),
  pools: list(pool, "a list of pools", MAX_POOLS).optional(),
  communicationLatency: z
    .union([z.literal("auto"), delay(MAX_HOP_MS)], {
      error: () => "auto, or a time of at least 0 with its unit such as 1 ms",
    })
    .prefault("auto")
    .describe("Per hop of a pipeline; auto plans with the serving path of the profiles"),
});

const variant = mapping({
  name: name(),
  accuracy: ratio().optional().describe("May be left out when the profile has it"),
  profile: z
    .union(
      [text("<file>#<variant>"), list(text("<file>#<variant>"), "a list of <file>#<variant>", 64)],
      {
        error: () => "<file>#<variant>, or a list of them, one per hardware",
      },
    )
    .describe(
      "<file>#<variant>, relative to the spec; a list of them, one per hardware or device of the " +
        "pools",
    ),
  kind: choice("onnx", "module", "remote")
    .optional()
    .describe("What it is: an ONNX file, the default, an ES module, or a model of another server"),
  model: z
    .union(
      [
        text("a file name"),
        list(text("a file name"), "a list of ONNX files", MAX_PARTS + 1).min(2, {
          error: () => "a list of at least two ONNX files",
        }),
      ],
      { error: () => "a file name, or a list of ONNX files that run in a row, at least two" },
    )
    .optional()
    .describe(
      "ONNX file, relative to the spec, or a list of them that run one after the other in a " +
        "worker, each on what those before it give by name; of a module its path, such as " +
        "./crop.mjs, or what a " +
        "package has, such as stratagem-kit/decode-image; of another server its model",
    ),
  options: options().optional().describe("What a module is opened with"),
  url: url().optional().describe("Another server of the protocol v2, such as http://host:8000"),
  ...bindingFields,
  fanout: z
    .union(
      [
        amount(MAX_FANOUT),
        record(name(), amount(MAX_FANOUT), "a mapping from child tasks to numbers"),
      ],
      {
        error: () => "a number of at least 0, or a mapping from child tasks to such numbers",
      },
    )
    .optional()
    .describe("Mean queries sent downstream per query served: to every child, or per child task"),
});

const task = mapping({
  name: name(),
  passThrough: flag().default(false).describe("Costs nothing and only fans out; has no variants"),
  variants: list(variant, "a list of variants", MAX_VARIANTS).default([]),
  to: list(
    mapping({
      task: name(),
      share: ratio().prefault(1).describe("Share of the queries that take this edge"),
      inputs: record(name(), name(), "a mapping from inputs to outputs")
        .optional()
        .describe(
          "Which output of this task is which input of the next; of the same name when left out",
        ),
      count: name()
        .optional()
        .describe(
          "Output of this task with the number of rows sent on for each of its rows; " +
            "one each when left out",
        ),
      gather: z
        .union([choice("all"), count(MAX_WINDOW)], {
          error: () => `all, or a whole number of rows from 1 to ${MAX_WINDOW}`,
        })
        .optional()
        .describe(
          "Joins the rows that were made of one: all of them to one, or each so many in their " +
            "order",
        ),
    }),
    "a list of edges",
    MAX_TASKS,
  )
    .default([])
    .describe("Tasks that come after this one"),
  bucketShares: list(properShare(), "a list of shares", MAX_BUCKETS)
    .optional()
    .describe(
      "Share of the load of each bucket, such as [50%, 30%, 20%], in the order of the sizes, " +
        "the first axis slowest; equal when left out (ramsis)",
    ),
  branch: choice("independent", "exclusive")
    .default("independent")
    .describe("Whether a query may take several of the edges, or at most one"),
});

/**
 * An application spec as users write it; parsing brings it into one unit system and fills in every
 * default.
 */
export const applicationSchema = mapping({
  version: z.literal(1, { error: () => "1, the only version of the format" }),
  application: name().describe("Name of the application"),
  slo,
  workload: mapping({ arrivals, loads, day }),
  cluster,
  tasks: list(task, "a list of tasks", MAX_TASKS).describe("A rooted DAG"),
  policy: policySchema,
  require: list(text(REQUIREMENT_FORM), "a list of requirements", 100)
    .optional()
    .describe(
      "What the promises have to be, or compile ends with 3: feasible, violations <= ceiling, " +
        "accuracy >= 97% @ 1000",
    ),
});

export type ApplicationSpec = z.output<typeof applicationSchema>;
export type TaskSpec = ApplicationSpec["tasks"][number];
export type LoadsSpec = ApplicationSpec["workload"]["loads"];

/** JSON Schema (draft 2020-12) of application specs, for editors. */
export function applicationJsonSchema(): object {
  return z.toJSONSchema(applicationSchema, { io: "input" });
}
