/** Replaces profiled accuracies that feedback contradicts. */
import * as z from "zod";
import type { ProfileSpec } from "../spec/schema/profile-schema.ts";
import { documentOf, type ServerText } from "./server-text.ts";

const ratio = z.number().min(0).max(1);
const schema = z.looseObject({
  model: z.string(),
  variants: z.record(
    z.string(),
    z.looseObject({
      labels: z.object({ correct: z.number(), wrong: z.number() }),
      estimate: ratio.nullable(),
      lower: ratio,
      upper: ratio,
    }),
  ),
});

export type FeedbackDocument = z.output<typeof schema>;

export interface AccuracyChange {
  readonly variant: string;
  readonly before: number | null;
  readonly after: number | null;
  readonly lower: number;
  readonly upper: number;
  readonly labels: number;
  readonly isChanged: boolean;
}

/** @throws InputError for another document. */
export function feedbackDocument(from: ServerText): FeedbackDocument {
  return documentOf(from, schema, "/v2/models/M/feedback");
}

/**
 * Replaces an accuracy only if the interval excludes the stated one; a profile without accuracies
 * stays without.
 */
export function withObservedAccuracy(
  profile: ProfileSpec,
  { variants }: FeedbackDocument,
): { readonly profile: ProfileSpec; readonly changes: readonly AccuracyChange[] } {
  const changes: AccuracyChange[] = [];
  const own = Object.entries(profile.variants).map(([name, measured]) => {
    const seen = variants[name];
    if (seen === undefined) return [name, measured] as const;
    const { estimate, lower, upper, labels } = seen;
    const before = measured.accuracy ?? null;
    const isChanged = before !== null && estimate !== null && (before < lower || before > upper);
    const after = isChanged ? estimate : before;
    const change = { variant: name, before, after, lower, upper };
    changes.push({ ...change, labels: labels.correct + labels.wrong, isChanged });
    return [name, isChanged ? { ...measured, accuracy: estimate } : measured] as const;
  });
  return { profile: { ...profile, variants: Object.fromEntries(own) }, changes };
}
