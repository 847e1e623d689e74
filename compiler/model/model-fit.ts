/**
 * Whether the models of an application fit together: variants each other, and tasks those that
 * follow.
 */
import type { Mistake } from "../spec/mistakes.ts";
import { type FeedKind, feedMistakes } from "./model-feeds.ts";
import type { ModelFiles, ModelledTask } from "./model-files.ts";
import { siblingMistakes } from "./model-siblings.ts";

export function* modelFitMistakes(
  application: { readonly tasks: readonly ModelledTask[] },
  models: ModelFiles,
  feeds: FeedKind,
): Generator<Mistake> {
  yield* siblingMistakes(application, models);
  yield* feedMistakes(application, models, feeds);
}
