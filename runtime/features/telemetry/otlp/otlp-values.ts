/** Values and attributes as OTLP writes them in JSON. Source: opentelemetry-proto 1.x. */

type AttributeValue = string | number | boolean;

export type Attributes = Readonly<Record<string, AttributeValue | undefined>>;

/** Omits values that are undefined or NaN. */
export function attributesOf(attributes: Attributes) {
  return Object.entries(attributes).flatMap(([key, value]) => {
    if (value === undefined || Number.isNaN(value)) return [];
    return [{ key, value: anyValue(value) }];
  });
}

function anyValue(value: AttributeValue) {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

/** Nanoseconds since 1970 as text; clocks here have a resolution of microseconds. */
export function unixNano(epochMs: number): string {
  return `${Math.round(epochMs * 1000)}000`;
}
