/** Structure of an application spec. */
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

/** Most load levels of an application. */
export const MAX_LOADS = MAX_LEVELS;

const sloClass = mapping({
  name: className().describe("Name of the class in requests"),
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
      "2 to 16 classes of queries, each with its latency objective (ramsis); " +
        "queries without a class belong to the first",
    ),
  maxViolationRate: ratio().optional().describe("Largest share of late queries, in each class"),
  percentile: percentile()
    .prefault(99)
    .describe("Percentile for planners that bound a latency quantile"),
  p50: duration(MAX_MS)
    .optional()
    .describe("Largest median latency, such as 20 ms (ramsis); left out for no limit"),
  p95: duration(MAX_MS)
    .optional()
    .describe(
      "Largest 95th percentile of the latency, such as 50 ms (ramsis); left out for no limit",
    ),
}).meta({ anyOf: [{ required: ["latency"] }, { required: ["classes"] }] });

const arrivals = tagged("process", [
  mapping({ process: z.literal("poisson").describe("Process of the arrivals") }),
  mapping({
    process: z.literal("gamma"),
    cv2: positiveNumber(MIN_VARIATION, MAX_VARIATION).describe(
      "Squared coefficient of variation of inter-arrival times",
    ),
  }),
  mapping({
    process: z.literal("trace"),
    file: text("a file name").describe("File of arrivals or rates over time, relative to the spec"),
  }),
]).describe("Arrival process whose rates the loads are");

const loads = z
  .union(
    [
      list(rate(), "a list of rates", MAX_LOADS),
      mapping({
        from: rate().describe("Lowest level"),
        to: rate().describe("Highest level"),
        step: rate().optional().describe("Distance of the levels; the end is included"),
        maxAccuracyStep: positiveRatio()
          .optional()
          .describe(
            "Largest difference of expected accuracy between neighbouring levels, instead of step",
          ),
      }),
    ],
    { error: () => "a list of rates, or a mapping with from, to and step or maxAccuracyStep" },
  )
  .describe("Load levels in queries/s, ascending");

const day = text("a file name")
  .optional()
  .describe("File of arrivals or rates of a day whose cost compile reports, relative to the spec");

const pool = mapping({
  name: name().describe("Name of the pool"),
  hardware: name()
    .optional()
    .describe("Hardware of its workers, as the profiles name it; that of any profile if left out"),
  device: device()
    .optional()
    .describe("Device that runs its models, such as webgpu or cuda:0,1; CPUs when left out"),
  workers: workers()
    .optional()
    .describe(
      "Number of workers, or the URLs of v2 servers that are the workers; may be left out with a " +
        "device: one per index that it names",
    ),
  cores: count(MAX_CORES).optional().describe("Cores of one worker"),
  pricePerHour: amount(MAX_PRICE).optional().describe("Price of one worker"),
}).meta({ anyOf: [{ required: ["workers"] }, { required: ["device"] }] });

const cluster = mapping({
  workers: workers()
    .optional()
    .describe('Workers of a single pool named "default", or their URLs, instead of pools'),
  pools: list(pool, "a list of pools", MAX_POOLS).optional().describe("Pools of equal workers"),
  communicationLatency: z
    .union([z.literal("auto"), delay(MAX_HOP_MS)], {
      error: () => "auto, or a time of at least 0 with its unit such as 1 ms",
    })
    .prefault("auto")
    .describe("Latency per hop of a pipeline; auto uses the serving path of the profiles"),
});

const variant = mapping({
  name: name().describe("Name of the variant, unique in its task"),
  accuracy: ratio().optional().describe("Accuracy, 0 to 1; may be left out if the profile has it"),
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
    .describe(
      "Kind of the variant: an ONNX file (default), an ES module, or a model on another server",
    ),
  model: z
    .union(
      [
        text("a file name"),
        list(text("a file name"), "a list of ONNX files", MAX_PARTS + 1).min(2, {
          error: () => "a list of at least two ONNX files",
        }),
      ],
      { error: () => "a file name, or a list of at least two ONNX files that run in sequence" },
    )
    .optional()
    .describe(
      "ONNX file, relative to the spec, or a list of files that run in sequence in a " +
        "worker, each on the named outputs of those before it; for a module its path, such as " +
        "./crop.mjs, or a package, " +
        "such as stratagem-kit/decode-image; for another server the name of its model",
    ),
  options: options().optional().describe("Options of a module"),
  url: url()
    .optional()
    .describe("URL of another server with protocol v2, such as http://host:8000"),
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
  name: name().describe("Name of the task"),
  passThrough: flag()
    .default(false)
    .describe("True for a task that costs nothing and only fans out; has no variants"),
  variants: list(variant, "a list of variants", MAX_VARIANTS)
    .default([])
    .describe("Models that can do the task, in any order"),
  to: list(
    mapping({
      task: name().describe("Name of the next task"),
      share: ratio().prefault(1).describe("Share of the queries that take this edge"),
      inputs: record(name(), name(), "a mapping from inputs to outputs")
        .optional()
        .describe(
          "Output of this task for each input of the next, or input of this task that it passes " +
            "on, such as { image: image, boxes: boxes }; outputs of the same names when left out",
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
          "Joins the rows of one parent row: all of them, or groups of this many in their " +
            "order",
        ),
    }),
    "a list of edges",
    MAX_TASKS,
  )
    .default([])
    .describe("Tasks that follow this one"),
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

/** Application spec as users write it; parsing converts units and fills in every default. */
export const applicationSchema = mapping({
  version: z
    .literal(1, { error: () => "1, the only version of the format" })
    .describe("Version of the format"),
  application: name().describe("Name of the application"),
  slo,
  workload: mapping({ arrivals, loads, day }),
  cluster,
  tasks: list(task, "a list of tasks", MAX_TASKS).describe("A rooted DAG"),
  policy: policySchema,
  require: list(text(REQUIREMENT_FORM), "a list of requirements", 100)
    .optional()
    .describe(
      "Requirements on the promises, or compile exits with 3: feasible, violations <= ceiling, " +
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
