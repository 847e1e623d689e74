/** Which autoscalers there are; what they do is loaded where one is asked for. */

/** In the order that the help and messages have them. */
export const SCALER_NAMES = ["kpa", "hpa", "keda", "ray-serve", "dynamo", "infaas"] as const;

export type ScalerName = (typeof SCALER_NAMES)[number];

export function scalerNamed(text: string): ScalerName | undefined {
  return SCALER_NAMES.find((name) => name === text);
}
