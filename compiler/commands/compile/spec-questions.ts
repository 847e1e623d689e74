/** Questions of `compile` about a specification that is valid, but perhaps not as meant. */
import { percent } from "stratagem-runtime/internal/describe/text";
import type { Application, Variant } from "../../spec/application.ts";
import { spreadTexts } from "../../spec/trace.ts";

interface Asked extends Pick<Application, "arrivals" | "day"> {
  readonly tasks: readonly { readonly variants: readonly Pick<Variant, "name" | "accuracy">[] }[];
}

export function specQuestions({ arrivals, day, tasks }: Asked): string[] {
  const recorded = arrivals.process === "trace" ? [arrivals] : [];
  return [
    ...spreadTexts(...recorded, ...(day === undefined ? [] : [day])),
    ...accuracyQuestions(tasks),
  ];
}

/**
 * Asks about accuracies that are a hundred times too small, such as 0.97825% for a ratio of
 * 0.97825: a hundred times as much is possible, and closer to the best of the application.
 */
function accuracyQuestions(tasks: Asked["tasks"]): string[] {
  const variants = tasks.flatMap((task) => task.variants);
  const best = variants.reduce((most, { accuracy }) => Math.max(most, accuracy), 0);
  const isSmall = (accuracy: number) =>
    accuracy > 0 && 100 * accuracy <= 1 && (accuracy < best / 10 || accuracy === best);
  return variants
    .filter(({ accuracy }) => isSmall(accuracy))
    .map(({ name, accuracy }) => {
      const beside = accuracy === best ? "" : `, beside ${percent(best)} of the best`;
      return (
        `variant ${name}: its accuracy is ${percent(accuracy)}${beside}; if ` +
        `${percent(100 * accuracy)} is meant, write that`
      );
    });
}
