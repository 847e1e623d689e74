/** A request of letters whose row is marked anew for every attempt. */

import { requestsOf } from "../../campaign/load/served-method.ts";
import { IMAGE_BYTES } from "../../models/image-classification/dataset.ts";
import { present } from "../harness/numbers.ts";
import type { Template } from "./retrying-client.ts";

/** @param policy path of the bundle. */
export async function templateOf(policy: string): Promise<Template & { readonly sloMs: number }> {
  const served = { method: "ramsis", name: "letters", policy, models: "", firstQps: 0 } as const;
  const { messages, sloMs } = await requestsOf(served);
  const message = Buffer.from(present(messages[0]));
  const end = message.indexOf("\r\n\r\n");
  const [line = "", ...lines] = message.toString("latin1", 0, end).split("\r\n");
  const named = lines.map((one) => one.split(": ") as [string, string]);
  const body = message.subarray(end + 4);
  const path = present(line.split(" ")[1], "a path");
  const headers = Object.fromEntries(named.filter(([name]) => name !== "host"));
  return { path, headers, body, rowStart: body.length - IMAGE_BYTES, sloMs };
}
