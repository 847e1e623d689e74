/** Entry of the process that reads and probes models, one after the other until its end closes. */
import { assert } from "../../core/assert.ts";
import { type HostSource, probeHost, readHost, sampleHost } from "../modules/host-source.ts";
import { describeModel } from "../onnx/model-file.ts";
import {
  type ProbedTensor,
  type ProbeInput,
  probeModelFile,
  probeTensors,
} from "../tensors/probe-tensors.ts";
import { BlockingChannel } from "./blocking-channel.ts";
import { reportHowItEnds } from "./module-ends.ts";
import { decodeRun, decodeText, FRAME_KINDS, textFrame } from "./worker-channel.ts";

/** Request to the reader; the bytes of a probe follow in a frame: the model, then each input. */
export type ModelRequest =
  | { readonly kind: "describe"; readonly path: string }
  | { readonly kind: "read-host"; readonly source: HostSource; readonly timeoutMs: number }
  | { readonly kind: "probe-host"; readonly source: HostSource; readonly rows: number }
  | {
      readonly kind: "sample";
      readonly source: HostSource;
      readonly rows: number;
      readonly seed: number;
    }
  | {
      readonly kind: "probe";
      /** Path of the model; null if its bytes come first. */
      readonly path: string | null;
      readonly dtypes: readonly string[];
      readonly runs: readonly {
        readonly mayBeRefused: boolean;
        readonly inputs: readonly Omit<ProbeInput, "bytes">[];
      }[];
    };

/** Entries of a `ProbedTensors` for each run. */
export type ProbeAnswer = readonly (readonly [string, ProbedTensor])[][] | null;

const CHANNEL_FD = 3;
/** Whether code of others has run here. */
let hasModules = false;

// A terminal interrupts the whole group; the parent decides when this process ends.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});

await serve(new BlockingChannel(CHANNEL_FD));
process.exit();

async function serve(channel: BlockingChannel): Promise<void> {
  for (let frame = channel.read(); frame !== null; frame = channel.read()) {
    const request: ModelRequest = JSON.parse(decodeText(frame.payload));
    try {
      const answer = await answerTo(request, channel);
      channel.write(textFrame(FRAME_KINDS.result, JSON.stringify(answer)));
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      channel.write(textFrame(FRAME_KINDS.failed, message));
    }
  }
}

async function answerTo(request: ModelRequest, channel: BlockingChannel): Promise<unknown> {
  if (request.kind === "describe") return describeModel(request.path);
  if ("source" in request) {
    if (!hasModules) reportHowItEnds(channel);
    hasModules = true;
    if (request.kind === "read-host") return readHost(request.source, request.timeoutMs);
    if (request.kind === "probe-host") return probeHost(request.source, request.rows);
    return sampleHost(request.source, request.rows, request.seed);
  }
  const frame = channel.read();
  assert(frame !== null, "the bytes of a probe follow");
  const parts = decodeRun(frame.payload).inputs;
  const bytes = request.path === null ? parts.slice(1) : parts;
  let next = 0;
  const runs = request.runs.map(({ mayBeRefused, inputs }) => ({
    mayBeRefused,
    inputs: inputs.map((info) => {
      const own = bytes[next++];
      assert(own !== undefined, "every input has bytes");
      return { ...info, bytes: own };
    }),
  }));
  const options = { runs, dtypes: new Set(request.dtypes) };
  const [model] = parts;
  assert(request.path !== null || model !== undefined, "the first of them is the model");
  const probed =
    request.path === null
      ? await probeTensors(model ?? new Uint8Array(), options)
      : await probeModelFile(request.path, options);
  return probed?.map((tensors) => [...tensors]) ?? null;
}
