/** The metric from which the accuracy that was measured is read, whatever the method. */
import { head } from "./exposition.ts";

export function satisfiedAccuracyHead(): string[] {
  return head(
    "stratagem_satisfied_accuracy_total",
    "counter",
    "Stated accuracies of the variants that answered rows in time, summed",
  );
}
