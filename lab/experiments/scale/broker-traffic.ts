/** What a nats-server and a front end tell of themselves, read. */

/** As `/varz` of a nats-server has it. */
export interface Traffic {
  readonly atMs: number;
  readonly inMessages: number;
  readonly outMessages: number;
  readonly inBytes: number;
  readonly outBytes: number;
}

type Rates = Omit<Traffic, "atMs">;

/** @param atMs when it was asked. @throws TypeError for what is no `/varz`. */
export function trafficOf(varz: string, atMs: number): Traffic {
  const found: Record<string, unknown> = JSON.parse(varz);
  const count = (name: string) => {
    const value = found[name];
    if (typeof value === "number") return value;
    throw new TypeError(`/varz: expected a number for ${name}, found ${value}`);
  };
  return {
    ...{ atMs, inMessages: count("in_msgs"), outMessages: count("out_msgs") },
    ...{ inBytes: count("in_bytes"), outBytes: count("out_bytes") },
  };
}

export function perSecond(before: Traffic, after: Traffic): Rates {
  const seconds = (after.atMs - before.atMs) / 1000;
  const rate = (of: (traffic: Traffic) => number) => (of(after) - of(before)) / seconds;
  return {
    inMessages: rate(({ inMessages }) => inMessages),
    outMessages: rate(({ outMessages }) => outMessages),
    inBytes: rate(({ inBytes }) => inBytes),
    outBytes: rate(({ outBytes }) => outBytes),
  };
}

/** Sum of the samples of a gauge that have a label, or of all; 0 without any. */
export function gaugeOf(metrics: string, name: string, label = ""): number {
  return metrics
    .split("\n")
    .filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`))
    .filter((line) => line.includes(label))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
}
