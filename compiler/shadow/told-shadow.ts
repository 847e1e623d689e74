/** What a server says of the bundles that look on there: the document, checked. */
import * as z from "zod";
import { InputError } from "../spec/input-error.ts";

const policySchema = z.object({
  policy: z.string(),
  sha256: z.string(),
  levelQps: z.number().nullable(),
  queries: z.number(),
  violationRate: z.number().nullable(),
  accuracyPerSatisfied: z.number().nullable(),
  meanBatch: z.number().nullable(),
  byVariant: z.array(
    z.object({
      task: z.string().optional(),
      variant: z.string(),
      batches: z.number(),
      queries: z.number(),
    }),
  ),
});

const applicationSchema = z.object({
  application: z.string(),
  method: z.string(),
  fault: z.string().nullable(),
  since: z.string(),
  served: policySchema,
  shadow: policySchema,
  compared: z.object({ queries: z.number(), sameAnswerer: z.number().nullable() }),
  arrivals: z.object({ count: z.number(), from: z.string(), to: z.string() }),
});

const documentSchema = z.object({ applications: z.array(applicationSchema) });

export type ToldShadow = z.infer<typeof applicationSchema>;
export type ToldPolicy = z.infer<typeof policySchema>;

/**
 * @param text of `GET /admin/shadow`. @param place where it is from.
 * @throws InputError for any other text.
 */
export function toldShadows(text: string, place: string): readonly ToldShadow[] {
  const read = documentSchema.safeParse(jsonOf(text));
  if (read.success) return read.data.applications;
  const [issue] = read.error.issues;
  const where = issue === undefined ? "" : ` at ${issue.path.join(".") || "its root"}`;
  const expected = "expected what a server with --shadow says at /admin/shadow";
  const message = `${place}: ${expected}, got another document${where}`;
  throw new InputError("INPUT_INVALID_VALUE", message);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // What is no JSON is no such document.
    return null;
  }
}
