/** The metrics of a server of one application, for tests that say what it counts. */
import { exposition, type MetricLine } from "../../runtime/base/exposition.ts";

/**
 * Leaves out the label `model` where it names the application, which is the same in every line.
 * @param text of `/metrics`.
 */
export function ofOneModel(text: string): string {
  const application = /^stratagem_bundle_info\{.*application="([^"]*)"/m.exec(text)?.[1];
  const label = `model="${application}"`;
  return text
    .split("\n")
    .map((line) =>
      line.startsWith("stratagem_")
        ? line.replace(`${label},`, "").replace(label, "").replace("{}", "")
        : line,
    )
    .join("\n");
}

export function textOf(metrics: { lines(...args: never[]): MetricLine[] }, gauges: object): string {
  return exposition(metrics.lines(gauges as never));
}
