/** Requests with their own model, number of rows and priority. */
import { decodeReply, encodeRequestHeader, type LoadModel } from "./infer-codec.ts";
import type { HttpReply, InferenceClient } from "./inference-client.ts";
import { readLoadModel } from "./model-metadata.ts";
import type { Judged, Outgoing, Workload } from "./workload.ts";

/** Arrays by request, of equal length above 0. */
export interface PlannedRequests {
  /** Names at the server. */
  readonly models: readonly string[];
  /** Index into `models`. */
  readonly model: Uint16Array;
  readonly rows: Uint16Array;
  /** 1 is the highest; left out for no priorities. */
  readonly priority?: Uint8Array;
}

/**
 * Sends rows of zeros to the models of a plan, in order; uncounted requests cycle through it.
 * @throws RuntimeError for a model that the server does not have.
 */
export async function openPlannedWorkload(
  client: InferenceClient,
  planned: PlannedRequests,
): Promise<Workload> {
  const models: LoadModel[] = [];
  for (const name of planned.models) models.push(await readLoadModel(client, name));
  let counted = 0;
  return {
    model: planned.models.join(", "),
    classes: [],
    request: (index, isCounted) => {
      const at = (isCounted ? counted++ : index) % planned.model.length;
      return requestOf(models, planned, at);
    },
  };
}

function requestOf(models: readonly LoadModel[], planned: PlannedRequests, at: number): Outgoing {
  const model = models[planned.model[at] ?? 0] ?? models[0];
  if (model === undefined) throw new RangeError("expected a model of the plan");
  const rows = planned.rows[at] ?? 1;
  const priority = planned.priority?.[at];
  const header = encodeRequestHeader(model, null, null, {
    rows,
    ...(priority === undefined ? {} : { priority }),
  });
  return {
    path: `/v2/models/${encodeURIComponent(model.name)}/infer`,
    headers: {
      "content-type": "application/octet-stream",
      "inference-header-content-length": String(header.length),
    },
    body: Buffer.concat([header, Buffer.alloc(rows * model.rowBytes)]),
    classIndex: 0,
    judge,
  };
}

function judge({ headers, body }: HttpReply): Judged {
  const headerLength = headers["inference-header-content-length"]?.toString();
  const { variant, accuracy } = decodeReply(body, headerLength, false);
  return { variant, accuracy, score: null };
}
